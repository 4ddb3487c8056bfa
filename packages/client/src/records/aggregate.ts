import type { QueryParameters } from '../request/request.ts';
import { encodeWhere, type ListSelection } from './list-query.ts';

/** A field by which records are grouped: its name, or a date in buckets (`{ month: 'createdAt' }`). */
type GroupTerm = string | Readonly<Record<string, string>>;

/** A query of aggregates. */
export interface AggregateQuery extends ListSelection {
  group?: readonly GroupTerm[] | undefined;
  /** Counts the records of each group. Left out: true if the query has no other aggregate. */
  count?: true | undefined;
  sum?: readonly string[] | undefined;
  avg?: readonly string[] | undefined;
  min?: readonly string[] | undefined;
  max?: readonly string[] | undefined;
  countDistinct?: readonly string[] | undefined;
  /** The order of the groups: `-count,status` or `sum(hours)`. Default: by the terms of `group`. */
  sort?: readonly string[] | string | undefined;
  /** The maximum number of groups: 1 to 1,000. Default 100. */
  limit?: number | undefined;
  /** The IANA time zone of the date buckets. Default `UTC`. */
  timeZone?: string | undefined;
}

/** The result of a query of aggregates. */
export interface AggregateResult {
  data: { group: Record<string, unknown>; count?: number }[];
  meta: { groups: number; truncated: boolean };
}

/** `{ month: 'createdAt' }` → `month(createdAt)`. */
const encodeTerm = (term: GroupTerm): string =>
  typeof term === 'string'
    ? term
    : Object.entries(term)
        .map(([unit, field]) => `${unit}(${field})`)
        .join();

/** Encodes a query of aggregates as parameters. */
export function encodeAggregateQuery({ where, group, count, ...rest }: AggregateQuery): QueryParameters {
  return { ...encodeWhere(where), ...(group?.length && { group: group.map(encodeTerm) }), count, ...rest };
}
