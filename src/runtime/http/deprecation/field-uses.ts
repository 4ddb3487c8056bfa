import type { FieldSpec, Fields } from '../../../declare/field.ts';
import { isFilterable } from '../../../records/query/filter.ts';
import { MAX_PATH_RELATIONS } from '../../../records/query/paths.ts';
import type { CompiledResource } from '../../../records/schema/compiled.ts';
import { compileDeprecation, type DeprecatedItem } from './announcement.ts';

/** The deprecated fields in a value of a declared field: the field itself, and fields inside it. */
interface ValueUses {
  item: DeprecatedItem | undefined;
  /** By member of an object. */
  members: ReadonlyMap<string, ValueUses>;
  /** In each item of an array. */
  items: ValueUses | undefined;
}

/** Compiles the deprecated fields in a field; undefined if there are none. @param name `post.subtitle` */
function compileValueUses(name: string, { deprecated, shape, inner }: FieldSpec): ValueUses | undefined {
  const members = compileMembers(`${name}.`, shape ?? {});
  const items = inner === undefined ? undefined : compileValueUses(`${name}[]`, inner.spec);
  if (deprecated === undefined && members.size === 0 && items === undefined) return undefined;
  const item = deprecated === undefined ? undefined : compileDeprecation('field', name, deprecated);
  return { item, members, items };
}

function compileMembers(prefix: string, fields: Fields): Map<string, ValueUses> {
  return new Map(
    Object.entries(fields).flatMap(([name, { spec }]) => {
      const uses = compileValueUses(prefix + name, spec);
      return uses === undefined ? [] : [[name, uses] as const];
    }),
  );
}

/** Adds the deprecated fields that are set in a value from a client. */
function collectFromMembers(value: unknown, members: ReadonlyMap<string, ValueUses>, found: Set<DeprecatedItem>): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, uses] of members) {
    if (Object.hasOwn(value, name)) collectFromValue((value as Record<string, unknown>)[name], uses, found);
  }
}

function collectFromValue(value: unknown, { item, members, items }: ValueUses, found: Set<DeprecatedItem>): void {
  if (item !== undefined) found.add(item);
  if (members.size > 0) collectFromMembers(value, members, found);
  if (items !== undefined && Array.isArray(value)) for (const one of value) collectFromValue(one, items, found);
}

function itemsOf(uses: ValueUses): DeprecatedItem[] {
  return [
    ...(uses.item === undefined ? [] : [uses.item]),
    ...[...uses.members.values()].flatMap(itemsOf),
    ...(uses.items === undefined ? [] : itemsOf(uses.items)),
  ];
}

type Query = Readonly<Record<string, unknown>>;

/** Finds the deprecated fields that requests use. Only fields that a request names count, not those that a response contains. */
export interface FieldUses {
  /** All deprecated fields of the app. */
  items: readonly DeprecatedItem[];
  /** Whether a body of the resource can use a deprecated field. */
  isUsableInBody(resource: string): boolean;
  /** Whether a query of the resource, in `include` also of other resources, can use a deprecated field. */
  isUsableInQuery(resource: string): boolean;
  findInBody(resource: string, body: unknown): Set<DeprecatedItem>;
  /** Finds fields in filters, `sort`, `fields` and `include`. Names that the query must not contain are passed over: the query is refused. */
  findInQuery(resource: string, query: Query): Set<DeprecatedItem>;
}

/** Compiles the deprecated fields of an app's resources; undefined if there are none. */
export function compileFieldUses(resources: ReadonlyMap<string, CompiledResource>): FieldUses | undefined {
  const byResource = new Map(
    [...resources].map(([name, { declaration }]) => [name, compileMembers(`${name}.`, declaration.fields as Fields)]),
  );
  const items = [...byResource.values()].flatMap((fields) => [...fields.values()].flatMap(itemsOf));
  if (items.length === 0) return undefined;
  const itemOf = (resource: string, field: string) => byResource.get(resource)!.get(field)?.item;

  /** Adds the fields of a path, which follows relations and may end with a field. */
  function addPath(resource: string, path: string, found: Set<DeprecatedItem>): void {
    const add = (item: DeprecatedItem | undefined) => item !== undefined && found.add(item);
    let source = resource;
    for (const name of path.split('.', MAX_PATH_RELATIONS + 1)) {
      const relation = resources.get(source)!.relations.get(name);
      if (relation?.kind === 'reverse') add(itemOf(relation.target, relation.field.name));
      else add(itemOf(source, name));
      if (relation === undefined) return;
      source = relation.target;
    }
  }

  /** Whether a resource, or a resource that its references lead to, has a deprecated field. */
  function reachesDeprecatedField(resource: string, passed: Set<string>): boolean {
    if (byResource.get(resource)!.size > 0) return true;
    passed.add(resource);
    const targets = [...resources.get(resource)!.relations.values()].map(({ target }) => target);
    return targets.some((target) => !passed.has(target) && reachesDeprecatedField(target, passed));
  }

  /** The names in a parameter that lists names. A repeated parameter is refused. */
  const namesIn = (value: unknown) => (typeof value === 'string' ? value.split(',') : []);

  return {
    items,
    isUsableInBody: (resource) => byResource.get(resource)!.size > 0,
    isUsableInQuery: (resource) => reachesDeprecatedField(resource, new Set()),
    findInBody(resource, body) {
      const found = new Set<DeprecatedItem>();
      collectFromMembers(body, byResource.get(resource)!, found);
      return found;
    },
    findInQuery(resource, query) {
      const found = new Set<DeprecatedItem>();
      const compiled = resources.get(resource);
      if (compiled === undefined) return found;
      for (const parameter of Object.keys(query)) {
        const path = parameter.split('[', 1)[0]!;
        if (path.includes('.') || isFilterable(compiled, path)) addPath(resource, path, found);
      }
      const named = [...namesIn(query.sort).map((term) => term.replace(/^-/, '')), ...namesIn(query.fields)];
      for (const path of [...named, ...namesIn(query.include)]) addPath(resource, path, found);
      return found;
    },
  };
}
