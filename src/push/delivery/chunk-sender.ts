import { type DevicePlatform, hashDeviceToken } from '../../accounts/devices/index.ts';
import type { Database } from '../../platform/data/postgres/database.ts';
import { createMicroBatch } from '../../platform/helpers/concurrency/micro-batch.ts';
import type { Logger } from '../../platform/observability/log.ts';
import { errorTypeOf, type Span, type Tracing } from '../../platform/observability/tracing.ts';
import type { LeaseRenewals } from '../../platform/work/leased-work/lease.ts';
import { addJitter, addPositiveJitter, getScheduledWait } from '../../platform/work/leased-work/retry-schedule.ts';
import {
  messageSizeError,
  sendThroughTransport,
  type Transport,
  type TransportDevice,
  type TransportRequest,
  type TransportResult,
} from '../message/transport.ts';
import type { ChunkKey } from '../send/jobs.ts';
import type { ClaimChunks, ClaimedChunk, ClaimedDevice } from './claim-chunks.ts';
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
interface ChunkSenderParts {
  database: Database;
  log: Logger;
  tracing: Tracing;
  claims: LeaseRenewals<ClaimedChunk>;
  claimChunks: ClaimChunks;
  handleResults(transport: string | null, chunks: readonly SentChunk[]): Promise<void>;
}

/** The chunk of a job. `trace`: the `traceparent` that the job continues. */
type ChunkToClaim = ChunkKey & { size: number; trace?: string | undefined };

/** Sends the chunks of one job queue. */
interface ChunkSender {
  /** Sends a chunk, unless the chunk is finished or another worker has claimed it; resolves when its results are stored. */
  sendChunk(key: ChunkToClaim): Promise<void>;
  /** Drops the chunks that are not claimed yet, and all chunks that arrive later. A sweep adds new jobs for them, for other workers. */
  dropUnclaimedChunks(): void;
  /** Stops waiting for results of the transport. The claims of the chunks expire, and other workers send them again. */
  abandonSends(): void;
}

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
 * Creates a sender of chunks. The sender claims waiting chunks together, passes all claimed chunks to the transport together, and collects
 * results while it stores earlier results. It uses no timer: a single chunk is sent at once.
 *
 * @param getTransportOrResult returns the transport with this name or, if there is none, the result for each device of its chunks
 */
export function createChunkSender(
  parts: ChunkSenderParts,
  getTransportOrResult: (name: string | null) => Transport | TransportResult,
): ChunkSender {
  const { database, log, tracing, claims, claimChunks, handleResults } = parts;
  const waiting: WaitingJob[] = [];
  const jobsBeingSent = new Set<WaitingJob>();
  let devicesInProgress = 0;
  let claiming = false;
  let dropping = false;
  let abandoned = false;

  const storeResultsInBatches = createMicroBatch<SentChunk>(async (sentChunks) => {
    const byTransport = Map.groupBy(sentChunks, ({ chunk }) => chunk.transport);
    await Promise.all([...byTransport].map(([transport, own]) => handleResults(transport, own)));
  }, MAX_CHUNKS_PER_STORE);

  /** Sends chunks of one transport. Returns a promise of the results of each chunk. */
  function sendChunksThroughTransport(name: string | null, chunks: readonly ClaimedChunk[]): Promise<SentChunk>[] {
    const sentAt = Date.now();
    const target = getTransportOrResult(name);
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
    const resultsOf = new Map(withSendable.map(({ chunk }, i) => [chunk, promises[i]!]));
    return prepared.map(async ({ chunk, sendable, refused }) => {
      const sent = (await resultsOf.get(chunk)) ?? [];
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

  function startChunkSpan({ trace, transport, devices, pushId, attempt }: ClaimedChunk): Span | undefined {
    if (trace === undefined) return undefined;
    const attributes = {
      'belfry.push.id': pushId,
      'belfry.push.transport': transport ?? 'none',
      'belfry.push.devices': devices.length,
      'belfry.push.attempt': attempt,
    };
    return tracing.startSpan({ name: `push ${transport ?? 'none'}`, kind: 'client', parent: trace, attributes });
  }

  async function storeResultsAndFinishJob(
    sending: Promise<SentChunk>,
    chunk: ClaimedChunk,
    job: WaitingJob,
    span: Span | undefined,
  ): Promise<void> {
    jobsBeingSent.add(job);
    try {
      const sentChunk = await sending;
      span?.end({ attributes: countResults(sentChunk) });
      // `abandonSends` has already rejected the job, and the database may be closed.
      if (abandoned) return;
      await storeResultsInBatches(sentChunk);
      job.resolve();
    } catch (error) {
      span?.end({ error: errorTypeOf(error) });
      job.reject(error);
    } finally {
      jobsBeingSent.delete(job);
      claims.remove(chunk);
      devicesInProgress -= chunk.devices.length;
      claimAndSendWaitingJobs();
    }
  }

  function takeWaitingJobs(): WaitingJob[] {
    let devices = 0;
    const end = waiting.findIndex(({ key }, i) => {
      devices += key.size;
      return i > 0 && devices > MAX_DEVICES_PER_CALL;
    });
    return waiting.splice(0, end === -1 ? waiting.length : end);
  }

  async function claimAndSendChunks(batch: readonly WaitingJob[]): Promise<void> {
    const claimed = await claimChunks(
      database,
      batch.map(({ key }) => key),
    );
    // The worker has stopped waiting, so do not send the chunks: their results would not be stored.
    if (abandoned) {
      for (const job of batch) job.resolve();
      return;
    }
    const byKey = new Map(claimed.map((chunk) => [toKeyText(chunk), chunk]));
    const jobByKey = new Map(batch.map((one) => [toKeyText(one.key), one]));
    for (const job of batch)
      if (!byKey.has(toKeyText(job.key)) || jobByKey.get(toKeyText(job.key)) !== job) job.resolve();
    for (const chunk of claimed) {
      devicesInProgress += chunk.devices.length;
      claims.add(chunk);
      chunk.trace = jobByKey.get(toKeyText(chunk))!.key.trace;
    }
    for (const [name, chunks] of Map.groupBy(claimed, (chunk) => chunk.transport)) {
      const spans = chunks.map(startChunkSpan);
      for (const [i, sending] of sendChunksThroughTransport(name, chunks).entries()) {
        void storeResultsAndFinishJob(sending, chunks[i]!, jobByKey.get(toKeyText(chunks[i]!))!, spans[i]);
      }
    }
  }

  async function claimAndSendWaitingJobs(): Promise<void> {
    if (claiming) return;
    claiming = true;
    while (waiting.length > 0 && devicesInProgress < MAX_DEVICES_IN_PROGRESS) {
      const batch = takeWaitingJobs();
      try {
        await claimAndSendChunks(batch);
      } catch (error) {
        for (const job of batch) job.reject(error);
      }
    }
    claiming = false;
  }

  return {
    sendChunk: (key) =>
      new Promise<void>((resolve, reject) => {
        // The job arrived from Redis after the worker began to stop.
        if (dropping) return resolve();
        waiting.push({ key, resolve, reject });
        void claimAndSendWaitingJobs();
      }),
    dropUnclaimedChunks() {
      dropping = true;
      for (const job of waiting.splice(0)) job.resolve();
    },
    abandonSends() {
      abandoned = true;
      for (const job of jobsBeingSent)
        job.reject(new Error('The worker stopped before the transport returned its results'));
    },
  };
}

/** Even a message with a `ttl` of only seconds gets a first try after a short wait in the queue. */
const FIRST_TRY_GRACE_MS = 60_000;

/** After this many lost workers, a chunk is given up, because the chunk itself most likely crashes them. */
const MAX_LOST_WORKERS = 4;

/** The devices of a chunk to pass to its transport, and the devices that are not sent to, each with its result. */
interface PreparedDevices {
  sendable: { claimed: ClaimedDevice; device: TransportDevice }[];
  refused: { claimed: ClaimedDevice; result: TransportResult }[];
}

/** Separates the devices to send to from those that are refused: the device is gone, or the message has expired or is too large. */
export function separateSendableDevices(
  chunk: ClaimedChunk,
  transport: Transport | undefined,
  now: number,
): PreparedDevices {
  const { message, expiresAt = Number.POSITIVE_INFINITY } = chunk;
  const sizes = new Map<DevicePlatform, string | undefined>();

  function findRefusalReason({ device, tries }: ClaimedDevice): string | undefined {
    if (device.token === null) return 'The device is no longer registered, or its user is not active';
    if (chunk.claimsSinceResult > MAX_LOST_WORKERS + 1) return 'Given up: every worker that tried to send it died';
    if (now > expiresAt + (tries === 0 ? FIRST_TRY_GRACE_MS : 0)) return 'Expired: its ttl ended before it was sent';
    if (transport === undefined) return undefined;
    if (!sizes.has(device.platform)) sizes.set(device.platform, messageSizeError(transport, message, device.platform));
    return sizes.get(device.platform);
  }

  const prepared: PreparedDevices = { sendable: [], refused: [] };
  for (const claimed of chunk.devices) {
    const error = findRefusalReason(claimed);
    if (error === undefined) prepared.sendable.push({ claimed, device: claimed.device as TransportDevice });
    else prepared.refused.push({ claimed, result: { ok: false, error } });
  }
  return prepared;
}
