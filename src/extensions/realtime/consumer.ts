import type { Host } from '../../declare/host.ts';
import type { OutboxConsumer } from '../../platform/outbox/relay.ts';
import { isRecordChange } from '../../platform/outbox/table.ts';
import type { Appender } from './appender.ts';
import { FIELDS, packEvent } from './entry.ts';
import { ADD_WAITING, IS_ANY_WAITING } from './sql.ts';

/**
 * Adds changes of records to the Redis stream, before the relay's transaction ends: what is committed is in it. While Redis is
 * away, and until what waits is moved, they wait in Postgres.
 */
export function createConsumer({ resources }: Pick<Host, 'resources'>, appender: Appender): OutboxConsumer {
  const names = new Set(resources.map((gateway) => gateway.name));
  return {
    wants: (row) => isRecordChange(row) && names.has(row.resource!),
    async handle(rows, tx) {
      const entries = rows.map(packEvent);
      const [waiting] = await tx.write({ name: 'realtime_is_waiting', text: IS_ANY_WAITING, values: [] });
      if (waiting === undefined && (await appender.add(entries.map((text) => [FIELDS.event, text])))) return undefined;
      const values = [rows.map((row) => row.eventId), rows.map((row) => row.id), entries];
      await tx.write({ name: 'realtime_wait', text: ADD_WAITING, values });
      return undefined;
    },
  };
}
