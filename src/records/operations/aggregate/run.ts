import type { AggregateMeta } from '../../../declare/aggregate.ts';
import { isInvalidParameter, isOutOfRange, isStatementTimeout } from '../../../platform/data/postgres/errors.ts';
import { ApiError } from '../../../platform/helpers/errors.ts';
import type { OperationContext } from '../../access/operation-context.ts';
import type { AggregatableField } from '../../aggregate/fields.ts';
import {
  type FunctionTerm,
  type GroupTerm,
  type ParsedAggregates,
  parseAggregates,
  type SplitQuery,
  timeZoneError,
} from '../../aggregate/parse.ts';
import type { AggregateSelection, VisibleIn } from '../../aggregate/sql.ts';
import { fieldVisibilityCondition, type QueryViewer } from '../../query/filter.ts';
import { queryError } from '../../query/parameter.ts';
import type { CompiledResource } from '../../schema/compiled.ts';
import { readPageWithinResponseRoom } from '../../serialize/response-bytes.ts';
import type { Entity } from '../../store/entity.ts';
import type { Store } from '../../store/store.ts';
import type { RecordsContext } from '../context.ts';
import type { ListSource } from '../list-source.ts';
import { chooseStore, parseAndAuthorizeList } from '../read.ts';

/** One group of a result, as the response holds it. */
type GroupResult = { group: Record<string, unknown>; count?: number } & Record<string, unknown>;

/** Aggregates of records, by group. */
interface ComputedAggregates {
  data: GroupResult[];
  meta: AggregateMeta;
}

/** An offset from UTC in seconds as ISO 8601 writes it: `+02:00`. */
function formatOffset(seconds: number): string {
  const parts = [Math.abs(seconds) / 3600, (Math.abs(seconds) / 60) % 60, Math.abs(seconds) % 60].map(Math.floor);
  const texts = parts.map((part) => String(part).padStart(2, '0'));
  return `${seconds < 0 ? '-' : '+'}${(parts[2] === 0 ? texts.slice(0, 2) : texts).join(':')}`;
}

function toRecordValue({ type, spec }: AggregatableField, value: unknown): unknown {
  return type.fromColumn === undefined ? value : type.fromColumn(value, spec);
}

function toGroupValue({ field, unit }: GroupTerm, value: unknown): unknown {
  if (value === null) return null;
  if (unit === undefined) return toRecordValue(field, value);
  if (unit !== 'hour') return value;
  const [hour, offset] = (value as string).split('/');
  return hour + formatOffset(Number(offset));
}

function toFunctionValue({ fn, field }: FunctionTerm, value: unknown): unknown {
  if (value === null || fn === 'countDistinct') return value;
  // Postgres sums and averages whole numbers as `numeric`, which is read as a text.
  if ((fn === 'sum' || fn === 'avg') && field.type.jsonType === 'number') return Number(value);
  return toRecordValue(field, value);
}

/** Converts a row of the statement to a group of the response. */
function toGroupResult({ groups, count, functions }: ParsedAggregates, row: readonly unknown[]): GroupResult {
  let at = 0;
  const result: GroupResult = { group: {} };
  for (const term of groups) result.group[term.key] = toGroupValue(term, row[at++]);
  if (count) result.count = row[at++] as number;
  for (const term of functions) {
    const others = result[term.fn] as Record<string, unknown> | undefined;
    result[term.fn] = { ...others, [term.field.name]: toFunctionValue(term, row[at++]) };
  }
  return result;
}

/** Limits a term to the records where the viewer may see its field. */
function limitToVisible<Term extends { field: AggregatableField }>(
  resource: CompiledResource,
  term: Term,
  viewer: QueryViewer,
): Term & VisibleIn {
  const { compiled } = term.field;
  return { ...term, visibleIn: compiled && fieldVisibilityCondition(resource, compiled, viewer) };
}

async function runWithPublicErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isStatementTimeout(error)) {
      const message = 'These aggregates take too long to compute; add a filter, or group by fewer fields';
      throw new ApiError('UNAVAILABLE', message, { cause: error });
    }
    if (isOutOfRange(error)) throw queryError('A sum or an average is too large for a number; add a filter');
    // Node.js knows the time zone, but this version of Postgres does not.
    if (isInvalidParameter(error)) throw timeZoneError();
    throw error;
  }
}

/** Reads the groups of a response, as many as fit into it. */
async function readRowsWithinResponse(
  store: Store,
  statement: AggregateSelection,
  bytes: number,
  { req }: OperationContext,
): Promise<readonly unknown[][]> {
  const { records } = await readPageWithinResponseRoom(req, bytes, async (room) => {
    const rows = await store.aggregate(statement, room);
    const used = rows.reduce((sum, row) => sum + Number(row.at(-2)), 0);
    return { records: rows, bytes: used, isCut: rows.at(-1)?.at(-1) === true };
  });
  return records;
}

/**
 * Computes aggregates of the records that the caller may list, in one statement. A field with `visibleTo` counts only in records where the
 * caller may see it. Other records are in no group of that field, and add nothing to its aggregates.
 *
 * @param options `byCode`: code passes the selection, with typed values; `source`: where to read, by default from the primary
 */
export async function computeAggregates(
  context: RecordsContext,
  entity: Entity,
  { parameters, selection }: SplitQuery,
  operation: OperationContext,
  { byCode = false, source }: { byCode?: boolean; source?: ListSource | Promise<ListSource> } = {},
): Promise<ComputedAggregates> {
  const { resource } = entity;
  const { query, whole } = await parseAndAuthorizeList(context, entity, selection, operation, byCode);
  const viewer = operation.system ? 'system' : operation.user;
  const parsed = parseAggregates(resource, parameters, viewer);
  const { windowSearch } = query;
  const statement: AggregateSelection = {
    ...parsed,
    groups: parsed.groups.map((term) => limitToVisible(resource, term, viewer)),
    functions: parsed.functions.map((term) => limitToVisible(resource, term, viewer)),
    conditions: windowSearch === undefined ? whole.conditions : [...whole.conditions, windowSearch],
  };
  const store = chooseStore((await source)?.entity ?? entity, query);
  const rows = await runWithPublicErrors(() =>
    byCode
      ? store.aggregate(statement, () => Number.MAX_SAFE_INTEGER)
      : readRowsWithinResponse(store, statement, context.settings.http.pageBytes, operation),
  );
  const groups = (rows[0]?.at(-3) as number | undefined) ?? 0;
  return { data: rows.map((row) => toGroupResult(parsed, row)), meta: { groups, truncated: rows.length < groups } };
}
