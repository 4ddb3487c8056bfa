import { hashDeviceToken } from '../../accounts/devices/index.ts';
import type { Database } from '../../platform/data/postgres/database.ts';
import { createMicroBatch } from '../../platform/helpers/concurrency/micro-batch.ts';
import type { Logger } from '../../platform/observability/log.ts';
import { type Span, type Tracing, toErrorType } from '../../platform/observability/tracing.ts';
import type { LeaseRenewals } from '../../platform/work/leased-work/lease.ts';
import { addJitter, addPositiveJitter, getScheduledWait } from '../../platform/work/leased-work/retry-schedule.ts';
import {
  sendThroughTransport,
  type Transport,
  type TransportRequest,
  type TransportResult,
} from '../message/transport.ts';
import type { ChunkKey } from '../send/jobs.ts';
import type { ClaimChunks, ClaimedChunk, ClaimedDevice } from './claim-chunks.ts';
import { separateSendableDevices } from './prepare-devices.ts';
import type { DeviceResult, SentChunk } from './store-results.ts';

/** ms to wait before each retry of a device, if the provider does not ask for another wait. */
const RETRY_SCHEDULE_MS = [1000, 5000, 30_000, 120_000, 600_000];
/** FCM and Web Push keep no message longer: https://firebase.google.com/docs/cloud-messaging/concept-options#ttl */
const LONGEST_TTL_MS = 28 * 86_400_000;

/** A failed try to send a push to a device, which may be repeated. */
interface FailedTry {
  /** The number of tries so far, at least 1. */
  attempts: number;
  /** The wait in ms that the provider asks for. */
  retryAfterMs: number | undefined;
  /** Epoch ms of the creation of the push. */
  createdAt: number;
  /** Epoch ms at which the push expires because of its `ttl`; undefined without a `ttl`. */
  expiresAt: number | undefined;
}

/**
 * Returns when to retry a device, in epoch ms. Returns undefined if there is no further try: the schedule is used up, or the message
 * would have expired by then.
 *
 * @param now epoch ms
 * @param random from 0 to 1, spreads the retries
 */
export function nextRetryAt(
  { attempts, retryAfterMs, createdAt, expiresAt = createdAt + LONGEST_TTL_MS }: FailedTry,
  now: number,
  random: number,
): number | undefined {
  const wait = getScheduledWait(RETRY_SCHEDULE_MS, attempts);
  if (wait === undefined) return undefined;
  const at = now + (retryAfterMs === undefined ? addJitter(wait, random) : addPositiveJitter(retryAfterMs, random));
  return at < expiresAt ? at : undefined;
}

/** Maximum number of devices claimed together: the size of one call of a transport. */
const MAX_DEVICES_PER_CALL = 500;
/** Maximum number of devices that a sender has in progress: a few transport calls. It bounds how many results a crash can lose. */
const MAX_DEVICES_IN_PROGRESS = 2000;
/** Maximum number of chunks whose results are stored with one statement. */
const MAX_CHUNKS_PER_STORE = 100;

/** What a sender of chunks needs. */
interface ChunkSenderDependencies {
  database: Database;
  log: Logger;
  tracing: Tracing;
  claims: LeaseRenewals<ClaimedChunk>;
  claimChunks: ClaimChunks;
  handleResults(transport: string | null, chunks: readonly SentChunk[]): Promise<void>;
  /** Returns the transport with this name or, if there is none, the result for each device of its chunks. */
  getTransportOrResult(name: string | null): Transport | TransportResult;
}

/** The chunk of a job. `trace`: the `traceparent` that the job continues. */
type ChunkToClaim = ChunkKey & { size: number; trace?: string | undefined };

interface WaitingJob {
  key: ChunkToClaim;
  resolve(): void;
  reject(error: unknown): void;
}

const countResults = ({ results }: SentChunk) => ({
  'belfry.push.ok': results.filter(({ ok }) => ok).length,
  'belfry.push.failed': results.filter(({ ok }) => !ok).length,
});

const toKeyText = ({ pushId, chunk }: ChunkKey) => `${pushId} ${chunk}`;

function toDeviceResult(
  chunk: ClaimedChunk,
  { position, device, tries }: ClaimedDevice,
  result: TransportResult,
): DeviceResult {
  const { createdAt, expiresAt } = chunk;
  const failedTry = { attempts: tries + 1, retryAfterMs: result.retryAfterMs, createdAt, expiresAt };
  const retryTime = result.retryable === true ? nextRetryAt(failedTry, Date.now(), Math.random()) : undefined;
  const goneToken =
    result.unregistered && device.id === null && device.token !== null
      ? { hash: hashDeviceToken(device.token), platform: device.platform }
      : null;
  return { ...result, position, deviceId: device.id, raw: goneToken, tries, nextRetryAt: retryTime };
}

function findEarliestTime(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : known.reduce((a, b) => Math.min(a, b));
}

/**
 * Sends chunks of one transport. Returns a promise of the results of each chunk.
 *
 * @param target the transport or, if there is none, the result for each device
 */
function sendChunksThroughTransport(
  target: Transport | TransportResult,
  chunks: readonly ClaimedChunk[],
  log: Logger,
): Promise<SentChunk>[] {
  const sentAt = Date.now();
  const transport = 'send' in target ? target : undefined;
  const prepared = chunks.map((chunk) => ({ chunk, ...separateSendableDevices(chunk, transport, sentAt) }));
  const withSendable = prepared.filter(({ sendable }) => sendable.length > 0);
  const requests = withSendable.map(({ chunk: { pushId: id, message, expiresAt }, sendable }): TransportRequest => {
    const context = expiresAt === undefined ? { id } : { id, expiresAt };
    return { message, devices: sendable.map(({ device }) => device), context };
  });
  const promises =
    transport === undefined
      ? requests.map(({ devices }) => Promise.resolve(devices.map(() => target as TransportResult)))
      : sendThroughTransport(transport, requests, log);
  const resultsByChunk = new Map(withSendable.map(({ chunk }, i) => [chunk, promises[i]!]));
  return prepared.map(async ({ chunk, sendable, refused }) => {
    const sent = (await resultsByChunk.get(chunk)) ?? [];
    const results = [
      ...sendable.map(({ claimed }, i) => toDeviceResult(chunk, claimed, sent[i]!)),
      ...refused.map(({ claimed, result }) => toDeviceResult(chunk, claimed, result)),
    ];
    return {
      chunk,
      results,
      sentAt,
      dueAt: findEarliestTime([chunk.nextDueAt, ...results.map((one) => one.nextRetryAt)]),
    };
  });
}

function startChunkSpan(
  tracing: Tracing,
  { trace, transport, devices, pushId, attempt }: ClaimedChunk,
): Span | undefined {
  if (trace === undefined) return undefined;
  const attributes = {
    'belfry.push.id': pushId,
    'belfry.push.transport': transport ?? 'none',
    'belfry.push.devices': devices.length,
    'belfry.push.attempt': attempt,
  };
  return tracing.startSpan({ name: `push ${transport ?? 'none'}`, kind: 'client', parent: trace, attributes });
}

/**
 * Sends the chunks of one job queue. The sender claims waiting chunks together, passes all claimed chunks to the transport together, and collects
 * results while it stores earlier results. It uses no timer: a single chunk is sent at once.
 */
export class ChunkSender {
  readonly #parts: ChunkSenderDependencies;
  readonly #storeResults: (sentChunk: SentChunk) => Promise<void>;
  readonly #waiting: WaitingJob[] = [];
  readonly #jobsBeingSent = new Set<WaitingJob>();
  #devicesInProgress = 0;
  #claiming = false;
  #dropping = false;
  #abandoned = false;

  constructor(parts: ChunkSenderDependencies) {
    this.#parts = parts;
    this.#storeResults = createMicroBatch<SentChunk>(async (sentChunks) => {
      const byTransport = Map.groupBy(sentChunks, ({ chunk }) => chunk.transport);
      await Promise.all([...byTransport].map(([transport, own]) => parts.handleResults(transport, own)));
    }, MAX_CHUNKS_PER_STORE);
  }

  /** Sends a chunk, unless the chunk is finished or another worker has claimed it; resolves when its results are stored. */
  sendChunk(key: ChunkToClaim): Promise<void> {
    return new Promise((resolve, reject) => {
      // The job arrived from Redis after the worker began to stop.
      if (this.#dropping) return resolve();
      this.#waiting.push({ key, resolve, reject });
      void this.#claimAndSendWaitingJobs();
    });
  }

  /** Drops the chunks that are not claimed yet, and all chunks that arrive later. A sweep adds new jobs for them, for other workers. */
  dropUnclaimedChunks(): void {
    this.#dropping = true;
    for (const job of this.#waiting.splice(0)) job.resolve();
  }

  /** Stops waiting for results of the transport. The claims of the chunks expire, and other workers send them again. */
  abandonSends(): void {
    this.#abandoned = true;
    for (const job of this.#jobsBeingSent)
      job.reject(new Error('The worker stopped before the transport returned its results'));
  }

  async #claimAndSendWaitingJobs(): Promise<void> {
    if (this.#claiming) return;
    this.#claiming = true;
    while (this.#waiting.length > 0 && this.#devicesInProgress < MAX_DEVICES_IN_PROGRESS) {
      const batch = this.#takeWaitingJobs();
      try {
        await this.#claimAndSendChunks(batch);
      } catch (error) {
        for (const job of batch) job.reject(error);
      }
    }
    this.#claiming = false;
  }

  #takeWaitingJobs(): WaitingJob[] {
    let devices = 0;
    const end = this.#waiting.findIndex(({ key }, i) => {
      devices += key.size;
      return i > 0 && devices > MAX_DEVICES_PER_CALL;
    });
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end);
  }

  async #claimAndSendChunks(batch: readonly WaitingJob[]): Promise<void> {
    const { database, log, tracing, claims, claimChunks, getTransportOrResult } = this.#parts;
    const claimed = await claimChunks(
      database,
      batch.map(({ key }) => key),
    );
    // The worker has stopped waiting, so do not send the chunks: their results would not be stored.
    if (this.#abandoned) {
      for (const job of batch) job.resolve();
      return;
    }
    const byKey = new Map(claimed.map((chunk) => [toKeyText(chunk), chunk]));
    const jobByKey = new Map(batch.map((one) => [toKeyText(one.key), one]));
    for (const job of batch)
      if (!byKey.has(toKeyText(job.key)) || jobByKey.get(toKeyText(job.key)) !== job) job.resolve();
    for (const chunk of claimed) {
      this.#devicesInProgress += chunk.devices.length;
      claims.add(chunk);
      chunk.trace = jobByKey.get(toKeyText(chunk))!.key.trace;
    }
    for (const [name, chunks] of Map.groupBy(claimed, (chunk) => chunk.transport)) {
      const spans = chunks.map((chunk) => startChunkSpan(tracing, chunk));
      for (const [i, sending] of sendChunksThroughTransport(getTransportOrResult(name), chunks, log).entries()) {
        void this.#storeResultsAndFinishJob(sending, chunks[i]!, jobByKey.get(toKeyText(chunks[i]!))!, spans[i]);
      }
    }
  }

  async #storeResultsAndFinishJob(
    sending: Promise<SentChunk>,
    chunk: ClaimedChunk,
    job: WaitingJob,
    span: Span | undefined,
  ): Promise<void> {
    this.#jobsBeingSent.add(job);
    try {
      const sentChunk = await sending;
      span?.end({ attributes: countResults(sentChunk) });
      // `abandonSends` has already rejected the job, and the database may be closed.
      if (this.#abandoned) return;
      await this.#storeResults(sentChunk);
      job.resolve();
    } catch (error) {
      span?.end({ error: toErrorType(error) });
      job.reject(error);
    } finally {
      this.#jobsBeingSent.delete(job);
      this.#parts.claims.remove(chunk);
      this.#devicesInProgress -= chunk.devices.length;
      void this.#claimAndSendWaitingJobs();
    }
  }
}
