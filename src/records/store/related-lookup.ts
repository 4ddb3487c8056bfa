import type { StoredRecord } from '../../declare/host.ts';
import type { Queryable } from '../../platform/postgres/queryable.ts';
import type { RelatedCondition } from '../query/list-query.ts';
import type { RelatedLookup } from '../query/match.ts';
import { createSqlParameters, relatedConditionSql } from '../query/sql.ts';

// Maximum look-ups in one statement. Postgres allows 1,664 columns in a result.
const MAX_LOOKUPS = 200;

interface PendingLookup extends PromiseWithResolvers<boolean> {
  condition: RelatedCondition;
  value: unknown;
}

/** The value by which related records belong to a record; undefined if it has none. */
function joinValueOf({ join: { field } }: RelatedCondition, record: StoredRecord): unknown {
  const value = record[field?.name ?? 'id'];
  if (value === undefined || value === null || field?.toParameter === undefined) return value ?? undefined;
  return Array.isArray(value) ? value.map(field.toParameter) : field.toParameter(value);
}

/**
 * Creates the look-up of related records for records in memory. Look-ups of one turn of the event loop share a statement, and equal ones are
 * made once. Nothing is cached.
 */
export function createRelatedLookup(database: Queryable): RelatedLookup {
  let pending: Map<string, PendingLookup> | undefined;

  async function runLookups(lookups: readonly PendingLookup[]): Promise<void> {
    const params = createSqlParameters();
    const checks = lookups.map(({ condition, value }) => {
      const type = condition.join.field?.columnType.sql ?? 'text';
      return relatedConditionSql(condition, `${params.add(value)}::${type}`, params);
    });
    try {
      const [row] = await database.read<boolean[]>({ text: `select ${checks.join(', ')}`, values: params.values });
      for (const [i, lookup] of lookups.entries()) lookup.resolve(row![i]!);
    } catch (error) {
      for (const lookup of lookups) lookup.reject(error);
    }
  }

  async function runPending(): Promise<void> {
    const lookups = [...pending!.values()];
    pending = undefined;
    const parts = Array.from({ length: Math.ceil(lookups.length / MAX_LOOKUPS) }, (_, i) =>
      lookups.slice(i * MAX_LOOKUPS, (i + 1) * MAX_LOOKUPS),
    );
    await Promise.all(parts.map(runLookups));
  }

  return (condition, record) => {
    const value = joinValueOf(condition, record);
    if (value === undefined) return Promise.resolve(condition.none);
    if (pending === undefined) {
      pending = new Map();
      setImmediate(runPending);
    }
    const key = JSON.stringify([condition, value]);
    const lookup = pending.get(key) ?? { ...Promise.withResolvers<boolean>(), condition, value };
    pending.set(key, lookup);
    return lookup.promise;
  };
}
