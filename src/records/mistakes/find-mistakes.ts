import type { FieldSpec, Fields } from '../../declare/field.ts';
import { pluralName, snakeCase } from '../../declare/naming.ts';
import { compilePolicy } from '../../declare/policy.ts';
import type { AnyResource } from '../../declare/resource.ts';
import { ownerFieldOf } from '../compile.ts';
import { specMistakes } from './field-mistakes.ts';
import { renameMistakes } from './rename-mistakes.ts';
import { customRouteMistakes } from './route-mistakes.ts';

const RESERVED = new Set(['id', '_id', 'createdAt', 'updatedAt', '__v', '__proto__']);
const PARAMETERS = new Set(['page', 'limit', 'sort', 'q', 'include', 'fields', 'after']);
const NAME = /^[a-z][a-z0-9-]*$/;
const FIELD = /^[a-zA-Z][a-zA-Z0-9_]{0,62}$/;
const PATH = /^(\/[a-z0-9][a-z0-9._-]*)+$/;
const TABLE = /^[a-z_][a-z0-9_]{0,62}$/;
const ACTIONS = ['list', 'read', 'create', 'update', 'delete'];
const POLICIES = [...ACTIONS, 'reference'];
const HOOKS = ['beforeCreate', 'afterCreate', 'beforeUpdate', 'afterUpdate', 'beforeDelete', 'afterDelete'];
/** Columns that Postgres has in every table. */
const SYSTEM_COLUMNS = ['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid'];
/** Options that later features give a meaning to; until then they are refused, so that nothing is silently ignored. */
const NOT_YET = ['softDelete', 'audit', 'onOwnerDelete', 'personalFields'] as const;
/** First path segments of built-in routes. */
const TAKEN_PATHS = new Set(['/auth', '/admin', '/openapi.json', '/docs']);

interface Known {
  names: ReadonlySet<string>;
  /** Tables of the platform and of extensions. */
  tables: ReadonlySet<string>;
}

/** The resources that a field refers to, those inside arrays and objects included. */
function targetsOf(spec: FieldSpec): string[] {
  if (spec.kind === 'ref') return [spec.target!];
  const inside = [...Object.values(spec.shape ?? {}), ...(spec.inner === undefined ? [] : [spec.inner])];
  return inside.flatMap((field) => targetsOf(field.spec));
}

/** The columns that a resource has beside its fields', with what they hold. */
function ownColumns(resource: AnyResource): Map<string, string> {
  const columns = new Map(SYSTEM_COLUMNS.map((name) => [name, `Postgres's own ${name}`]));
  columns.set('id', 'id');
  if (resource.timestamps !== false) columns.set('created_at', 'createdAt').set('updated_at', 'updatedAt');
  return columns;
}

function fieldsMistakes(resource: AnyResource, known: Known, fault: (text: string) => void): void {
  const columns = ownColumns(resource);
  for (const [name, field] of Object.entries(resource.fields as Fields)) {
    const at = `field "${name}"`;
    if (RESERVED.has(name)) fault(`${at}: the name is reserved; choose another`);
    else if (!FIELD.test(name))
      fault(`${at}: a field name is made of at most 63 letters, digits and _, and begins with a letter`);
    const twin = columns.get(snakeCase(name));
    if (twin !== undefined && !RESERVED.has(name))
      fault(`${at}: it would share the column "${snakeCase(name)}" with "${twin}"; rename one`);
    columns.set(snakeCase(name), name);
    specMistakes(field.spec, (path, text) => fault(`field "${name}${path}": ${text}`));
    for (const target of targetsOf(field.spec)) {
      if (known.names.has(target)) continue;
      fault(`${at}: ref("${target}") names an unknown resource; resources: ${[...known.names].join(', ')}`);
    }
    if (field.spec.filterable && PARAMETERS.has(name))
      fault(`${at}: "${name}" is a query parameter of its own; rename the field`);
  }
}

function ownerMistakes(resource: AnyResource, fault: (text: string) => void): void {
  const fields = resource.fields as Fields;
  const owners = Object.entries(fields).filter(([, field]) => field.spec.owner);
  if (owners.length > 1)
    fault(`two fields are marked owner(): ${owners.map(([name]) => `"${name}"`).join(' and ')}; keep one`);
  for (const [name, field] of owners) {
    if (field.spec.kind === 'ref' && field.spec.target !== 'user') fault(`field "${name}": an owner is a ref("user")`);
  }
  if (resource.owner !== undefined && resource.owner !== '_id') {
    const field = fields[resource.owner];
    if (field === undefined) fault(`owner: "${resource.owner}" is not a field`);
    else if (!['ref', 'id'].includes(field.spec.kind) || (field.spec.target ?? 'user') !== 'user')
      fault(`owner: "${resource.owner}" must be a ref("user")`);
    if (owners.length > 0 && owners[0]![0] !== resource.owner)
      fault('owner: a field is marked owner() already; remove the option');
  }
}

function policyMistakes(resource: AnyResource, fault: (text: string) => void): void {
  const owned = ownerFieldOf(resource) !== undefined;
  const check = (at: string, policy: Parameters<typeof compilePolicy>[0]) => {
    const compiled = compilePolicy(policy, (text) => fault(`${at}: ${text}`));
    if (compiled.owner && !owned) fault(`${at}: "owner" needs an owner field; mark a ref("user") with owner()`);
  };
  for (const [action, policy] of Object.entries(resource.policies ?? {})) {
    if (!POLICIES.includes(action)) fault(`policies.${action}: unknown action; actions: ${POLICIES.join(', ')}`);
    else if (policy !== undefined) check(`policies.${action}`, policy);
  }
  for (const [name, field] of Object.entries(resource.fields as Fields)) {
    if (field.spec.visibleTo !== undefined) check(`field "${name}": visibleTo`, field.spec.visibleTo);
    if (field.spec.writableBy !== undefined) check(`field "${name}": writableBy`, field.spec.writableBy);
  }
}

function optionMistakes(resource: AnyResource, known: Known, fault: (text: string) => void): void {
  const fields = resource.fields as Fields;
  const path = resource.path ?? `/${pluralName(resource.name)}`;
  const table = resource.collection ?? snakeCase(pluralName(resource.name));
  if (!NAME.test(resource.name)) fault('a resource name is made of letters, digits and -, and begins with a letter');
  if (!PATH.test(path)) fault(`path: "${path}" must look like /blog-posts`);
  if (TAKEN_PATHS.has(`/${path.split('/')[1]}`)) fault(`path: "${path}" is a built-in route; set path to another`);
  if (!TABLE.test(table)) fault(`collection: "${table}" must be a table name in lower case`);
  if (known.tables.has(table))
    fault(`collection: "${table}" is a table of Belfry's own; set collection to another name`);
  if (Array.isArray(resource.crud)) {
    for (const action of resource.crud) if (!ACTIONS.includes(action)) fault(`crud: unknown action "${action}"`);
  }
  const times = resource.timestamps === false ? [] : ['createdAt', 'updatedAt'];
  const sortable = (name: string) =>
    ['_id', 'id', ...times].includes(name) ||
    (fields[name] !== undefined && !fields[name].spec.encrypted && fields[name].spec.kind !== 'password');
  for (const term of resource.defaultSort?.split(',') ?? []) {
    if (!sortable(term.trim().replace(/^-/, ''))) fault(`defaultSort: "${term}" is not a field that has an order`);
  }
  for (const index of resource.indexes ?? []) {
    if (index.fields.length === 0) fault('indexes: an index needs at least one field');
    for (const term of index.fields) {
      const name = term.replace(/^-/, '');
      if (!sortable(name) || name === '_id') fault(`indexes: "${term}" is not a field that can be indexed`);
    }
  }
  for (const hook of Object.keys(resource.hooks ?? {})) {
    if (!HOOKS.includes(hook)) fault(`hooks.${hook}: unknown hook; hooks: ${HOOKS.join(', ')}`);
  }
  for (const option of NOT_YET) {
    if (resource[option]) fault(`${option}: not available yet; remove it`);
  }
}

/**
 * Every mistake in a set of declarations, a line each, naming the resource, the field and the mend.
 *
 * @param tables names of the tables that are not resources'
 */
export function findMistakes(resources: readonly AnyResource[], tables: ReadonlySet<string>): string[] {
  const mistakes: string[] = [];
  const names = new Set(resources.map((resource) => resource.name));
  const seen = { name: new Set<string>(), path: new Set<string>(), table: new Set<string>() };
  for (const resource of resources) {
    const fault = (text: string) => mistakes.push(`resource "${resource.name}": ${text}`);
    const unique = (kind: keyof typeof seen, value: string) => {
      if (seen[kind].has(value)) fault(`${kind} "${value}" is declared twice`);
      seen[kind].add(value);
    };
    unique('name', resource.name);
    unique('path', resource.path ?? `/${pluralName(resource.name)}`);
    unique('table', resource.collection ?? snakeCase(pluralName(resource.name)));
    fieldsMistakes(resource, { names, tables }, fault);
    renameMistakes(resource, fault);
    ownerMistakes(resource, fault);
    policyMistakes(resource, fault);
    optionMistakes(resource, { names, tables }, fault);
    customRouteMistakes(resource, fault);
  }
  return mistakes;
}
