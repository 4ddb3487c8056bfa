import type { Request } from 'express';
import { addressOf } from '../../platform/http/client-address.ts';
import type { identityOf } from '../../platform/http/identity.ts';
import { newId } from '../../platform/ids.ts';
import { quoteIdentifier } from '../../platform/postgres/quote-identifier.ts';
import { quoteLiteral } from '../../platform/postgres/quote-literal.ts';
import type { CompiledResource } from '../schema/compiled.ts';

/** The actor of a change, as the outbox keeps it. */
export interface Cause {
  userId: string | undefined;
  requestId: string | undefined;
  req: Request | undefined;
  /** How the user is signed in; undefined where no request of theirs is at hand. */
  identity: ReturnType<typeof identityOf>;
  system: boolean;
}

/**
 * The JSON of a row in events, without its password columns (hashes stay in their one place), and without `xmin`. Values that a JSON
 * number would round are texts.
 *
 * @param alias of the table
 */
export function rowJson(resource: CompiledResource, alias: string): string {
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

/** By password field whether a hash is there. */
function passwordsJson(resource: CompiledResource): string {
  const fields = resource.fields.filter((field) => field.type.concealed);
  const pairs = fields.map(({ name, column }) => `${quoteLiteral(name)}, _new.${quoteIdentifier(column)} is not null`);
  return `jsonb_build_object(${pairs.join(', ')})`;
}

/** Where a change came from, as JSON: by which session or key it was signed in, and from which address. */
function originJson({ req, identity, system }: Cause): string {
  const ip = req && addressOf(req);
  const via = identity?.via ?? (system ? 'system' : undefined);
  return JSON.stringify({ via, id: identity?.id, ip: ip || undefined });
}

/** The values that `outboxExpression` has placeholders for: an event of its own for every change. */
export function eventValues(resource: CompiledResource, action: Action, cause: Cause): unknown[] {
  const { userId, requestId } = cause;
  const values = [newId(), `${resource.name}.${action}`, resource.name, userId ?? null, requestId ?? null];
  return resource.audit ? [...values, originJson(cause)] : values;
}

/**
 * The common table expression that writes the outbox row of a change in the statement that makes it: one statement, one
 * round trip, one commit. It reads the changed row from `_new`, and the row before an update from `_old`: names that no column can
 * have, since a bare `r` would mean a column `r` before it means a row.
 *
 * Its time is read once the row is changed: `now()` is when the transaction began, which may be before another one, for which it
 * waited, changed the same record.
 *
 * @param given how many values the statement has before those of the event
 */
export function outboxExpression(resource: CompiledResource, action: Action, given: number): string {
  const parts = [`'record', ${rowJson(resource, '_new')}`];
  if (resource.audit) parts.push(`'origin', $${given + 6}::jsonb`);
  // An update never sets a password.
  if (action === 'updated') parts.push(`'previous', ${rowJson(resource, '_old')}`);
  else if (resource.audit) parts.push(`'passwords', ${passwordsJson(resource)}`);
  const from = action === 'updated' ? '_new, _old' : '_new';
  const [event, name, own, user, request] = [1, 2, 3, 4, 5].map((place) => `$${given + place}::text`);
  const columns = '"event_id", "name", "resource", "record_id", "user_id", "request_id", "created_at", "payload"';
  return `_outbox as (insert into "outbox" (${columns})
    select ${event}, ${name}, ${own}, _new."id", ${user}, ${request}, clock_timestamp(),
      jsonb_build_object(${parts.join(', ')}) from ${from})`;
}
