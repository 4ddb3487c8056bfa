import { createRouteBuilder } from '../../declare/route.ts';
import type { Operator } from '../../declare/service.ts';
import {
  canAggregate,
  computeMinGroupSize,
  hasAggregates,
  listAggregatableFields,
} from '../../records/aggregate/fields.ts';
import { fieldsToUpsertBy } from '../../records/operations/batch/parse.ts';
import { isFilterable } from '../../records/query/filter.ts';
import { fieldsSortableBySomeClient } from '../../records/query/sort.ts';
import type { CompiledField, CompiledResource } from '../../records/schema/compiled.ts';
import { clientVisibleReverseRelations } from '../../records/schema/relations.ts';
import type { Components } from './schema.ts';

/** What a typed client needs to know about a resource beyond its routes and schemas: an item of `x-resources` in the document. */
export interface ResourceFacts {
  name: string;
  /** Below `/api`. */
  path: string;
  /** The names of the schemas of records, and of the bodies of create and update if their routes exist. */
  schemas: { record: string; create?: string; update?: string };
  actions: string[];
  /** The fields that every response contains. */
  always: string[];
  /** The operators of each filterable field. */
  filters: Record<string, Operator[]>;
  sort: string[];
  search: boolean;
  /** The target resource of each reference. */
  references: Record<string, string>;
  /** The resource of each reverse relation. */
  relations: Record<string, string>;
  /** The references that responses contain as records. */
  populated: string[];
  unique: string[];
  files: string[];
  aggregates: { group: string[]; buckets: string[]; numbers: string[]; ordered: string[] };
  /** The custom routes: `POST /:id/publish`. */
  routes: string[];
}

/** The actions of a resource whose routes exist. */
function actionsOf(resource: CompiledResource): string[] {
  return [
    ...resource.actions,
    ...(resource.softDelete && resource.actions.has('delete') ? ['restore'] : []),
    ...(resource.maxBatchOperations === undefined ? [] : ['batch']),
    ...(hasAggregates(resource.declaration) ? ['aggregate'] : []),
  ];
}

/** Whether every response contains a field. The account template restricts fields of users, so clients do not rely on them. */
function isAlwaysReturned(
  { name, fields }: CompiledResource,
  { name: field, spec, visibleTo }: CompiledField,
): boolean {
  if (visibleTo !== undefined || (name === 'user' && field !== 'name')) return false;
  // A key of an organisation creates records that no user owns.
  const isOwned = spec.owner === true && !fields.some((other) => other.spec.tenant);
  return spec.required === true || 'default' in spec || isOwned || spec.tenant === true;
}

function aggregatesOf(resource: CompiledResource): ResourceFacts['aggregates'] {
  const fields = [...listAggregatableFields(resource, 'any client').values()];
  const minGroupSize = computeMinGroupSize(resource, 'any client');
  const namesWhere = (isChosen: (field: (typeof fields)[number]) => boolean) =>
    fields.filter(isChosen).map(({ name }) => name);
  return {
    group: namesWhere(({ aggregations }) => aggregations.group === 'value'),
    buckets: namesWhere(({ aggregations }) => aggregations.group === 'bucket'),
    numbers: namesWhere((field) => canAggregate(field, 'sum', minGroupSize)),
    ordered: namesWhere((field) => canAggregate(field, 'min', minGroupSize)),
  };
}

/** The names of the custom routes that the document describes. */
function customRoutesOf({ declaration, path, name }: CompiledResource): string[] {
  const routes = declaration.routes?.(createRouteBuilder(path, name)) ?? [];
  return routes
    .filter(({ hidden }) => !hidden)
    .map((route) => `${route.method} ${route.path.slice(path.length) || '/'}`);
}

function schemaNameOf(components: Components, resource: string, view: 'read' | 'create' | 'update'): string {
  return String(components.recordReference({ resource, view }).$ref).split('/').at(-1)!;
}

/** The facts about a resource; undefined if clients cannot use any of its routes. */
export function describeResource(resource: CompiledResource, components: Components): ResourceFacts | undefined {
  const { name, path, fields } = resource;
  const [actions, routes] = [actionsOf(resource), customRoutesOf(resource)];
  if (actions.length + routes.length === 0) return undefined;
  const visible = fields.filter((field) => !field.secret);
  const namesWhere = (isChosen: (field: CompiledField) => boolean) =>
    visible.filter(isChosen).map((field) => field.name);
  return {
    name,
    path,
    schemas: {
      record: schemaNameOf(components, name, 'read'),
      ...(resource.actions.has('create') ? { create: schemaNameOf(components, name, 'create') } : {}),
      ...(resource.actions.has('update') ? { update: schemaNameOf(components, name, 'update') } : {}),
    },
    actions,
    always: [
      'id',
      ...namesWhere((field) => isAlwaysReturned(resource, field)),
      ...(resource.timestamps ? ['createdAt', 'updatedAt'] : []),
    ],
    filters: Object.fromEntries(
      namesWhere((field) => isFilterable(resource, field.name)).map((field) => [
        field,
        [...resource.field.get(field)!.operators],
      ]),
    ),
    sort: fieldsSortableBySomeClient(resource),
    search: visible.some(({ spec }) => spec.searchable),
    references: Object.fromEntries(
      visible.flatMap((field) => (field.target === undefined ? [] : [[field.name, field.target]])),
    ),
    relations: Object.fromEntries(
      clientVisibleReverseRelations(resource).map((relation) => [relation.name, relation.target]),
    ),
    populated: namesWhere((field) => field.spec.populate === true),
    unique: fieldsToUpsertBy(resource, { system: true, user: undefined }).flatMap(({ name, secret }) =>
      secret ? [] : [name],
    ),
    files: namesWhere((field) => field.holdsFiles),
    aggregates: aggregatesOf(resource),
    routes,
  };
}
