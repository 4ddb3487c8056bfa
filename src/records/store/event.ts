import { newId } from '../../platform/ids.ts';
import { quoteIdentifier } from '../../platform/postgres/quote-identifier.ts';
import type { CompiledResource } from '../compiled.ts';

/** Who is behind a change, as the outbox keeps it. */
export interface Cause {
  userId: string | undefined;
  requestId: string | undefined;
}

/** A row as JSON without its password columns (hashes stay in their one place), and without `xmin`. */
function rowJson(resource: CompiledResource, alias: string): string {
  const hashes = resource.fields.filter((field) => field.type.concealed).map((field) => field.column);
  const columns = resource.timestamps ? hashes : [...hashes, 'xmin'];
  const removed = columns.map((column) => ` - '${column.replaceAll("'", "''")}'`).join('');
  return `to_jsonb(${quoteIdentifier(alias)}.*)${removed}`;
}

type Action = 'created' | 'updated' | 'deleted' | 'restored';

/** The values that `outboxExpression` has placeholders for: an event of its own for every change. */
export function eventValues(resource: CompiledResource, action: Action, { userId, requestId }: Cause): unknown[] {
  return [newId(), `${resource.name}.${action}`, resource.name, userId ?? null, requestId ?? null];
}

/**
 * The common table expression that writes the outbox row of a change in the statement that makes it: one statement, one
 * round trip, one commit. It reads the changed row from `_new`, and the row before an update from `_old`: names that no column can
 * have, since a bare `r` would mean a column `r` before it means a row.
 *
 * @param given how many values the statement has before those of the event
 */
export function outboxExpression(resource: CompiledResource, action: Action, given: number): string {
  const previous = action === 'updated' ? `, 'previous', ${rowJson(resource, '_old')}` : '';
  const from = action === 'updated' ? '_new, _old' : '_new';
  const [event, name, own, user, request] = [1, 2, 3, 4, 5].map((place) => `$${given + place}::text`);
  return `_outbox as (insert into "outbox" ("event_id", "name", "resource", "record_id", "user_id", "request_id", "payload")
    select ${event}, ${name}, ${own}, _new."id", ${user}, ${request},
      jsonb_build_object('record', ${rowJson(resource, '_new')}${previous}) from ${from})`;
}
