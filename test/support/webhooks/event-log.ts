import type pg from 'pg';
import { newId } from '../../../src/platform/helpers/ids.ts';

/** Adds events to the log that the app published for a user a minute ago: `number.drawn` with the numbers from 1, in this order. */
export async function fillEventLog(client: Pick<pg.Client, 'query'>, owner: string, events: number): Promise<void> {
  await client.query(
    `insert into webhook_event_log (id, position, name, owner_id, data, bytes, created_at)
     select $1 || lpad(to_hex(i), 8, '0'), i, 'number.drawn', $2, '{"number":' || i || '}', 20,
       now() - interval '1 minute' + i / 100 * interval '1 ms'
     from generate_series(1, $3) i`,
    [newId().slice(0, 16), owner, events],
  );
}
