import type { DevicePlatform } from '../../accounts/devices/index.ts';
import type { PushResult } from '../../declare/push.ts';
import type { Database } from '../../platform/data/postgres/database.ts';
import type { DeviceHistory, PushDetails, TimelineEntry } from './responses.ts';

interface EarlierTry {
  sentAt: string;
  answeredAt: string;
  error: string | null;
  retryAt: string | null;
}

interface StoredReceipt {
  ok: boolean;
  error: string | null;
  at: string;
}

/** The selected columns of a device: from its result `r`, its chunk `c` and its push `p`. */
export const DEVICE_COLUMNS = `
  r.device_id, r.user_id, r.platform, r.masked_token, c.transport, r.ok, r.provider_id, r.error, r.sent_at, r.answered_at,
  r.retry_at, r.earlier, r.receipt, r.opened_at, p.created_at, r.device_name`;

/** A row of `DEVICE_COLUMNS`. */
export type DeviceRow = [
  deviceId: string | null,
  userId: string | null,
  platform: DevicePlatform,
  maskedToken: string,
  transport: string | null,
  ok: boolean | null,
  providerId: string | null,
  error: string | null,
  sentAt: string | null,
  answeredAt: string | null,
  retryAt: string | null,
  earlier: EarlierTry[] | null,
  receipt: StoredReceipt | null,
  openedAt: string | null,
  queuedAt: string,
  name: string | null,
];

// Converts a time that was stored inside JSON: Postgres writes such times with its own time zone and precision.
const toIsoTime = (text: string) => new Date(text).toISOString();
const errorProperty = (error: string | null) => (error === null ? {} : { error });

function timelineOfFailedTry({ sentAt, answeredAt, error, retryAt }: EarlierTry): TimelineEntry[] {
  return [
    { at: toIsoTime(sentAt), event: 'sent' },
    { at: toIsoTime(answeredAt), event: 'refused', ...errorProperty(error) },
    ...(retryAt === null ? [] : [{ at: toIsoTime(retryAt), event: 'retry' as const }]),
  ];
}

/** Serializes a device of a push, with the timeline of its notification. */
export function serializeDeviceHistory(row: DeviceRow): DeviceHistory {
  const [device, user, platform, token, transport, ok, providerId, error, sentAt, answeredAt, retryAt] = row;
  const [earlier, receipt, openedAt, queuedAt, name] = row.slice(11) as [
    EarlierTry[] | null,
    StoredReceipt | null,
    string | null,
    string,
    string | null,
  ];
  const timeline: TimelineEntry[] = [
    { at: queuedAt, event: 'queued' },
    ...(earlier ?? []).flatMap(timelineOfFailedTry),
  ];
  if (sentAt !== null) timeline.push({ at: sentAt, event: 'sent' });
  if (ok === true)
    timeline.push({ at: answeredAt!, event: 'accepted', ...(providerId === null ? {} : { id: providerId }) });
  if (ok === false) timeline.push({ at: answeredAt!, event: 'refused', ...errorProperty(error) });
  if (retryAt !== null) timeline.push({ at: retryAt, event: 'retry' });
  if (receipt !== null)
    timeline.push({ at: toIsoTime(receipt.at), event: 'receipt', ok: receipt.ok, ...errorProperty(receipt.error) });
  if (openedAt !== null) timeline.push({ at: openedAt, event: 'opened' });
  return { device, user, name, platform, token, transport, ok, error, timeline };
}

const SELECT_PUSH =
  'select status, devices, message || audience, created_at, expires_at, finished_at from pushes where id = $1';
const COUNT_DEVICES = `
  select count(*)::int, (count(*) filter (where ok is null))::int, (count(*) filter (where ok))::int,
    (count(*) filter (where not ok and retry_at is null))::int, (count(*) filter (where retry_at is not null))::int,
    (count(*) filter (where receipt is not null))::int, (count(*) filter (where (receipt->>'ok')::boolean is false))::int,
    (count(*) filter (where opened_at is not null))::int
  from push_results where push_id = $1`;
// Selects a page of a push's devices, in the order of the primary key.
const SELECT_DEVICES = `
  select ${DEVICE_COLUMNS}
  from pushes p join push_results r on r.push_id = p.id
  left join push_chunks c on c.push_id = r.push_id and r.position between c.first_position and c.last_position
  where p.id = $1 order by r.position limit $2 offset $3`;

/**
 * Reads a push with one page of its devices, in the order they were found.
 *
 * @param page counted from 1
 * @returns undefined if the push does not exist
 */
export async function readPush(
  database: Database,
  id: string,
  { page, limit }: { page: number; limit: number },
): Promise<PushDetails | undefined> {
  type Row = [PushResult['status'], number, Record<string, unknown>, string, string | null, string | null];
  type Counts = [number, number, number, number, number, number, number, number];
  const [pushes, numbers, devices] = await Promise.all([
    database.read<Row>({ name: 'push_show', text: SELECT_PUSH, values: [id] }),
    database.readSlowly<Counts>({ text: COUNT_DEVICES, values: [id] }),
    database.readSlowly<DeviceRow>({ text: SELECT_DEVICES, values: [id, limit, (page - 1) * limit] }),
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
    devices: devices.map(serializeDeviceHistory),
  };
}

/** A push that was captured instead of sent. */
export interface CapturedPush {
  id: string;
  /** The message with all defaults filled; `to` and `deviceIds` as passed by the caller, without raw tokens. */
  message: Record<string, unknown>;
  /** The devices that the push would have been sent to. `id` and `user` are null for a raw token; tokens are masked. */
  devices: { id: string | null; platform: DevicePlatform; token: string; user: string | null }[];
}

/** Access to captured pushes: `app.captured`, for development and tests. */
export interface CapturedPushes {
  /** The newest 1,000 pushes, newest first. Always empty in production, where nothing is captured. */
  pushes(): Promise<CapturedPush[]>;
}

// Selects captured pushes with their captured devices, which are those in chunks without a transport.
const SELECT_CAPTURED = `
  select p.id, p.message || p.audience, (
    select json_agg(json_build_object('id', r.device_id, 'platform', r.platform, 'token', r.masked_token, 'user', r.user_id)
      order by r.position)
    from push_chunks c join push_results r on r.push_id = c.push_id and r.position between c.first_position and c.last_position
    where c.push_id = p.id and c.transport is null and r.ok
  )
  from pushes p where p.captured_devices > 0 order by p.created_at desc, p.id desc limit 1000`;

/** Reads captured pushes from Postgres: every process sees the captures of all processes. */
export function createCapturedPushes(database: Database): CapturedPushes {
  return {
    async pushes() {
      const rows = await database.write<[string, CapturedPush['message'], CapturedPush['devices']]>({
        text: SELECT_CAPTURED,
        values: [],
      });
      return rows.map(([id, message, devices]) => ({ id, message, devices }));
    },
  };
}
