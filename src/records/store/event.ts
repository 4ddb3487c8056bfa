import { newId } from '../../platform/ids.ts';
import type { CompiledResource } from '../compiled.ts';
import { type Parameters, quoted } from '../query/sql.ts';

/** Who is behind a change, as the outbox keeps it. */
export interface Cause {
  userId: string | undefined;
  requestId: string | undefined;
}

/** A row as JSON without its password columns: hashes stay in their one place. */
function rowJson(resource: CompiledResource, alias: string): string {
  const hashes = resource.fields.filter((field) => field.spec.kind === 'password').map((field) => field.column);
  const removed = hashes.map((column) => ` - '${column.replaceAll("'", "''")}'`).join('');
  return `to_jsonb(${quoted(alias)}.*)${removed}`;
}

/**
 * The common table expression that writes the outbox row of a change in the statement that makes it: one statement, one
 * round trip, one commit. It reads the changed row from `_new`, and the row before an update from `_old`: names that no column can
 * have, since a bare `r` would mean a column `r` before it means a row.
 *
 * @param action `created`, `updated` or `deleted`
 */
export function outboxExpression(
  resource: CompiledResource,
  action: 'created' | 'updated' | 'deleted',
  cause: Cause,
  params: Parameters,
): string {
  const previous = action === 'updated' ? `, 'previous', ${rowJson(resource, '_old')}` : '';
  const from = action === 'updated' ? '_new, _old' : '_new';
  const values = [newId(), `${resource.name}.${action}`, resource.name].map((value) => `${params.add(value)}::text`);
  const who = [cause.userId ?? null, cause.requestId ?? null].map((value) => `${params.add(value)}::text`);
  return `_outbox as (insert into "outbox" ("event_id", "name", "resource", "record_id", "user_id", "request_id", "payload")
    select ${values.join(', ')}, _new."id", ${who.join(', ')}, jsonb_build_object('record', ${rowJson(resource, '_new')}${previous})
    from ${from})`;
}
