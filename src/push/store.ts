import type { DevicePlatform } from '../accounts/devices/index.ts';
import type { PushResult } from '../declare/host.ts';
import type { Database, Executor } from '../platform/postgres/database.ts';
import type { ChunkKey } from './jobs.ts';
import type { PushContent } from './message.ts';
import type { Outcome } from './status.ts';
import type { Chunk } from './targets.ts';
import type { TransportDevice, TransportResult } from './transport.ts';

/** Longer than a call of a transport may take, so that two workers never send the same chunk while both live. */
const LEASE_SECONDS = 120;

// One statement, one commit: the push, its chunks, its devices.
const INSERT = `
  with p as (
    insert into pushes (id, message, status, devices, open_chunks, finished_at)
    values ($1, $2::jsonb, $3, cardinality($8::text[]), cardinality($4::int[]), case when $3 = 'queued' then null else now() end)
  ), c as (
    insert into push_chunks (push_id, chunk, transport, first_position, last_position)
    select $1, c.* from unnest($4::int[], $5::text[], $6::int[], $7::int[]) c
  )
  insert into push_results (push_id, position, platform, device_id, user_id, token, masked_token)
  select $1, r.ord - 1, r.platform, r.device_id, r.user_id, r.token, r.masked
  from unnest($8::text[], $9::text[], $10::text[], $11::text[], $12::text[])
    with ordinality r(platform, device_id, user_id, token, masked, ord)`;

// Who gets the row sends it; the others get the push with nulls.
const CLAIM = `
  with c as (
    update push_chunks set claimed_until = now() + interval '${LEASE_SECONDS} seconds'
    where push_id = $1 and chunk = $2 and finished_at is null and (claimed_until is null or claimed_until <= now())
    returning transport, first_position, last_position
  )
  select p.finished_at is not null, p.created_at, p.message - 'to' - 'deviceIds',
    c.transport, c.first_position, c.last_position
  from pushes p left join c on true where p.id = $1`;

// A device that left its user or lost its session since the send is not sent to: its token comes out null.
const UNANSWERED = `
  select r.position, r.device_id, r.platform, r.user_id, d.locale,
    coalesce(r.token, case when d.session_id is null or s.expires_at > now() then d.token end)
  from push_results r
  left join devices d on d.id = r.device_id and d.user_id = r.user_id
  left join sessions s on s.id = d.session_id
  where r.push_id = $1 and r.position between $2 and $3 and r.ok is null order by r.position`;

// The row lock of the push puts workers that finish its last chunks at the same moment one behind the other, so exactly one
// of them finds that no chunk is left. A chunk that is finished already changes nothing.
const FINISH = `
  with c as (
    update push_chunks set finished_at = now() where push_id = $1 and chunk = $2 and finished_at is null returning push_id
  ), a as (
    update push_results r set ok = n.ok, provider_id = n.provider_id, error = n.error, answered_at = now()
    from c, unnest($3::int[], $4::boolean[], $5::text[], $6::text[]) n(position, ok, provider_id, error)
    where r.push_id = c.push_id and r.position = n.position and r.ok is null returning r.ok
  ), t as (select count(*) filter (where ok) as accepted from a)
  update pushes p set open_chunks = p.open_chunks - 1, ok_devices = p.ok_devices + t.accepted,
    captured_devices = p.captured_devices + case when $7 then t.accepted else 0 end,
    finished_at = case when p.open_chunks = 1 then now() end,
    status = case when p.open_chunks > 1 then p.status
      when p.ok_devices + t.accepted = 0 then 'failed'
      when p.ok_devices + t.accepted < p.devices then 'partial'
      when p.captured_devices + case when $7 then t.accepted else 0 end = p.devices then 'captured'
      else 'sent' end
  from c, t where p.id = c.push_id
  returning p.finished_at is not null, p.status, p.devices`;

const READ = 'select status, devices, finished_at is not null from pushes where id = $1';
const RESULTS = `
  select device_id, coalesce(ok, false), provider_id, error from push_results where push_id = $1 order by position`;

/** What a worker needs of a push to send a chunk. */
export interface ClaimedChunk {
  message: PushContent;
  /** ISO 8601: when the push was made. */
  createdAt: string;
  transport: string | null;
  /** Devices without an answer. The token is null when the device is gone. */
  devices: { position: number; device: Omit<TransportDevice, 'token'> & { token: string | null } }[];
}

/** A device's answer, and where it stands. */
export interface Answer extends TransportResult {
  position: number;
}

/** Stores a push with its devices and chunks; without any it is finished as `no-devices`. */
export async function insertPush(
  database: Executor,
  id: string,
  message: Record<string, unknown>,
  chunks: readonly Chunk[],
): Promise<void> {
  const targets = chunks.flatMap((chunk) => chunk.targets);
  const first: number[] = [];
  const last: number[] = [];
  for (const { targets: own } of chunks) {
    first.push((last.at(-1) ?? -1) + 1);
    last.push(first.at(-1)! + own.length - 1);
  }
  const values = [
    id,
    JSON.stringify(message),
    targets.length === 0 ? 'no-devices' : 'queued',
    chunks.map((_, i) => i),
    chunks.map((chunk) => chunk.transport),
    first,
    last,
    targets.map((target) => target.platform),
    targets.map((target) => target.deviceId),
    targets.map((target) => target.userId),
    targets.map((target) => target.token),
    targets.map((target) => target.maskedToken),
  ];
  await database.write({ name: 'push_insert', text: INSERT, values });
}

/**
 * Claims a chunk for this worker.
 *
 * @returns the chunk; or, when it can't be had (answered, in another worker's hands, or removed), whether its push is finished
 */
export async function claimChunk(database: Database, { pushId, chunk }: ChunkKey): Promise<ClaimedChunk | boolean> {
  type Row = [boolean, string, PushContent, string | null, number | null, number | null];
  const rows = await database.write<Row>({ name: 'push_claim', text: CLAIM, values: [pushId, chunk] });
  const [finished = true, createdAt, message, transport, first, last] = rows[0] ?? [];
  if (message === undefined || createdAt === undefined || typeof first !== 'number') return finished;
  type Unanswered = [number, string | null, DevicePlatform, string | null, string | null, string | null];
  const waiting = await database.read<Unanswered>({
    name: 'push_unanswered',
    text: UNANSWERED,
    values: [pushId, first, last],
  });
  const devices = waiting.map(([position, id, platform, user, locale, token]) => ({
    position,
    device: { id, platform, token, user, locale },
  }));
  return { message, createdAt, transport: transport ?? null, devices };
}

/**
 * Stores the answers of a chunk, and the final status with those of the last.
 *
 * @param captured whether the accepted ones were recorded and not delivered
 * @returns the outcome when this call finished the push: for exactly one of the calls of a push
 */
export async function finishChunk(
  database: Database,
  { pushId, chunk }: ChunkKey,
  answers: readonly Answer[],
  captured: boolean,
): Promise<Outcome | undefined> {
  const values = [
    pushId,
    chunk,
    answers.map((answer) => answer.position),
    answers.map((answer) => answer.ok),
    answers.map((answer) => answer.id ?? null),
    answers.map((answer) => answer.error ?? null),
    captured,
  ];
  const rows = await database.write<[boolean, Outcome['status'], number]>({
    name: 'push_finish',
    text: FINISH,
    values,
  });
  const [finished, status, devices] = rows[0] ?? [];
  return finished ? { id: pushId, status: status!, devices: devices! } : undefined;
}

/** The result of a push as far as it is stored; undefined while devices are unanswered. */
export async function readResult(database: Database, id: string): Promise<PushResult | undefined> {
  const rows = await database.read<[PushResult['status'], number, boolean]>({
    name: 'push_read',
    text: READ,
    values: [id],
  });
  const [status, devices, finished] = rows[0] ?? [];
  if (!finished) return undefined;
  type Row = [string | null, boolean, string | null, string | null];
  const results = await database.read<Row>({ name: 'push_results', text: RESULTS, values: [id] });
  return {
    id,
    status: status!,
    devices: devices!,
    results: results.map(([device, ok, providerId, error]) => ({
      device,
      ok,
      ...(providerId === null ? {} : { id: providerId }),
      ...(error === null ? {} : { error }),
    })),
  };
}
