import type { Operator } from '../../../declare/service.ts';
import {
  type AnyField,
  type AnyResource,
  compilePolicy,
  type FieldSpec,
  type Fields,
  fieldTypeOf,
  findFileRules,
  isPersonalField,
  type Policy,
  toWords,
} from '../../../extension/index.ts';
import { supportedOperatorsOf } from '../../../records/fields/field-type.ts';
import type { FieldInfo } from './responses.ts';

/** The fields of a declaration, in its order. */
export function listFields(fields: Fields): [name: string, spec: FieldSpec][] {
  return Object.entries(fields).map(([name, { spec }]) => [name, spec]);
}

/** The names of the password fields of a resource. */
export function passwordFieldsOf({ fields }: AnyResource): string[] {
  return listFields(fields as Fields).flatMap(([name, spec]) => (fieldTypeOf(spec).concealed === true ? [name] : []));
}

/** Whether no response contains the values of a field: neither the API's nor the console's. */
export function isSecretField(spec: FieldSpec): boolean {
  return spec.writeOnly === true || spec.encrypted === true || fieldTypeOf(spec).concealed === true;
}

/** The name of the resource that a field refers to. */
export function findTarget({ target, inner }: FieldSpec): string | undefined {
  return target ?? inner?.spec.target;
}

/** The operators by which the console filters. Comparisons of a write-only field would reveal its values bit by bit. */
function consoleOperatorsOf(spec: FieldSpec): readonly Operator[] {
  if (fieldTypeOf(spec).concealed) return [];
  return spec.writeOnly ? ['exists'] : supportedOperatorsOf(spec);
}

/** Whether the console can sort by a field: it holds single values with an order. */
function isConsoleSortable(spec: FieldSpec): boolean {
  return fieldTypeOf(spec).comparable !== undefined && spec.inner === undefined && !isSecretField(spec);
}

function clientOperatorsOf(spec: FieldSpec): readonly Operator[] {
  if (spec.filterable === undefined || spec.hidden || isSecretField(spec)) return [];
  return spec.filterable === true ? fieldTypeOf(spec).operators : spec.filterable;
}

/** The text of a policy, in which functions are named as such. */
export function policyText(policy: Policy): string {
  return compilePolicy(policy, () => undefined).text;
}

function toJsonBound(bound: FieldSpec['min']): number | string | undefined {
  return bound?.value instanceof Date ? bound.value.toISOString() : bound?.value;
}

function describeDefault({ default: preset }: FieldSpec): Pick<FieldInfo, 'default' | 'computedDefault'> {
  if (preset === undefined) return {};
  return typeof preset === 'function' ? { computedDefault: true } : { default: preset };
}

function describeFile(spec: FieldSpec): Pick<FieldInfo, 'file'> {
  const rules = findFileRules(spec);
  if (rules === undefined) return {};
  const { maxBytes, types, image } = rules;
  return { file: { maxBytes, types, image: image !== undefined, many: spec.inner !== undefined } };
}

/** Leaves out members that are undefined. */
function omitUndefined<T extends object>(value: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as never;
}

/** Describes a field, including nested fields. */
export function describeField(name: string, { spec }: AnyField): FieldInfo {
  return {
    name,
    label: spec.label ?? toWords(name),
    type: spec.type.kind,
    required: spec.required === true,
    unique: spec.unique === true,
    immutable: spec.immutable === true,
    readOnly: spec.readOnly === true,
    hidden: spec.hidden === true,
    writeOnly: spec.writeOnly === true,
    encrypted: spec.encrypted === true,
    pii: isPersonalField(name, spec),
    owner: spec.owner === true,
    tenant: spec.tenant === true,
    operators: consoleOperatorsOf(spec),
    clientOperators: clientOperatorsOf(spec),
    sortable: isConsoleSortable(spec),
    clientSortable: spec.sortable === true && !spec.hidden && isConsoleSortable(spec),
    searchable: spec.searchable === true && !spec.hidden && !isSecretField(spec),
    ...describeDefault(spec),
    ...describeFile(spec),
    ...omitUndefined({
      description: spec.description,
      example: spec.example,
      values: spec.values,
      target: findTarget(spec),
      inner: spec.inner && describeField(name, spec.inner),
      shape: spec.shape && Object.entries(spec.shape).map(([member, field]) => describeField(member, field)),
      min: toJsonBound(spec.min),
      max: toJsonBound(spec.max),
      pattern: spec.pattern?.regex.source,
      visibleTo: spec.visibleTo && policyText(spec.visibleTo),
      writableBy: spec.writableBy && policyText(spec.writableBy),
      deprecated: spec.deprecated,
    }),
  };
}
