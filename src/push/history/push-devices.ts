import type { DevicePlatform } from '../../accounts/devices/index.ts';
import type { Database } from '../../platform/data/postgres/database.ts';
import { DEVICE_COLUMNS, type DeviceRow, serializeDeviceHistory } from './read-push.ts';
import type { PushChunk, PushOfDevice, RemovedDevice } from './responses.ts';

const MAX_CHUNKS = 50;
const MAX_PUSHES_OF_DEVICE = 20;
const MAX_REMOVED = 100;
/** The pushes, with their devices, that are searched for removed devices. */
const SEARCHED_PUSHES = 100;
const SEARCHED_DEVICES = 1000;

const CHUNKS = `
  select chunk, transport, last_position - first_position + 1, attempts, case when finished_at is null then due_at end, answered_at,
    finished_at
  from push_chunks where push_id = $1 order by chunk limit ${MAX_CHUNKS}`;

/** Reads the first 50 chunks of a push. */
export async function readPushChunks(database: Database, pushId: string): Promise<PushChunk[]> {
  type Row = [number, string | null, number, number, string | null, string | null, string | null];
  const rows = await database.read<Row>({ text: CHUNKS, values: [pushId] });
  return rows.map(([chunk, transport, devices, claims, dueAt, answeredAt, finishedAt]) => {
    return { chunk, transport, devices, claims, dueAt, answeredAt, finishedAt };
  });
}

// Uses index push_results_device_index.
const OF_DEVICE = `
  select ${DEVICE_COLUMNS}, p.id, p.message->>'title', p.message->>'body'
  from (select * from push_results where device_id = $1 order by push_id desc limit ${MAX_PUSHES_OF_DEVICE}) r
  join pushes p on p.id = r.push_id
  left join push_chunks c on c.push_id = r.push_id and r.position between c.first_position and c.last_position
  order by p.created_at desc, p.id desc`;

/** Reads the newest pushes to a device, each with its timeline. */
export async function readPushesOfDevice(database: Database, deviceId: string): Promise<PushOfDevice[]> {
  type Row = [...DeviceRow, push: string, title: string | null, body: string | null];
  const rows = await database.readSlowly<Row>({ text: OF_DEVICE, values: [deviceId] });
  return rows.map((row) => {
    const [push, title, body] = row.slice(-3) as [string, string | null, string | null];
    return { ...serializeDeviceHistory(row.slice(0, -3) as DeviceRow), push, title, body };
  });
}

// Reads a bounded number of results, by the primary key.
const REMOVED = `
  select r.device_id, r.user_id, r.device_name, r.platform, r.masked_token, r.reason, r.failed_at, r.push_id from (
    select distinct on (r.device_id) r.* from (select id from pushes order by created_at desc, id desc limit ${SEARCHED_PUSHES}) p
    cross join lateral (
      select r.*, coalesce(r.receipt->>'error', r.error) as reason, coalesce(r.answered_at, now()) as failed_at
      from push_results r where r.push_id = p.id and r.position < ${SEARCHED_DEVICES}
        and (not r.ok or (r.receipt->>'ok')::boolean is false) and r.retry_at is null and r.device_id is not null
    ) r
    order by r.device_id, r.push_id desc
  ) r
  where not exists (select from devices d where d.id = r.device_id)
  order by r.failed_at desc limit ${MAX_REMOVED}`;

/** Reads the devices that newer pushes failed to reach and that are no longer registered, newest first. */
export async function readRemovedDevices(database: Database): Promise<RemovedDevice[]> {
  type Row = [string, string | null, string | null, DevicePlatform, string, string | null, string, string];
  const rows = await database.readSlowly<Row>({ text: REMOVED, values: [] });
  return rows.map(([id, user, name, platform, token, error, failedAt, push]) => {
    return { id, user, name, platform, token, error, failedAt, push };
  });
}
