import type { PushResult } from '../declare/push.ts';
import type { Database } from '../platform/postgres/database.ts';
import { DEVICE_COLUMNS, type DeviceRow, type ShownDevice, showDevice } from './timeline.ts';

const READ =
  'select status, devices, message || audience, created_at, expires_at, finished_at from pushes where id = $1';
const COUNTS = `
  select count(*)::int, (count(*) filter (where ok is null))::int, (count(*) filter (where ok))::int,
    (count(*) filter (where not ok and retry_at is null))::int, (count(*) filter (where retry_at is not null))::int,
    (count(*) filter (where receipt is not null))::int, (count(*) filter (where (receipt->>'ok')::boolean is false))::int,
    (count(*) filter (where opened_at is not null))::int
  from push_results where push_id = $1`;
// The primary key's order.
const DEVICES = `
  select ${DEVICE_COLUMNS}
  from pushes p join push_results r on r.push_id = p.id
  left join push_chunks c on c.push_id = r.push_id and r.position between c.first_position and c.last_position
  where p.id = $1 order by r.position limit $2 offset $3`;

/** How many devices of a push are where. */
export interface PushCounts {
  /** Found so far. */
  devices: number;
  /** Not tried yet. */
  queued: number;
  /** Accepted by the provider, or captured. */
  accepted: number;
  /** Failed for good. */
  failed: number;
  /** Failed, and tried again. */
  retrying: number;
  /** The provider reported later. */
  receipts: number;
  /** The provider reported later that it failed. */
  receiptsFailed: number;
  opened: number;
}

/** A push as `GET /api/push/:id` shows it. */
export interface ShownPush {
  id: string;
  status: PushResult['status'];
  message: Record<string, unknown>;
  createdAt: string;
  expiresAt: string | null;
  finishedAt: string | null;
  counts: PushCounts;
  devices: ShownDevice[];
}

/**
 * A push with one page of its devices, in the order in which they were found.
 *
 * @param page counted from 1
 * @returns undefined when there is no such push
 */
export async function readPush(
  database: Database,
  id: string,
  { page, limit }: { page: number; limit: number },
): Promise<ShownPush | undefined> {
  type Row = [PushResult['status'], number, Record<string, unknown>, string, string | null, string | null];
  type Counts = [number, number, number, number, number, number, number, number];
  const [pushes, numbers, devices] = await Promise.all([
    database.read<Row>({ name: 'push_show', text: READ, values: [id] }),
    database.readSlowly<Counts>({ text: COUNTS, values: [id] }),
    database.readSlowly<DeviceRow>({ text: DEVICES, values: [id, limit, (page - 1) * limit] }),
  ]);
  const [push] = pushes;
  if (push === undefined) return undefined;
  const [status, , message, createdAt, expiresAt, finishedAt] = push;
  const [all, queued, accepted, failed, retrying, receipts, receiptsFailed, opened] = numbers[0]!;
  return {
    id,
    status,
    message,
    createdAt,
    expiresAt,
    finishedAt,
    counts: { devices: all, queued, accepted, failed, retrying, receipts, receiptsFailed, opened },
    devices: devices.map(showDevice),
  };
}
