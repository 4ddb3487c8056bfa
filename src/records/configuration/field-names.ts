import type { FieldSpec, Fields } from '../../declare/field.ts';
import { snakeCase } from '../../declare/naming.ts';
import type { AnyResource } from '../../declare/resource.ts';
import { MAX_IDENTIFIER_BYTES } from '../../platform/data/postgres/identifiers.ts';
import type { ConfigErrors } from '../../platform/helpers/config-errors.ts';
import { suggestKnownNames } from '../../platform/helpers/did-you-mean.ts';
import { checkReplacementFields } from './deprecation-errors.ts';
import { checkField } from './field-errors.ts';
import type { SlowPatternCheck } from './patterns/slow-pattern.ts';

const RESERVED_NAMES = new Set(['id', '_id', 'createdAt', 'updatedAt', '__v', '__proto__']);
/** Parameters of lists: names that no filter can have. */
export const QUERY_PARAMETERS = new Set(['page', 'limit', 'sort', 'q', 'include', 'fields', 'after']);
/** The form of a field's name. */
export const FIELD_NAME = /^[a-zA-Z][a-zA-Z0-9_]{0,62}$/;
/** System columns that Postgres has in every table. */
const SYSTEM_COLUMNS = ['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid'];

/** Whether a name is reserved: by a record's own fields, or by the properties of every JavaScript object. */
export function isReservedFieldName(name: string): boolean {
  return RESERVED_NAMES.has(name) || name in Object.prototype;
}

/** The resources that a field refers to, including references inside arrays and objects. */
function referenceTargetsOf(spec: FieldSpec): string[] {
  if (spec.target !== undefined) return [spec.target];
  const inside = [...Object.values(spec.shape ?? {}), ...(spec.inner === undefined ? [] : [spec.inner])];
  return inside.flatMap((field) => referenceTargetsOf(field.spec));
}

/** The columns that a resource has besides the columns of its fields, with descriptions of their values. */
function nonFieldColumns(resource: AnyResource): Map<string, string> {
  const columns = new Map(SYSTEM_COLUMNS.map((name) => [name, `Postgres's own ${name}`]));
  columns.set('id', 'id');
  if (resource.timestamps !== false) columns.set('created_at', 'createdAt').set('updated_at', 'updatedAt');
  return columns;
}

/** Checks the names of a resource's fields, the targets of references, and each field itself. */
export function checkFields(
  resource: AnyResource,
  { names, isSlow }: { names: ReadonlySet<string>; isSlow: SlowPatternCheck },
  errors: ConfigErrors,
): void {
  const columns = nonFieldColumns(resource);
  for (const [name, field] of Object.entries(resource.fields as Fields)) {
    const at = errors.at(`field "${name}"`);
    if (isReservedFieldName(name)) at.report(`the name is reserved; choose another`);
    else if (!FIELD_NAME.test(name))
      at.report(`a field name consists of at most 63 letters, digits and _, and begins with a letter`);
    const { length } = snakeCase(name);
    if (FIELD_NAME.test(name) && length > MAX_IDENTIFIER_BYTES)
      at.report(
        `its column "${snakeCase(name)}" has ${length} characters, and Postgres truncates names at ${MAX_IDENTIFIER_BYTES}; choose a shorter name`,
      );
    const sameColumn = columns.get(snakeCase(name));
    if (sameColumn !== undefined && !isReservedFieldName(name))
      at.report(`it would share the column "${snakeCase(name)}" with "${sameColumn}"; rename one`);
    columns.set(snakeCase(name), name);
    if (!checkField(field.spec, isSlow, (path) => errors.at(`field "${name}${path}"`))) continue;
    checkReplacementFields(name, field.spec, resource.fields, (path) => errors.at(`field "${path}"`));
    for (const target of referenceTargetsOf(field.spec)) {
      if (names.has(target)) continue;
      if (field.spec.tenant) {
        at.report('tenant() requires the extension organisations(); add it to extensions');
        continue;
      }
      at.report(`ref("${target}") names an unknown resource${suggestKnownNames(target, 'resources', names)}`);
    }
    if (field.spec.filterable && QUERY_PARAMETERS.has(name))
      at.report(`"${name}" is already a query parameter of lists; rename the field`);
  }
}
