import type { FieldSpec, Fields } from '../../declare/field.ts';
import { pluralName, snakeCase } from '../../declare/naming.ts';
import { ACTIONS, type AnyResource } from '../../declare/resource.ts';
import { isTitleTemplate, parseTitle } from '../../declare/title.ts';
import { MAX_IDENTIFIER_BYTES } from '../../platform/data/postgres/identifiers.ts';
import type { ConfigErrors } from '../../platform/helpers/config-errors.ts';
import { suggestKnownNames } from '../../platform/helpers/did-you-mean.ts';
import { canBePartOfTitle, canBeTitle, fieldTypeOf } from '../fields/field-type.ts';
import { WRITE_ACTIONS } from '../schema/compile.ts';
import { archiveTable } from '../schema/table-names.ts';
import { checkResourceDeprecation } from './deprecation-errors.ts';
import { isPolicyForNobody } from './visibility-errors.ts';

const RESOURCE_NAME = /^[a-z][a-z0-9-]*$/;
const RESOURCE_PATH = /^(\/[a-z0-9][a-z0-9._-]*)+$/;
const TABLE_NAME = /^[a-z_][a-z0-9_]*$/;
const RESTORE_HOOKS = ['beforeRestore', 'afterRestore'];
const HOOKS = [
  'beforeCreate',
  'afterCreate',
  'beforeUpdate',
  'afterUpdate',
  'beforeDelete',
  'afterDelete',
  ...RESTORE_HOOKS,
];
const MAX_TABLE_LENGTH = MAX_IDENTIFIER_BYTES - archiveTable('').length;
/** First path segments of built-in routes. */
const TAKEN_PATHS = new Set(['/auth', '/admin', '/openapi.json', '/docs']);

/** The URL path of a resource below /api, and its table. */
export function pathAndTableOf(resource: AnyResource): { path: string; table: string } {
  const plural = pluralName(resource.name);
  return { path: resource.path ?? `/${plural}`, table: resource.collection ?? snakeCase(plural) };
}

function checkPathAndTable(resource: AnyResource, taken: ReadonlySet<string>, errors: ConfigErrors): void {
  const { path, table } = pathAndTableOf(resource);
  if (!RESOURCE_NAME.test(resource.name))
    errors.report('a resource name consists of letters, digits and -, and begins with a letter');
  if (!RESOURCE_PATH.test(path))
    errors.at('path').report(`"${path}" is not a valid path; it must look like /blog-posts`);
  if (TAKEN_PATHS.has(`/${path.split('/')[1]}`))
    errors.at('path').report(`"${path}" is a built-in route; choose another path`);
  if (!TABLE_NAME.test(table))
    errors.at('collection').report(`"${table}" must be a lower-case name such as blog_posts`);
  else if (table.length > MAX_IDENTIFIER_BYTES)
    errors
      .at('collection')
      .report(
        `"${table}" has ${table.length} characters, and Postgres truncates names at ${MAX_IDENTIFIER_BYTES}; set collection to a shorter name`,
      );
  if (table.startsWith('pg_'))
    errors
      .at('collection')
      .report(`"${table}": names that begin with pg_ are reserved by Postgres; choose another collection`);
  if (taken.has(table))
    errors
      .at('collection')
      .report(
        `"${table}" is already the name of a table, an index or a key of Belfry or of an extension; choose another collection`,
      );
}

function timestampFields(resource: AnyResource): string[] {
  return resource.timestamps === false ? [] : ['createdAt', 'updatedAt'];
}

function checkDefaultSort(resource: AnyResource, errors: ConfigErrors): void {
  if (resource.defaultSort === undefined) return;
  const names: string[] = [];
  for (const term of resource.defaultSort.split(',')) {
    const name = term.trim().replace(/^-/, '');
    names.push(name);
    if (['_id', 'id', ...timestampFields(resource)].includes(name)) continue;
    const spec = Object.hasOwn(resource.fields, name) ? (resource.fields as Fields)[name]!.spec : undefined;
    if (spec === undefined || spec.encrypted || fieldTypeOf(spec).concealed)
      errors.at('defaultSort').report(`"${term}" is not a field that lists can be sorted by`);
    else if (spec.hidden || spec.writeOnly || spec.visibleTo !== undefined)
      errors
        .at('defaultSort')
        .report(
          `not every viewer may see "${name}", and the order of a list would reveal its values; sort by another field`,
        );
  }
  if (new Set(names).size < names.length) errors.at('defaultSort').report('a field is named twice; keep one');
}

/** Whether every brace of a title belongs to a pair around a text: `{name}`. */
function hasValidBraces(title: string): boolean {
  return !/[{}]/.test(title.replaceAll(/\{[^{}]*[^{}\s][^{}]*\}/g, ''));
}

function checkTitle({ title, fields }: AnyResource, errors: ConfigErrors): void {
  if (title === undefined) return;
  const isTemplate = isTitleTemplate(title);
  if (isTemplate && !hasValidBraces(title)) {
    errors.report(`"${title}" must have the name of a field in each pair of braces, such as {name}`);
    return;
  }
  const kinds = isTemplate ? 'a text, a number or an enum' : 'a text';
  for (const name of new Set(parseTitle(title).map(({ field }) => field))) {
    const spec = Object.hasOwn(fields, name) ? (fields as Fields)[name]!.spec : undefined;
    if (spec === undefined) {
      const known = suggestKnownNames(name, 'fields', Object.keys(fields));
      errors.report(`"${name}" is not a field${name.includes('.') ? ' of the resource itself' : ''}${known}`);
    } else if (!(isTemplate ? canBePartOfTitle(spec) : canBeTitle(spec)))
      errors.report(`"${name}" must be ${kinds} that responses contain; choose another field`);
  }
}

function canIndex(spec: FieldSpec | undefined): boolean {
  return spec !== undefined && !spec.encrypted && fieldTypeOf(spec).indexedBytes !== undefined;
}

function checkIndexes(resource: AnyResource, errors: ConfigErrors): void {
  const fields = resource.fields as Fields;
  for (const { fields: terms } of resource.indexes ?? []) {
    if (terms.length === 0) errors.at('indexes').report('an index needs at least one field');
    const names = terms.map((term) => term.replace(/^-/, ''));
    if (new Set(names).size < names.length) errors.at('indexes').report(`[${terms.join(', ')}] names a field twice`);
    for (const name of names) {
      if (['id', ...timestampFields(resource)].includes(name)) continue;
      if (!canIndex(Object.hasOwn(fields, name) ? fields[name]!.spec : undefined))
        errors.at('indexes').report(`"${name}" is not a field that can be indexed; remove it from the index`);
    }
  }
}

/** The modifier that prevents all clients from sending a field, as written in the declaration. */
function findClosingModifier({ hidden, readOnly, writableBy }: FieldSpec): string | undefined {
  if (hidden) return 'hidden()';
  if (readOnly) return 'readOnly()';
  return writableBy !== undefined && isPolicyForNobody(writableBy) ? 'writableBy("none")' : undefined;
}

/**
 * Reports required fields that no client can send, and deprecated fields that clients must send. Resources without a create route, which
 * only code creates, are not checked.
 */
function checkRequiredFieldsAreSettable(resource: AnyResource, errors: ConfigErrors): void {
  const { crud = true, hooks, policies } = resource;
  const creates = crud === true || (Array.isArray(crud) && crud.includes('create'));
  if (
    !creates ||
    (policies?.create !== undefined && isPolicyForNobody(policies.create)) ||
    hooks?.beforeCreate !== undefined
  )
    return;
  for (const [name, { spec }] of Object.entries(resource.fields as Fields)) {
    const closed = findClosingModifier(spec);
    if (!spec.required || 'default' in spec || spec.owner) continue;
    const at = errors.at(`field "${name}"`);
    if (closed === undefined) {
      if (spec.deprecated !== undefined)
        at.report(
          'with required() and deprecated(), clients cannot stop sending it; remove required(), give it a default(), or set it in hooks.beforeCreate',
        );
      continue;
    }
    at.report(
      `with required() and ${closed}, no client can create a record; give it a default(), set it in hooks.beforeCreate, or remove create from crud`,
    );
  }
}

function checkSoftDelete(resource: AnyResource, errors: ConfigErrors): void {
  if (!resource.softDelete) return;
  const { table } = pathAndTableOf(resource);
  if (table.length > MAX_TABLE_LENGTH && table.length <= MAX_IDENTIFIER_BYTES)
    errors
      .at('softDelete')
      .report(
        `the table "${table}" has ${table.length} characters, which leaves no room for the suffix "_deleted"; set collection to a name of at most ${MAX_TABLE_LENGTH} characters`,
      );
  for (const name of Object.keys(resource.fields)) {
    if (name === 'deleted' || snakeCase(name) === 'deleted_at')
      errors
        .at(`field "${name}"`)
        .report(`softDelete adds the parameter "deleted" to lists and deletedAt to records; rename the field`);
    if (snakeCase(name) === 'deleted_under')
      errors.at(`field "${name}"`).report(`softDelete adds a column with this name; rename the field`);
  }
}

function checkBatch({ batch, crud = true }: AnyResource, errors: ConfigErrors): void {
  const isDeclared = batch !== undefined && batch !== false;
  if (!isDeclared || crud === true) return;
  if (crud === false || !WRITE_ACTIONS.some((action) => crud.includes(action)))
    errors.report(
      'the resource has no route that changes records; add create, update or delete to crud, or remove batch',
    );
}

function checkAggregates({ aggregates, timestamps }: AnyResource, errors: ConfigErrors): void {
  const opened = aggregates?.timestamps ?? [];
  if (opened.length > 0 && timestamps === false)
    errors.report('with timestamps: false, records have no createdAt and updatedAt; remove aggregates.timestamps');
  if (new Set(opened).size < opened.length) errors.report('timestamps names a field twice; keep one');
}

/** Checks the options of a resource whose types are right. */
export function checkOptions(resource: AnyResource, taken: ReadonlySet<string>, errors: ConfigErrors): void {
  checkPathAndTable(resource, taken, errors);
  if (Array.isArray(resource.crud)) {
    for (const action of resource.crud) {
      if (!ACTIONS.includes(action))
        errors.at('crud').report(`unknown action "${action}"${suggestKnownNames(action, 'actions', ACTIONS)}`);
    }
    if (new Set(resource.crud).size < resource.crud.length)
      errors.at('crud').report('an action is named twice; keep one');
  }
  checkBatch(resource, errors.at('batch'));
  checkResourceDeprecation(resource, errors.at('deprecated'));
  checkAggregates(resource, errors.at('aggregates'));
  checkDefaultSort(resource, errors);
  checkTitle(resource, errors.at('title'));
  checkIndexes(resource, errors);
  checkRequiredFieldsAreSettable(resource, errors);
  for (const [hook, code] of Object.entries(resource.hooks ?? {})) {
    if (!HOOKS.includes(hook))
      errors.at(`hooks.${hook}`).report(`unknown hook${suggestKnownNames(hook, 'hooks', HOOKS)}`);
    else if (code !== undefined && typeof code !== 'function') errors.at(`hooks.${hook}`).report(`must be a function`);
    else if (RESTORE_HOOKS.includes(hook) && code !== undefined && resource.softDelete !== true)
      errors.at(`hooks.${hook}`).report('never runs, because deleted records are not kept; set softDelete: true');
  }
  checkSoftDelete(resource, errors);
}
