import type { Request } from 'express';
import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';
import { quoteLiteral } from '../../platform/data/postgres/values.ts';
import { newId } from '../../platform/helpers/ids.ts';
import { findPreferredLocale } from '../../platform/helpers/locale.ts';
import { addressOf } from '../../platform/http/client-address.ts';
import type { getIdentity } from '../../platform/http/request-context.ts';
import type { CompiledResource } from '../schema/compiled.ts';

/** The actor of a change, as stored in the outbox. */
export interface Cause {
  userId: string | undefined;
  requestId: string | undefined;
  req: Request | undefined;
  /** How the user is signed in; undefined without a request of that user. */
  identity: ReturnType<typeof getIdentity>;
  system: boolean;
  /** The `traceparent` of the span that makes the change; undefined if it is not recorded. */
  trace: string | undefined;
  /** The organisation that makes the change with an API key of its own; then there is no user. */
  organisation?: string | undefined;
}

/**
 * The JSON of a row in events, without its password columns (hashes are stored nowhere else) and without `xmin`. Values that a JSON number
 * would round are texts.
 *
 * @param alias the alias of the table
 */
export function rowJsonSql(resource: CompiledResource, alias: string): string {
  const hashes = resource.fields.filter((field) => field.type.concealed).map((field) => field.column);
  const columns = resource.timestamps ? hashes : [...hashes, 'xmin'];
  const removed = columns.map((column) => ` - ${quoteLiteral(column)}`).join('');
  const row = `to_jsonb(${quoteIdentifier(alias)}.*)${removed}`;
  const exact = resource.fields.filter((field) => field.columnType.jsonAsText && !field.spec.encrypted);
  if (exact.length === 0) return row;
  const texts = exact.map(({ column, columnType }) => {
    const value = `${quoteIdentifier(alias)}.${quoteIdentifier(column)}::text${columnType.item === undefined ? '' : '[]'}`;
    return `${quoteLiteral(column)}, ${value}`;
  });
  return `(${row}) || jsonb_build_object(${texts.join(', ')})`;
}

type Action = 'created' | 'updated' | 'deleted' | 'restored';

/** SQL for a JSON object that tells, for each password field of the new row, whether it has a hash. */
function passwordsSetJsonSql(resource: CompiledResource): string {
  const fields = resource.fields.filter((field) => field.type.concealed);
  const pairs = fields.map(({ name, column }) => `${quoteLiteral(name)}, _new.${quoteIdentifier(column)} is not null`);
  return `jsonb_build_object(${pairs.join(', ')})`;
}

/**
 * The origin of a change: how the caller was authenticated, the id of the session or key, the client's address, and the organisation if it
 * is the caller itself.
 */
function originOf({ req, identity, system, organisation }: Cause) {
  const ip = req && addressOf(req);
  // A job that an organisation enqueued has no request.
  const via = identity?.via ?? (organisation !== undefined ? 'api-key' : system ? 'system' : undefined);
  return { via, id: identity?.id, ip: ip || undefined, organisation };
}

const recordsCause = ({ recordsOrigin, recordsLocale }: CompiledResource) => recordsOrigin || recordsLocale;

/** What events of a resource record about the request, as JSON: members of their payload. */
function formatCauseJson({ recordsOrigin, recordsLocale }: CompiledResource, cause: Cause): string {
  return JSON.stringify({
    ...(recordsOrigin && { origin: originOf(cause) }),
    ...(recordsLocale && { locale: cause.req && findPreferredLocale(cause.req) }),
  });
}

/** The values for the placeholders of `outboxInsertSql`. Each change gets a new event id. */
export function createEventValues(resource: CompiledResource, action: Action, cause: Cause): unknown[] {
  return [newId(), `${resource.name}.${action}`, ...createCauseValues(resource, cause)];
}

/** The values that all events of one cause share, for the placeholders of `batchOutboxInsertSql`. */
export function createCauseValues(resource: CompiledResource, cause: Cause): unknown[] {
  const { userId, requestId, trace } = cause;
  const values = [resource.name, userId ?? null, requestId ?? null, trace ?? null];
  return recordsCause(resource) ? [...values, formatCauseJson(resource, cause)] : values;
}

const OUTBOX_COLUMNS =
  '"event_id", "name", "resource", "record_id", "user_id", "request_id", "trace_context", "created_at", "payload"';

/**
 * The payload of a change's outbox row.
 *
 * @param cause the placeholder of what the event records about the request
 */
function payloadSql(resource: CompiledResource, action: Action, cause: string): string {
  const parts = [`'record', ${rowJsonSql(resource, '_new')}`];
  // An update never sets a password.
  if (action === 'updated') parts.push(`'previous', ${rowJsonSql(resource, '_old')}`);
  else if (resource.recordsOrigin) parts.push(`'passwords', ${passwordsSetJsonSql(resource)}`);
  const payload = `jsonb_build_object(${parts.join(', ')})`;
  return recordsCause(resource) ? `${payload} || ${cause}::jsonb` : payload;
}

/**
 * The common table expression that writes a change's outbox row in the same statement as the change: one statement, one round trip, one
 * commit. It reads the changed row from `_new`, and the row before an update from `_old`. No column can have these two names. A name like
 * `r` would be ambiguous: SQL prefers a column `r` to a row `r`.
 *
 * The event's time is read after the row has changed. `now()` would be the start of the transaction, which may be before an earlier change
 * of the same record that this transaction waited for.
 *
 * @param given how many placeholders of the statement come before the placeholders of the event
 */
export function outboxInsertSql(resource: CompiledResource, action: Action, given: number): string {
  const payload = payloadSql(resource, action, `$${given + 7}`);
  const from = action === 'updated' ? '_new, _old' : '_new';
  const [event, name, own, user, request, trace] = [1, 2, 3, 4, 5, 6].map((place) => `$${given + place}::text`);
  return `_outbox as (insert into "outbox" (${OUTBOX_COLUMNS})
    select ${event}, ${name}, ${own}, _new."id", ${user}, ${request}, ${trace}, clock_timestamp(),
      ${payload} from ${from})`;
}

/**
 * The values for the placeholders of `outboxInsertOfManySql`, for changes of several records by one cause.
 *
 * @param ids the ids of the records
 */
export function createEventValuesOfMany(
  resource: CompiledResource,
  action: Action,
  cause: Cause,
  ids: readonly string[],
): unknown[] {
  const [, ...shared] = createEventValues(resource, action, cause);
  return [ids, ids.map(newId), ...shared];
}

/**
 * Like `outboxInsertSql`, for a statement that changes several records.
 *
 * @param given how many placeholders of the statement come before the placeholders of the events
 */
export function outboxInsertOfManySql(resource: CompiledResource, action: Action, given: number): string {
  const payload = payloadSql(resource, action, `$${given + 8}`);
  const from = action === 'updated' ? '_new join _old on _old."id" = _new."id"' : '_new';
  const [name, own, user, request, trace] = [3, 4, 5, 6, 7].map((place) => `$${given + place}::text`);
  return `_outbox as (insert into "outbox" (${OUTBOX_COLUMNS})
    select _event."event_id", ${name}, ${own}, _new."id", ${user}, ${request}, ${trace}, clock_timestamp(), ${payload}
      from ${from} join unnest($${given + 1}::text[], $${given + 2}::text[]) _event("record_id", "event_id") on _event."record_id" = _new."id")`;
}

/**
 * Like `outboxInsertSql`, for the rows of a batch, in the order of their places. `_in` has the place, the action and the event id of each
 * row.
 *
 * @param given how many placeholders of the statement come before the placeholders of `createCauseValues`
 */
export function batchOutboxInsertSql(resource: CompiledResource, actions: readonly Action[], given: number): string {
  const [own, user, request, trace] = [1, 2, 3, 4].map((place) => `$${given + place}::text`);
  const cases = actions.map(
    (action) => `when ${quoteLiteral(action)} then ${payloadSql(resource, action, `$${given + 5}`)}`,
  );
  const previous = actions.includes('updated') ? ' left join _old on _old."id" = _in."id"' : '';
  return `_outbox as (insert into "outbox" (${OUTBOX_COLUMNS})
    select _in."_event", ${own} || '.' || _in."_action", ${own}, _new."id", ${user}, ${request}, ${trace}, clock_timestamp(),
      case _in."_action" ${cases.join(' ')} end
    from _in join _new on _new."id" = _in."id"${previous} order by _in."_place")`;
}
