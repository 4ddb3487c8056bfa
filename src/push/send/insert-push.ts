import { type DevicePlatform, hashDeviceToken, maskToken } from '../../accounts/devices/index.ts';
import type { Executor } from '../../platform/data/postgres/database.ts';
import { plainArrayLiteral, textArrayLiteral } from '../../platform/data/postgres/values.ts';
import type { Logger } from '../../platform/observability/log.ts';
import type { Audience, PushMessage } from '../message/message.ts';
import { findTransport, type Transport, type TransportDevice } from '../message/transport.ts';
import type { AudienceCursor } from './audience.ts';

/** Maximum number of devices per chunk. FCM and APNs reach their best throughput at this size; a crash repeats at most one chunk's sends. */
const MAX_DEVICES_PER_CHUNK = 500;

/** A device of a push before it is stored. */
interface TargetDevice {
  deviceId: string | null;
  userId: string | null;
  platform: DevicePlatform;
  /** The raw token, null for a registered device. The same applies to `tokenHash`. */
  token: string | null;
  tokenHash: string | null;
  maskedToken: string;
}

/** A chunk of devices before it is stored. `transport` is null if no transport accepts these devices. */
export interface NewChunk {
  transport: string | null;
  targets: TargetDevice[];
}

function toTargetDevice({ id, user, platform, token }: TransportDevice): TargetDevice {
  return {
    deviceId: id,
    userId: user,
    platform,
    token: id === null ? token : null,
    tokenHash: id === null ? hashDeviceToken(token) : null,
    maskedToken: maskToken(platform, token),
  };
}

/** Groups devices by transport into chunks of at most 500. */
export function groupIntoChunks(
  devices: readonly TransportDevice[],
  transports: readonly Transport[],
  log: Logger,
): NewChunk[] {
  const byTransport = Map.groupBy(devices, (device) => findTransport(transports, device, log)?.name ?? null);
  const chunks: NewChunk[] = [];
  for (const [transport, accepted] of byTransport) {
    for (let at = 0; at < accepted.length; at += MAX_DEVICES_PER_CHUNK) {
      chunks.push({ transport, targets: accepted.slice(at, at + MAX_DEVICES_PER_CHUNK).map(toTargetDevice) });
    }
  }
  return chunks;
}

/** Common table expressions that store a page of chunks and their devices. Their parameters are `$1` (the push) and `$2` to `$14`. */
export const STORE_PAGE = `
  c as (
    insert into push_chunks (push_id, chunk, transport, first_position, last_position, bulk)
    select $1, c.chunk, c.transport, c.first_position, c.last_position, $2
    from unnest($3::int[], $4::text[], $5::int[], $6::int[]) c(chunk, transport, first_position, last_position)
  ), r as (
    insert into push_results (push_id, position, platform, device_id, user_id, token, token_hash, masked_token, device_name)
    select $1, r.position, r.platform, r.device_id, r.user_id, r.token, r.token_hash, r.masked, named.name
    from unnest($7::int[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[])
      r(position, platform, device_id, user_id, token, token_hash, masked)
    left join devices named on named.id = r.device_id
    where $14 or r.token_hash is null or not exists (
      select from devices d join push_results o on o.device_id = d.id and o.push_id = $1 where d.token_hash = r.token_hash
    )
    on conflict do nothing returning 1
  )`;

/** Where a page of a push's devices begins: the number of the page's first chunk and of its first device, counted over the whole push. */
interface PagePosition {
  firstChunk: number;
  firstPosition: number;
  /** Whether the page is part of a large audience. If so, small pushes are sent first. */
  bulk: boolean;
}

/** Creates the parameters `$2` to `$14` of `STORE_PAGE`. The first page of a push needs no check for duplicate devices. */
export function toStorePageValues(
  chunks: readonly NewChunk[],
  { firstChunk, firstPosition, bulk }: PagePosition,
): unknown[] {
  const targets = chunks.flatMap((chunk) => chunk.targets);
  const first: number[] = [];
  const last: number[] = [];
  for (const { targets: own } of chunks) {
    first.push((last.at(-1) ?? firstPosition - 1) + 1);
    last.push(first.at(-1)! + own.length - 1);
  }
  return [
    bulk,
    chunks.map((_, i) => firstChunk + i),
    chunks.map((chunk) => chunk.transport),
    first,
    last,
    plainArrayLiteral(targets.map((_, i) => firstPosition + i)),
    plainArrayLiteral(targets.map((target) => target.platform)),
    textArrayLiteral(targets.map((target) => target.deviceId)),
    textArrayLiteral(targets.map((target) => target.userId)),
    textArrayLiteral(targets.map((target) => target.token)),
    plainArrayLiteral(targets.map((target) => target.tokenHash)),
    textArrayLiteral(targets.map((target) => target.maskedToken)),
    firstPosition === 0,
  ];
}

// Inserts in one statement, so in one commit: the push, the chunks of its first devices and, if more devices follow, the audience.
const INSERT_PUSH = `
  with p as (
    insert into pushes (id, message, audience, status, devices, open_chunks, expires_at, finished_at)
    values ($1, $15::jsonb, $16::jsonb, $17, cardinality($8::text[]), $18, now() + $19 * interval '1 second',
      case when $17 = 'no-devices' then now() end)
  ), ${STORE_PAGE}`;
const INSERT_PUSH_AND_AUDIENCE = `${INSERT_PUSH}
  insert into push_audiences
    (push_id, user_ids, device_ids, tokens, platform, registered, raw, stage, done, after_device, next_chunk, next_position)
  values ($1, $20, $21, $22, $23, $24, $25, $26, $27, $28, cardinality($3::int[]), cardinality($8::text[]))`;

/** A push to insert. */
interface NewPush {
  id: string;
  message: PushMessage;
  /** The chunks of the first page of devices. */
  chunks: readonly NewChunk[];
  /** Where the second page of the audience starts; undefined if the first page holds the whole audience. */
  nextPage: AudienceCursor | undefined;
}

function toAudienceValues(
  { userIds, deviceIds, tokens, platform }: Audience,
  { stage, done, afterDevice }: AudienceCursor,
) {
  const registered = Math.max(userIds.length, deviceIds.length);
  return [userIds, deviceIds, tokens, platform, registered, tokens.length, stage, done, afterDevice];
}

/** Stores a push. A push without devices is finished at once, with status `no-devices`. */
export async function insertPush(database: Executor, { id, message, chunks, nextPage }: NewPush): Promise<void> {
  const open = chunks.length + (nextPage === undefined ? 0 : 1);
  const page = toStorePageValues(chunks, { firstChunk: 0, firstPosition: 0, bulk: nextPage !== undefined });
  const values = [
    id,
    ...page,
    JSON.stringify(message.content),
    JSON.stringify(message.given),
    open === 0 ? 'no-devices' : 'queued',
    open,
    message.content.ttl ?? null,
  ];
  if (nextPage === undefined) await database.write({ name: 'push_insert', text: `${INSERT_PUSH} select 1`, values });
  else {
    const all = [...values, ...toAudienceValues(message.audience, nextPage)];
    await database.write({ name: 'push_insert_large', text: INSERT_PUSH_AND_AUDIENCE, values: all });
  }
}
