import type { DevicePlatform, FindDevices } from '../../accounts/devices/index.ts';
import type { Database } from '../../platform/data/postgres/database.ts';
import type { Logger } from '../../platform/observability/log.ts';
import type { Transport } from '../message/transport.ts';
import { type AudienceCursor, DEVICES_PER_PAGE, lookUpAudiencePage } from './audience.ts';
import { groupIntoChunks, STORE_PAGE, toStorePageValues } from './insert-push.ts';
import { type Outcome, pushStatusSql } from './status.ts';

// Selects only the entries of the audience's next page. The row lock keeps other workers from the same audience.
const pageSliceSql = (list: string, done: string) => `${list}[${done} + 1 : ${done} + ${DEVICES_PER_PAGE}]`;
const LOCK_AUDIENCE = `
  select ${pageSliceSql('user_ids', 'done')}, ${pageSliceSql('device_ids', 'done')},
    ${pageSliceSql('tokens', `case when stage = 'tokens' then done else 0 end`)}, platform,
    registered, raw, stage, done, after_device, next_chunk, next_position
  from push_audiences where push_id = $1 for update skip locked`;
type AudienceRow = [string[], string[], string[], DevicePlatform, number, number, ...CursorColumns, number, number];
type CursorColumns = [AudienceCursor['stage'], number, string | null];

const STORE_DEVICES = `
  with ${STORE_PAGE}, moved as (
    update push_audiences set stage = $15::text, done = $16, after_device = $17, touched_at = now(),
      next_chunk = next_chunk + cardinality($3::int[]), next_position = next_position + cardinality($8::text[])
    where push_id = $1 and $15::text is not null
  ), done as (delete from push_audiences where push_id = $1 and $15::text is null), n as (
    select (select count(*)::int from r) as devices, cardinality($3::int[]) - case when $15::text is null then 1 else 0 end as chunks
  )
  update pushes p set devices = p.devices + n.devices, open_chunks = p.open_chunks + n.chunks,
    status = ${pushStatusSql({
      open: '(p.open_chunks + n.chunks)',
      devices: '(p.devices + n.devices)',
      ok: 'p.ok_devices',
      captured: 'p.captured_devices',
    })},
    finished_at = case when p.open_chunks + n.chunks = 0 then now() end
  from n where p.id = $1 returning p.finished_at is not null, p.status, p.devices`;

/** The result of storing one page of an audience. */
export interface StoredPage {
  chunks: { chunk: number; size: number; transport: string | null }[];
  /** Whether more pages follow. */
  more: boolean;
  /** Set if this page finished the push, because all earlier devices already have results. */
  outcome: Outcome | undefined;
}

/** What is needed to look up devices and to put them in chunks. */
export interface PageContext {
  transports: readonly Transport[];
  log: Logger;
  /** Whether to send to simulated devices. */
  simulated: boolean;
  findDevices: FindDevices;
}

/**
 * Looks up the next page of a push's audience and stores its devices.
 *
 * @returns undefined if no page is left or another worker is processing this audience
 */
export async function storeNextAudiencePage(
  database: Database,
  id: string,
  { transports, log, simulated, findDevices }: PageContext,
): Promise<StoredPage | undefined> {
  return database.transaction(async (tx) => {
    const [row] = await tx.write<AudienceRow>({ name: 'push_audience_take', text: LOCK_AUDIENCE, values: [id] });
    if (row === undefined) return undefined;
    const [userIds, deviceIds, tokens, platform, registered, raw, stage, done, afterDevice, firstChunk, firstPosition] =
      row;
    const entries = { userIds, deviceIds, tokens, platform, registered, raw };
    const { devices, next } = await lookUpAudiencePage(
      tx,
      entries,
      { stage, done, afterDevice },
      { simulated, findDevices },
    );
    const chunks = groupIntoChunks(devices, transports, log);
    const values = [
      id,
      ...toStorePageValues(chunks, { firstChunk, firstPosition, bulk: true }),
      next?.stage ?? null,
      next?.done ?? null,
      next?.afterDevice ?? null,
    ];
    const [stored] = await tx.write<[boolean, Outcome['status'], number]>({
      name: 'push_page',
      text: STORE_DEVICES,
      values,
    });
    const [finished, status, count] = stored!;
    return {
      chunks: chunks.map(({ transport, targets }, i) => ({ chunk: firstChunk + i, size: targets.length, transport })),
      more: next !== undefined,
      outcome: finished ? { id, status, devices: count } : undefined,
    };
  });
}
