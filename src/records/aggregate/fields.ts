import type { AggregateFunction, Timestamp } from '../../declare/aggregate.ts';
import type { FieldSpec, Fields } from '../../declare/field.ts';
import type { AnyResource } from '../../declare/resource.ts';
import type { Aggregations, FieldType } from '../fields/field-type.ts';
import { dateType } from '../fields/types/date.ts';
import type { QueryViewer } from '../query/filter.ts';
import type { CompiledField, CompiledResource } from '../schema/compiled.ts';

/** A field that a viewer may use in aggregates. */
export interface AggregatableField {
  name: string;
  spec: FieldSpec;
  type: FieldType;
  aggregations: Aggregations;
  /** Undefined for the timestamps of a record. */
  compiled: CompiledField | undefined;
}

/** The path of the route of aggregates, below the path of its resource. */
export const AGGREGATE_PATH = '/aggregate';

/** Whether a resource has the route of aggregates: the declaration opens it, with `aggregatable()` or the option `aggregates`. */
export function hasAggregates({ aggregates, fields }: AnyResource): boolean {
  return aggregates !== undefined || Object.values(fields as Fields).some(({ spec }) => spec.aggregatable);
}

function toAggregatableField(compiled: CompiledField): AggregatableField[] {
  const { name, spec, type } = compiled;
  const { aggregations } = type;
  return aggregations === undefined || spec.encrypted ? [] : [{ name, spec, type, aggregations, compiled }];
}

/**
 * The fields that a viewer may use in aggregates, by name. The declaration opens fields to clients, and `visibleTo` decides in which
 * records. The system may use every stored field with comparable values.
 */
export function listAggregatableFields(
  resource: CompiledResource,
  viewer: QueryViewer | 'any client',
): ReadonlyMap<string, AggregatableField> {
  const bySystem = viewer === 'system';
  const declared = resource.fields.filter(({ spec, secret }) => bySystem || (spec.aggregatable && !secret));
  const opened: readonly Timestamp[] = bySystem
    ? ['createdAt', 'updatedAt']
    : (resource.declaration.aggregates?.timestamps ?? []);
  const timestamps = (resource.timestamps ? opened : []).map(
    (name): AggregatableField => ({
      name,
      spec: { type: dateType },
      type: dateType,
      aggregations: dateType.aggregations,
      compiled: undefined,
    }),
  );
  return new Map([...declared.flatMap(toAggregatableField), ...timestamps].map((field) => [field.name, field]));
}

/** The minimum number of records in a group, and in a value of it; 1 if every group is shown. */
export function computeMinGroupSize({ declaration }: CompiledResource, viewer: QueryViewer | 'any client'): number {
  return viewer === 'system' ? 1 : (declaration.aggregates?.minGroupSize ?? 1);
}

/** Whether an aggregate function can be computed of a field. With a minimum group size, no function may reveal the value of one record. */
export function canAggregate(
  { aggregations }: AggregatableField,
  fn: AggregateFunction,
  minGroupSize: number,
): boolean {
  return aggregations.functions.includes(fn) && (minGroupSize === 1 || (fn !== 'min' && fn !== 'max'));
}
