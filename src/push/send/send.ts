import type { FindDevices, TokenRule } from '../../accounts/devices/index.ts';
import type { PushResult, TransactionalPushSender } from '../../declare/push.ts';
import type { Database, Executor } from '../../platform/data/postgres/database.ts';
import { withTimeoutFallback } from '../../platform/helpers/concurrency/deadline.ts';
import { validationError } from '../../platform/helpers/errors.ts';
import { newId } from '../../platform/helpers/ids.ts';
import type { Platform } from '../../platform/platform.ts';
import { type PushContent, parsePushMessage } from '../message/message.ts';
import { messageSizeError, type Transport } from '../message/transport.ts';
import { FIRST_PAGE, lookUpAudiencePage, takeFirstPageEntries } from './audience.ts';
import type { FinishedSignals, PushWaiter } from './finished.ts';
import { groupIntoChunks, insertPush, type NewChunk } from './insert-push.ts';
import { AUDIENCE_QUEUE, createAudienceJob, enqueueChunks } from './jobs.ts';
import { emitPushOutcome } from './status.ts';

const SELECT_PROGRESS = `
  select status, devices, finished_at is not null, exists (select from push_audiences where push_id = $1)
  from pushes where id = $1`;
const SELECT_RESULTS = `
  select device_id, coalesce(ok, false), provider_id, error from push_results where push_id = $1 order by position`;

/** The progress of a push. */
interface PushProgress {
  status: PushResult['status'];
  /** Devices found so far. */
  devices: number;
  /** Whether every device was tried. */
  finished: boolean;
  /** Whether more devices may be found. */
  growing: boolean;
}

/** Reads the progress of a push; undefined if the push does not exist. */
async function readPushProgress(database: Database, id: string): Promise<PushProgress | undefined> {
  const [row] = await database.read<[PushResult['status'], number, boolean, boolean]>({
    name: 'push_read',
    text: SELECT_PROGRESS,
    values: [id],
  });
  if (row === undefined) return undefined;
  const [status, devices, finished, growing] = row;
  return { status, devices, finished, growing };
}

/** Reads the results of a push for its devices, in the order they were found. */
async function readDeviceResults(database: Database, id: string): Promise<PushResult['results']> {
  type Row = [string | null, boolean, string | null, string | null];
  const rows = await database.read<Row>({ name: 'push_results', text: SELECT_RESULTS, values: [id] });
  return rows.map(([device, ok, providerId, error]) => ({
    device,
    ok,
    ...(providerId === null ? {} : { id: providerId }),
    ...(error === null ? {} : { error }),
  }));
}

/**
 * Refuses a message that is too large for all of its devices. If some devices can receive it, it is sent to those.
 *
 * @throws ApiError VALIDATION_ERROR with the sizes
 */
function refuseOversizedMessage(
  message: PushContent,
  chunks: readonly NewChunk[],
  transports: readonly Transport[],
): void {
  const errors = new Set<string>();
  for (const { transport: name, targets } of chunks) {
    const transport = transports.find((one) => one.name === name);
    for (const platform of new Set(targets.map((target) => target.platform))) {
      const error = transport && messageSizeError(transport, message, platform);
      if (error === undefined) return;
      errors.add(error);
    }
  }
  if (errors.size === 0) return;
  throw validationError({
    [message.data === undefined ? 'body' : 'data']: `Must be smaller: ${[...errors].join('. ')}`,
  });
}

/** First pause in ms between polls for the result of a push. Polling is a safety net for lost announcements. */
const POLL_MS = 250;
const MAX_POLL_MS = 2000;
/** Maximum ms that `enqueue` waits for Redis. The push is already stored, and the sweep adds missing jobs. */
const ADD_JOBS_TIMEOUT_MS = 500;
/** `send` does not wait for the results of a push to more devices: it returns the status `queued` at once. */
const MAX_AWAITED_DEVICES = 10_000;

/** What the sender of pushes needs. */
type PushSenderDependencies = Pick<Platform, 'env' | 'settings' | 'log' | 'database' | 'queues' | 'events'>;

interface StoredPush {
  /** Devices found so far. */
  devices: number;
  /** Whether the push has, or may get, more devices than a send waits for. */
  large: boolean;
  /** Whether the push is finished at once, because it has no devices. */
  finished: boolean;
  /** Adds the jobs of the push, waiting at most `maxWaitMs` for Redis. For a push without devices, emits its outcome instead. */
  enqueueJobsOrEmitOutcome(maxWaitMs: number): Promise<void>;
}

/**
 * Creates `app.push.send` and `app.push.enqueue`.
 *
 * @param rule decides which raw tokens are accepted
 * @param findDevices looks up registered devices
 */
export function createPushSender(
  parts: PushSenderDependencies,
  transports: readonly Transport[],
  finishedSignals: FinishedSignals,
  rule: TokenRule,
  findDevices: FindDevices,
): TransactionalPushSender {
  const { env, settings, log, database, queues, events } = parts;
  const installed = new Set(transports.map((transport) => transport.name));
  const development = env.nodeEnv !== 'production';

  /** Stores a push with the first page of its devices. Workers look up the rest of a large audience. */
  async function storePush(id: string, input: unknown, executor: Executor): Promise<StoredPush> {
    const message = parsePushMessage(input, rule);
    const { audience, content } = message;
    const page = await lookUpAudiencePage(executor, takeFirstPageEntries(audience), FIRST_PAGE, {
      simulated: development,
      findDevices,
    });
    const chunks = groupIntoChunks(page.devices, transports, log);
    refuseOversizedMessage(content, chunks, transports);
    await insertPush(executor, { id, message, chunks, nextPage: page.next });
    const finished = page.devices.length === 0 && page.next === undefined;
    const bulk = page.next !== undefined;
    const jobs = chunks.map(({ transport, targets }, chunk) => ({
      pushId: id,
      chunk,
      transport,
      size: targets.length,
      bulk,
    }));
    return {
      devices: page.devices.length,
      large: audience.userIds.length + audience.deviceIds.length + audience.tokens.length > MAX_AWAITED_DEVICES,
      finished,
      async enqueueJobsOrEmitOutcome(maxWaitMs) {
        if (finished) return emitPushOutcome(events, { id, status: 'no-devices', devices: 0 });
        const adding = [enqueueChunks(queues, installed, jobs)];
        if (bulk) adding.push(queues.add(AUDIENCE_QUEUE, [createAudienceJob(id)]));
        await withTimeoutFallback(Promise.all(adding), maxWaitMs, undefined);
      },
    };
  }

  /** Waits for the result of a push. Returns the status `queued` at `until` (by `performance.now()`) or if the audience is too large. */
  async function waitForResult(id: string, waiter: PushWaiter, until: number): Promise<PushResult> {
    for (let pause = POLL_MS; ; pause = Math.min(2 * pause, MAX_POLL_MS)) {
      await waiter.waitUntilFinished(Math.min(pause, until - performance.now()));
      const { status, devices, finished, growing } = (await readPushProgress(database, id))!;
      const large = devices > MAX_AWAITED_DEVICES;
      if (finished && !large) return { id, status, devices, results: await readDeviceResults(database, id) };
      if (large || performance.now() >= until) return { id, status: 'queued', devices, results: [] };
      // Poll faster while the audience grows: the push may soon be too large to wait for.
      if (growing) pause = POLL_MS / 2;
    }
  }

  return {
    async send(input) {
      const id = newId();
      const until = performance.now() + settings.push.waitMs;
      const { devices, large, finished, enqueueJobsOrEmitOutcome } = await storePush(id, input, database);
      if (finished || large) {
        await enqueueJobsOrEmitOutcome(ADD_JOBS_TIMEOUT_MS);
        return { id, status: finished ? 'no-devices' : 'queued', devices, results: [] };
      }
      const waiter = finishedSignals.createWaiterFor(id);
      try {
        await waiter.waitUntilSubscribed(until - performance.now());
        await enqueueJobsOrEmitOutcome(until - performance.now());
        return await waitForResult(id, waiter, until);
      } catch (error) {
        // The push is stored and will be sent, so an unreadable result must not fail the call.
        log.warn({ err: error, push: id }, 'the result of a push could not be read');
      } finally {
        waiter.stop();
      }
      return { id, status: 'queued', devices, results: [] };
    },
    async enqueue(input) {
      const id = newId();
      const { enqueueJobsOrEmitOutcome } = await storePush(id, input, database);
      await enqueueJobsOrEmitOutcome(ADD_JOBS_TIMEOUT_MS);
      return { id };
    },
    async enqueueWithin(tx, input) {
      const id = newId();
      const { enqueueJobsOrEmitOutcome } = await storePush(id, input, tx.database);
      tx.afterCommit(() => enqueueJobsOrEmitOutcome(ADD_JOBS_TIMEOUT_MS));
      return { id };
    },
  };
}
