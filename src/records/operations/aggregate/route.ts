import { z } from 'zod';
import { AGGREGATE_FUNCTIONS, type AggregateFunction, DATE_UNITS } from '../../../declare/aggregate.ts';
import { pluralName } from '../../../declare/naming.ts';
import { deprecationOfAllRoutes } from '../../../declare/resource.ts';
import type { RecordQuery, Route, RouteContext } from '../../../declare/route.ts';
import { withMeta } from '../../../platform/http/response.ts';
import { createRequestContext } from '../../access/operation-context.ts';
import {
  AGGREGATE_PATH,
  type AggregatableField,
  canAggregate,
  computeMinGroupSize,
  hasAggregates,
  listAggregatableFields,
} from '../../aggregate/fields.ts';
import { splitAggregateQuery } from '../../aggregate/parse.ts';
import { declaredOrDefaultPolicy } from '../../schema/compile.ts';
import type { CompiledResource } from '../../schema/compiled.ts';
import type { Entity } from '../../store/entity.ts';
import type { RecordsContext } from '../context.ts';
import { chooseListSource } from '../list-source.ts';
import { computeAggregates } from './run.ts';

/** The schema of a value of a field in a result. */
function valueSchema({ type: { kind, jsonType } }: AggregatableField): z.ZodType {
  if (kind === 'date') return z.iso.datetime();
  if (jsonType === 'boolean') return z.boolean();
  return jsonType === 'number' ? z.number() : z.string();
}

function functionResultSchema(fn: AggregateFunction, field: AggregatableField): z.ZodType {
  return fn === 'countDistinct' ? z.int() : valueSchema(field).nullable();
}

/** The schema of the groups, for the OpenAPI document. */
function createOutput(resource: CompiledResource): z.ZodType {
  const fields = [...listAggregatableFields(resource, 'any client').values()];
  const minGroupSize = computeMinGroupSize(resource, 'any client');
  const results = AGGREGATE_FUNCTIONS.flatMap((fn) => {
    const computed = fields.filter((field) => canAggregate(field, fn, minGroupSize));
    const shape = computed.map((field) => [field.name, functionResultSchema(fn, field).optional()] as const);
    return shape.length === 0 ? [] : [[fn, z.object(Object.fromEntries(shape)).optional()] as const];
  });
  const groups = fields.flatMap((field): [string, z.ZodType][] =>
    field.aggregations.group === 'value'
      ? [[field.name, valueSchema(field).nullable().optional()]]
      : DATE_UNITS.map((unit) => [`${unit}(${field.name})`, z.string().nullable().optional()]),
  );
  return z.array(
    z.object({
      group: z
        .object(Object.fromEntries(groups))
        .describe('The values that the records of the group have in common, by the terms of `group`; null: no value.'),
      count: z.int().optional(),
      ...Object.fromEntries(results),
    }),
  );
}

/** The query in the form of a list query, with all fields that it names. */
function toRecordQuery({ name: resource }: CompiledResource, query: RouteContext['query']): RecordQuery {
  const terms = ['group', ...AGGREGATE_FUNCTIONS].flatMap((name) => {
    const value = query[name];
    return typeof value === 'string' ? value.split(',') : [];
  });
  const fields = terms.map((term) => term.replace(/^\w+\((\w+)\)$/, '$1')).join(',');
  return { resource, query: { ...query, fields } };
}

/** The route `GET <path>/aggregate` of a resource whose declaration opens it; else none. */
export function aggregateRoutes(context: RecordsContext, entity: Entity): Route[] {
  const { resource } = entity;
  if (!hasAggregates(resource.declaration)) return [];
  const plural = pluralName(resource.name);
  const deprecated = deprecationOfAllRoutes(resource.declaration);
  return [
    {
      method: 'GET',
      path: resource.path + AGGREGATE_PATH,
      tags: [resource.name],
      authorize: 'handler',
      resource: resource.name,
      aggregates: true,
      policy: declaredOrDefaultPolicy(resource.declaration, 'list'),
      operationId: `aggregate-${plural}`.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase()),
      summary: `Count and sum up ${plural.replaceAll('-', ' ')}`,
      errors: [],
      output: createOutput(resource),
      recordQueries: (query) => [toRecordQuery(resource, query)],
      ...(deprecated === undefined ? {} : { deprecated }),
      async handler(ctx) {
        const operation = createRequestContext(ctx);
        const split = splitAggregateQuery(ctx.query);
        const source = chooseListSource(context, entity, operation, {});
        const { data, meta } = await computeAggregates(context, entity, split, operation, { source });
        return withMeta(data, meta);
      },
    },
  ];
}
