import type { StoredRecord } from '../../declare/host.ts';
import type { Queryable } from '../../platform/data/postgres/queryable.ts';
import { createBatchedCall } from '../../platform/helpers/concurrency/loader.ts';
import type { RelatedCondition } from '../query/list-query.ts';
import type { RelatedLookup } from '../query/match.ts';
import { createSqlParameters, relatedConditionSql } from '../query/sql/conditions.ts';

// Maximum look-ups in one statement. Postgres allows 1,664 columns in a result.
const MAX_LOOKUPS = 200;

interface Lookup {
  condition: RelatedCondition;
  value: unknown;
}

/** The value that related records refer to; undefined if the record has none. */
function joinValueOf({ join: { field } }: RelatedCondition, record: StoredRecord): unknown {
  const value = record[field?.name ?? 'id'];
  if (value === undefined || value === null || field?.toParameter === undefined) return value ?? undefined;
  return Array.isArray(value) ? value.map(field.toParameter) : field.toParameter(value);
}

/**
 * Creates the look-up of related records for records in memory. Look-ups of one turn of the event loop share a statement, and equal ones are
 * made once.
 */
export function createRelatedLookup(database: Queryable): RelatedLookup {
  const lookUp = createBatchedCall<Lookup, boolean>(
    async (lookups) => {
      const params = createSqlParameters();
      const checks = lookups.map(({ condition, value }) => {
        const type = condition.join.field?.columnType.sql ?? 'text';
        return relatedConditionSql(condition, `${params.add(value)}::${type}`, params);
      });
      const [row] = await database.read<boolean[]>({ text: `select ${checks.join(', ')}`, values: params.values });
      return row!;
    },
    ({ condition, value }) => JSON.stringify([condition, value]),
    MAX_LOOKUPS,
  );
  return (condition, record) => {
    const value = joinValueOf(condition, record);
    return value === undefined ? Promise.resolve(condition.none) : lookUp({ condition, value });
  };
}
