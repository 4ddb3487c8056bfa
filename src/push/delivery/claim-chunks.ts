import type { DevicePlatform } from '../../accounts/devices/index.ts';
import { activeOwnerJoinSql, type UserTable } from '../../accounts/users/user-state.ts';
import type { Database } from '../../platform/data/postgres/database.ts';
import { retryWhileUnavailable } from '../../platform/data/postgres/retry.ts';
import type { Platform } from '../../platform/platform.ts';
import { createLeaseRenewals, type LeaseRenewals } from '../../platform/work/leased-work/lease.ts';
import { leaseSql, renewLeases } from '../../platform/work/leased-work/leased-rows.ts';
import type { PushContent } from '../message/message.ts';
import type { TransportDevice } from '../message/transport.ts';
import type { ChunkKey } from '../send/jobs.ts';

const RENEW_MS = 10_000;

/**
 * The condition of a chunk that is not finished. Not `finished_at is null`: Postgres would then use push_chunks_open_index and read the entries of
 * all chunks that were finished since the last vacuum, instead of using the primary key.
 */
export const IS_OPEN = 'num_nulls(finished_at) = 1';

const LEASES = leaseSql({
  table: 'push_chunks',
  fence: { push_id: 'text', chunk: 'int', attempts: 'int' },
  until: 'claimed_until',
  leaseSeconds: 30,
  open: IS_OPEN,
});
// Claims due chunks. Uses the primary key.
const CLAIM_CHUNKS = `
  with c as (${LEASES.claim(
    'unnest($1::text[], $2::int[]) k(push_id, chunk) join push_chunks c on c.push_id = k.push_id and c.chunk = k.chunk',
    `${IS_OPEN} and c.due_at <= now() + interval '50 milliseconds'
      and (c.claimed_until is null or c.claimed_until <= now())`,
    { set: 'unanswered = c.unanswered + 1', returning: 'c.*' },
  )})
  select c.push_id, c.chunk, c.attempts, c.transport, c.first_position, c.last_position, c.bulk, c.unanswered,
    p.created_at, p.expires_at, p.message
  from c join pushes p on p.id = c.push_id`;

// Selects devices without a final result. The token is null if the device changed users or lost its session since the push was stored, or
// if its user is no longer active.
const selectDueDevicesSql = (users: UserTable | undefined) => `
  select k.ord, r.position, r.device_id, r.platform, r.user_id, d.locale,
    coalesce(r.token, case when owner.active and (d.session_id is null or s.expires_at > now()) then d.token end),
    r.retry_at, coalesce(jsonb_array_length(r.earlier), 0) + (r.ok is not null)::int
  from unnest($1::text[], $2::int[], $3::int[]) with ordinality k(push_id, first, last, ord)
  join push_results r on r.push_id = k.push_id and r.position between k.first and k.last
  left join devices d on d.id = r.device_id and d.user_id = r.user_id
  left join sessions s on s.id = d.session_id
  ${activeOwnerJoinSql(users, 'r.user_id')}
  where r.ok is null or r.retry_at is not null
  order by k.ord, r.position`;

/** A device to send to. */
export interface ClaimedDevice {
  position: number;
  /** The token is null if the device is gone. */
  device: Omit<TransportDevice, 'token'> & { token: string | null };
  /** Number of earlier tries to send the push to the device. */
  tries: number;
}

/** A chunk of a push that this worker has claimed, with its message and its due devices. */
export interface ClaimedChunk extends ChunkKey {
  /** The number of the claim, used as fencing token: the worker with the highest number holds the chunk. */
  attempt: number;
  transport: string | null;
  bulk: boolean;
  /** Claims of the chunk since results were last stored, including this claim. */
  claimsSinceResult: number;
  message: PushContent;
  /** Epoch ms of the creation of the push. */
  createdAt: number;
  /** Epoch ms at which the push expires because of its `ttl`; undefined without a `ttl`. */
  expiresAt: number | undefined;
  /** The devices that are due. */
  devices: ClaimedDevice[];
  /** Epoch ms at which the next device is due that is not in `devices`. */
  nextDueAt: number | undefined;
  /** The `traceparent` that the job of the chunk continues. */
  trace?: string | undefined;
}

type ChunkRow = [
  string,
  number,
  number,
  string | null,
  number,
  number,
  boolean,
  number,
  string,
  string | null,
  PushContent,
];
type DeviceRow = [
  number,
  number,
  string | null,
  DevicePlatform,
  string | null,
  string | null,
  string | null,
  string | null,
  number,
];

/** Claims chunks for this worker. Returns no chunks that are finished, not due, deleted, or claimed by another worker. */
export type ClaimChunks = (database: Database, keys: readonly ChunkKey[]) => Promise<ClaimedChunk[]>;

/** Creates the function that claims due chunks of a push for this worker. @param users undefined in an app without accounts */
export function createChunkClaimer(users: UserTable | undefined): ClaimChunks {
  const devices = selectDueDevicesSql(users);
  return (database, keys) => claimChunksAndLoadDevices(database, keys, devices);
}

async function claimChunksAndLoadDevices(
  database: Database,
  keys: readonly ChunkKey[],
  devices: string,
): Promise<ClaimedChunk[]> {
  const claim = {
    name: 'push_claim',
    text: CLAIM_CHUNKS,
    values: [keys.map((key) => key.pushId), keys.map((key) => key.chunk)],
  };
  const rows = await retryWhileUnavailable(database, () => database.write<ChunkRow>(claim));
  if (rows.length === 0) return [];
  const chunks = rows.map(
    ([
      pushId,
      chunk,
      attempt,
      transport,
      ,
      ,
      bulk,
      claimsSinceResult,
      createdAt,
      expiresAt,
      message,
    ]): ClaimedChunk => ({
      pushId,
      chunk,
      attempt,
      transport,
      bulk,
      claimsSinceResult,
      message,
      createdAt: Date.parse(createdAt),
      expiresAt: expiresAt === null ? undefined : Date.parse(expiresAt),
      devices: [],
      nextDueAt: undefined,
    }),
  );
  const dueDevices = {
    name: 'push_unanswered',
    text: devices,
    values: [rows.map((row) => row[0]), rows.map((row) => row[4]), rows.map((row) => row[5])],
  };
  const waiting = await retryWhileUnavailable(database, () => database.read<DeviceRow>(dueDevices));
  const soon = Date.now() + 50;
  for (const [ord, position, id, platform, user, locale, token, retryAt, tries] of waiting) {
    const chunk = chunks[ord - 1]!;
    const at = retryAt === null ? 0 : Date.parse(retryAt);
    if (at <= soon) chunk.devices.push({ position, device: { id, platform, token, user, locale }, tries });
    else chunk.nextDueAt = Math.min(at, chunk.nextDueAt ?? at);
  }
  return chunks;
}

/** Extends the claims of chunks. Returns those that this worker still holds. */
export const renewClaims = (database: Database, chunks: readonly ClaimedChunk[]): Promise<ClaimedChunk[]> =>
  renewLeases(database, { name: 'push_renew', text: LEASES.renew }, chunks, ({ pushId, chunk, attempt }) => [
    ...[pushId, chunk, attempt],
  ]);

/** Creates the renewals of a worker's claims, so that no other worker claims its chunks while it lives. */
export function createClaimRenewals({
  database,
  log,
}: Pick<Platform, 'database' | 'log'>): LeaseRenewals<ClaimedChunk> {
  const renew = (chunks: readonly ClaimedChunk[]) => renewClaims(database, chunks);
  return createLeaseRenewals({ everyMs: RENEW_MS, what: 'push chunks', log, database, renew });
}
