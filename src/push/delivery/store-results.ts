import type { DevicePlatform } from '../../accounts/devices/index.ts';
import type { Database } from '../../platform/data/postgres/database.ts';
import { plainArrayLiteral, textArrayLiteral } from '../../platform/data/postgres/values.ts';
import type { TransportResult } from '../message/transport.ts';
import { type Outcome, pushStatusSql } from '../send/status.ts';
import { type ClaimedChunk, IS_OPEN } from './claim-chunks.ts';

// Workers that finish chunks of the same push are serialized by locks on the push rows, taken in id order, so exactly one of them
// finds that no chunk is left. A worker that lost its claim meanwhile changes nothing.
const STORE_RESULTS = `
  with locked as (select id from pushes where id = any($1) order by id for update), h as (
    select g.*, c.answered_at is null as first
    from unnest($1::text[], $2::int[], $3::int[], $4::timestamptz[], $5::timestamptz[])
      with ordinality g(push_id, chunk, attempt, due_at, sent_at, ord)
    join push_chunks c on c.push_id = g.push_id and c.chunk = g.chunk
    where ${IS_OPEN} and c.attempts = g.attempt and (select count(*) from locked) > 0
    for update of c
  ), a as (
    update push_results r set ok = n.ok, provider_id = n.provider_id, error = n.error, retry_at = n.retry_at,
      sent_at = h.sent_at, answered_at = now(), earlier = case when r.ok is null then r.earlier else
        coalesce(r.earlier, '[]') || jsonb_build_object('sentAt', r.sent_at, 'answeredAt', r.answered_at, 'error', r.error,
          'retryAt', r.retry_at) end
    from h join unnest($6::int[], $7::int[], $8::boolean[], $9::text[], $10::text[], $11::timestamptz[])
      n(ord, position, ok, provider_id, error, retry_at) on n.ord = h.ord
    where r.push_id = h.push_id and r.position = n.position and (r.ok is null or r.retry_at is not null)
    returning r.push_id, r.ok
  ), k as (
    update push_chunks c set answered_at = coalesce(c.answered_at, now()), due_at = coalesce(h.due_at, c.due_at),
      finished_at = case when h.due_at is null then now() end, claimed_until = null, unanswered = 0
    from h where c.push_id = h.push_id and c.chunk = h.chunk
  ), s as (delete from push_gone where transport = $13 and exists (select from a where ok)), n as (
    select h.push_id, h.chunks, h.answered, coalesce(a.accepted, 0) as accepted from (
      select push_id, array_agg(ord::int) as chunks, (count(*) filter (where first))::int as answered from h group by push_id
    ) h left join (select push_id, (count(*) filter (where ok))::int as accepted from a group by push_id) a using (push_id)
  )
  update pushes p set open_chunks = p.open_chunks - n.answered, ok_devices = p.ok_devices + n.accepted,
    captured_devices = p.captured_devices + case when $12 then n.accepted else 0 end,
    finished_at = coalesce(p.finished_at, case when p.open_chunks = n.answered then now() end),
    status = ${pushStatusSql({
      open: '(p.open_chunks - n.answered)',
      devices: 'p.devices',
      ok: '(p.ok_devices + n.accepted)',
      captured: '(p.captured_devices + case when $12 then n.accepted else 0 end)',
    })}
  from n where p.id = n.push_id
  returning n.chunks, p.finished_at is not null and p.open_chunks = 0 and n.answered > 0, p.id, p.status, p.devices`;

/** The result of sending a push to one device. */
export interface DeviceResult extends TransportResult {
  position: number;
  deviceId: string | null;
  /** Hash and platform of a raw token that is no longer valid; otherwise null. */
  raw: { hash: string; platform: DevicePlatform } | null;
  /** Number of earlier tries to send the push to the device. */
  tries: number;
  /** Epoch ms of the next try; undefined if the result is final. */
  nextRetryAt: number | undefined;
}

/** The results of a chunk that was sent. */
export interface SentChunk {
  chunk: ClaimedChunk;
  results: readonly DeviceResult[];
  /** Epoch ms at which the chunk was passed to its transport. */
  sentAt: number;
  /** Epoch ms of the earliest next try of a device of the chunk; undefined without retries. */
  dueAt: number | undefined;
}

/** The effects of storing results. */
export interface StoredResults {
  /** The chunks whose claims this worker still held. */
  kept: SentChunk[];
  /** The pushes that these results finished. For each push, exactly one call of `storeResults` returns the outcome. */
  outcomes: Outcome[];
}

const toIsoTime = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());

/**
 * Stores the results of chunks of one transport in one statement, and the final status of pushes that are finished by them.
 *
 * @param options `captured`: whether accepted devices were captured instead of sent to; `transport`: null for none
 */
export async function storeResults(
  database: Database,
  chunks: readonly SentChunk[],
  { captured, transport }: { captured: boolean; transport: string | null },
): Promise<StoredResults> {
  const ords = chunks.flatMap(({ results }, i) => new Array<number>(results.length).fill(i + 1));
  const all = chunks.flatMap(({ results }) => results);
  const values = [
    chunks.map(({ chunk }) => chunk.pushId),
    chunks.map(({ chunk }) => chunk.chunk),
    chunks.map(({ chunk }) => chunk.attempt),
    chunks.map(({ dueAt }) => toIsoTime(dueAt)),
    chunks.map(({ sentAt }) => toIsoTime(sentAt)),
    plainArrayLiteral(ords),
    plainArrayLiteral(all.map((result) => result.position)),
    plainArrayLiteral(all.map((result) => result.ok)),
    textArrayLiteral(all.map((result) => result.id ?? null)),
    textArrayLiteral(all.map((result) => result.error ?? null)),
    plainArrayLiteral(all.map((result) => toIsoTime(result.nextRetryAt))),
    captured,
    transport,
  ];
  const rows = await database.write<[number[], boolean, string, Outcome['status'], number]>({
    name: 'push_answers',
    text: STORE_RESULTS,
    values,
  });
  return {
    kept: rows.flatMap(([ords]) => ords.map((ord) => chunks[ord - 1]!)),
    outcomes: rows.flatMap(([, finished, id, status, devices]) => (finished ? [{ id, status, devices }] : [])),
  };
}
