import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../observability/log.ts';
import { type LogWork, startTimer } from '../observability/log-work.ts';
import { errorTypeOf, type Span, type Tracing } from '../observability/tracing.ts';
import { availabilityOf } from '../postgres/availability.ts';
import type { Database, Executor } from '../postgres/database.ts';
import { isConnectionError, isTransient } from '../postgres/errors.ts';
import type { RedisConnections } from '../redis/connections.ts';
import { OUTBOX_COLUMNS, type OutboxRow, type RawOutboxRow, toOutboxRow } from './table.ts';
import { wakeChannel } from './wake.ts';

/** Runs after the relay's transaction commits, to add the jobs of the stored work. Must not throw. */
export type AfterCommit = () => Promise<void>;

/** Turns outbox rows, which describe events, into rows of work such as webhook deliveries. */
export interface OutboxConsumer {
  /** Whether the consumer turns this outbox row into work. */
  wants(row: OutboxRow): boolean;
  /** Whether this consumer runs after all others, because it takes a lock that other relays wait for. */
  last?: boolean;
  /** Stores the work of these rows in the relay's transaction. Called again with the same rows after a crash: be idempotent. */
  handle(rows: OutboxRow[], tx: Executor): Promise<AfterCommit | undefined>;
}

/**
 * Periodic work of the relay, such as finding overdue rows or removing old ones. It runs in every relay, so it must be safe to run
 * concurrently.
 */
export interface Sweep {
  name: string;
  everyMs: number;
  /**
   * ms from the end of an outage of Postgres to the next run. Default: 3000, in which live workers store the results of their work and
   * renew their leases. Reclaiming the leases of dead workers may wait longer, because a live worker may be slow.
   */
  afterOutageMs?: number;
  /** Resolves with the number of rows handled. Runs that handled any rows are logged. */
  run(): Promise<number> | Promise<void>;
}

/**
 * Claims rows and removes them, both undone if the transaction fails. One statement instead of two saves a round trip for each batch. The
 * ids are computed first, so that the removal uses the primary key. The rows are returned in any order.
 */
const claimSql = (condition: string) => `
  delete from outbox where id = any(array(select id from outbox where ${condition} for update skip locked))
  returning ${OUTBOX_COLUMNS}`;
// Claims rows in the order of the primary key; locked rows belong to another stream or relay. $1 maximum number of rows, $2 id after which
// the search begins: see `createSearchStart`.
const CLAIM = claimSql('available_at <= now() and id > $2 order by id limit $1');
const CLAIM_ONE = claimSql('id = $1');
// Defers failed rows by 5 s, 10 s, 20 s, … up to an hour.
const DEFER = `
  update outbox set attempts = attempts + 1, error = $2,
    available_at = now() + least(5 * power(2, attempts), 3600) * interval '1 second'
  where id = any($1::bigint[])`;

const SWEEP_AFTER_OUTAGE_MS = 3000;

/**
 * Maximum ms between two searches of the whole outbox while claims find rows. A row that was deferred, or whose transaction committed more
 * than this time after inserting the row, may wait this long.
 */
const SEARCH_ALL_EVERY_MS = 1000;

/** Where the next claim begins to search the outbox. */
interface SearchStart {
  /**
   * Returns the id after which the next claim searches; 0 for the whole outbox.
   *
   * @param isEmpty whether the previous claim found nothing
   */
  next(isEmpty: boolean): number;
  /** Remembers the ids of claimed rows. */
  claimed(ids: readonly number[]): void;
}

/**
 * Lets claims begin behind the rows that were claimed a second ago. While another session holds an old snapshot, vacuum cannot remove
 * claimed rows, and a search from the start would visit all of them. Not directly behind the last claimed row: transactions do not commit
 * in the order of their ids.
 */
function createSearchStart(): SearchStart {
  let searchedAt = Number.NEGATIVE_INFINITY;
  let start = 0;
  let lastAtSearch = 0;
  let last = 0;
  return {
    next(isEmpty) {
      if (!isEmpty && performance.now() - searchedAt < SEARCH_ALL_EVERY_MS) return start;
      searchedAt = performance.now();
      start = lastAtSearch;
      lastAtSearch = last;
      return 0;
    },
    claimed(ids) {
      for (const id of ids) last = Math.max(last, id);
    },
  };
}

/** ms without progress, besides the wait between two checks, after which the relay counts as stuck. */
const STUCK_MS = 60_000;

/** A relay that is running. */
export interface RunningRelay {
  /** Finishes the batches in progress and stops. */
  stop(): Promise<void>;
  /** Whether the relay still claims outbox rows. False if it is stuck, for example in a consumer that never ends. */
  isRunning(): boolean;
}

interface RelayOptions {
  database: Database;
  /** Delivers the wake-ups. */
  redis: Pick<RedisConnections, 'subscribe'>;
  prefix: string;
  consumers: readonly OutboxConsumer[];
  sweeps: readonly Sweep[];
  log: Logger;
  logWork: LogWork;
  tracing: Tracing;
  settings: { pollMs: number; batch: number; streams: number };
}

/** Starts claiming outbox rows in batches, concurrently in a few streams, and running the sweeps. */
export function startRelay(options: RelayOptions): RunningRelay {
  const { database, log, logWork, settings, tracing } = options;
  const consumers = options.consumers.toSorted((a, b) => Number(a.last ?? false) - Number(b.last ?? false));
  const availability = availabilityOf(database);
  const stopping = new AbortController();
  const stopped = once(stopping.signal, 'abort');
  const searchStart = createSearchStart();
  let wakeUp: () => void = () => undefined;
  let woken = false;
  let progressedAt = performance.now();
  /** During an outage of Postgres and for a moment after it: resolves when sweeps may run again. */
  let sweepsHeldUp: Promise<void> | undefined;

  /**
   * Starts a span for each row that belongs to a recorded trace. Work that stores the row's `traceContext`, such as webhook deliveries,
   * continues that span.
   */
  function startRowSpans(rows: readonly OutboxRow[]): Span[] {
    return rows.flatMap((row) => {
      if (row.traceContext === null) return [];
      const span = tracing.startSpan({
        name: `relay ${row.name}`,
        kind: 'consumer',
        parent: row.traceContext,
        attributes: { 'belfry.event.name': row.name, 'belfry.event.id': row.eventId, 'belfry.batch.rows': rows.length },
      });
      if (span === undefined) return [];
      row.traceContext = span.traceparent ?? null;
      return [span];
    });
  }

  /** Runs the consumers in a transaction, with a span for each traced row. `rows` contains the claimed rows also if this rejects. */
  async function processClaimedRows(claim: (tx: Executor) => Promise<RawOutboxRow[]>, rows: OutboxRow[]) {
    let spans: Span[] = [];
    try {
      const afterCommits = await database.transaction(async (tx) => {
        rows.push(...(await claim(tx)).map(toOutboxRow).sort((a, b) => a.id - b.id));
        spans = startRowSpans(rows);
        return runConsumers(rows, tx);
      });
      await Promise.all(afterCommits.map((afterCommit) => afterCommit()));
      for (const span of spans) span.end();
    } catch (error) {
      for (const span of spans) span.end({ error: errorTypeOf(error) });
      throw error;
    }
  }

  async function runConsumers(rows: OutboxRow[], tx: Executor): Promise<AfterCommit[]> {
    const afterCommits: AfterCommit[] = [];
    for (const consumer of consumers) {
      const wanted = rows.filter((row) => consumer.wants(row));
      const afterCommit = wanted.length > 0 ? await consumer.handle(wanted, tx) : undefined;
      if (afterCommit !== undefined) afterCommits.push(afterCommit);
    }
    return afterCommits;
  }

  async function claimBatch(tx: Executor): Promise<RawOutboxRow[]> {
    const claimAfter = (id: number) =>
      tx.write<RawOutboxRow>({ name: 'outbox_claim', text: CLAIM, values: [settings.batch, id] });
    const start = searchStart.next(false);
    const claimed = await claimAfter(start);
    return claimed.length > 0 || start === 0 ? claimed : claimAfter(searchStart.next(true));
  }

  /** Claims and processes one batch of outbox rows. Returns the number of rows. */
  async function processBatch(): Promise<number> {
    const rows: OutboxRow[] = [];
    const elapsed = startTimer();
    progressedAt = performance.now();
    try {
      await processClaimedRows(claimBatch, rows);
      searchStart.claimed(rows.map(({ id }) => id));
      if (rows.length > 0)
        logWork('relay batch', { outcome: 'done', rows: rows.length, durationMs: elapsed() }, { sampled: true });
    } catch (error) {
      if (rows.length === 0) throw error;
      const line = { outcome: 'failed', rows: rows.length, durationMs: elapsed(), err: error };
      logWork('relay batch', line, { level: 'error' });
      // The rows have no part in an outage. They stay due, and the next batch claims them.
      if (isTransient(error) && !(await availability.isAvailable())) throw error;
      // A single row may have failed the whole batch, so retry the rows one by one.
      for (const row of rows) await retryOrDeferRow(row.id);
    }
    return rows.length;
  }

  /** Processes one outbox row again, and defers it if that fails: a row that no consumer can handle must not block other rows. */
  async function retryOrDeferRow(id: number): Promise<void> {
    progressedAt = performance.now();
    try {
      await processClaimedRows((tx) => tx.write({ text: CLAIM_ONE, values: [id] }), []);
    } catch (error) {
      if (isTransient(error) && !(await availability.isAvailable())) throw error;
      log.error({ err: error, outbox: id }, 'an outbox event could not be processed; it is deferred');
      await database.write({ text: DEFER, values: [[id], String(error).slice(0, 500)] });
    }
  }

  /** Waits for a wake-up or the stop, at most `ms`. Returns at once if a wake-up has arrived since the last wait. */
  async function waitForWakeUp(ms: number): Promise<void> {
    if (!woken && !stopping.signal.aborted) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        wakeUp = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    woken = false;
  }

  async function drainOutbox(): Promise<void> {
    const processFullBatches = async () => {
      while (!stopping.signal.aborted && (await processBatch()) === settings.batch);
    };
    // Try one batch first: while there is little to do, a second stream would find nothing.
    if ((await processBatch()) < settings.batch) return;
    await Promise.all(Array.from({ length: settings.streams }, processFullBatches));
  }

  const pause = (ms: number) => sleep(ms, undefined, { signal: stopping.signal }).catch(() => undefined);

  /** Holds up the sweeps until Postgres is available, and a moment longer. */
  async function holdUpSweeps(): Promise<void> {
    if (!(await availability.isAvailable())) await Promise.race([availability.waitUntilAvailable(), stopped]);
    await pause(SWEEP_AFTER_OUTAGE_MS);
    sweepsHeldUp = undefined;
  }

  /** If an error is part of an outage of Postgres, waits until the outage ends or the relay stops. Returns whether it was. */
  async function waitForOutageToEnd(error: unknown): Promise<boolean> {
    // The outage may be over already, but the leases of live workers may have expired in it.
    if (isConnectionError(error)) sweepsHeldUp ??= holdUpSweeps();
    if (!isTransient(error) || (await availability.isAvailable())) return false;
    sweepsHeldUp ??= holdUpSweeps();
    progressedAt = Number.POSITIVE_INFINITY;
    await Promise.race([availability.waitUntilAvailable(), stopped]);
    progressedAt = performance.now();
    return true;
  }

  async function runRelayLoop(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await drainOutbox();
        await waitForWakeUp(settings.pollMs);
      } catch (error) {
        log.error({ err: error }, 'the relay could not claim outbox events');
        if (!(await waitForOutageToEnd(error))) await pause(settings.pollMs);
      }
    }
  }

  async function repeatSweepUntilStopped(sweep: Sweep): Promise<void> {
    while (!stopping.signal.aborted) {
      const elapsed = startTimer();
      let isInterrupted = false;
      try {
        const rows = (await sweep.run()) ?? 0;
        if (rows > 0) logWork('sweep', { outcome: 'done', sweep: sweep.name, rows, durationMs: elapsed() });
      } catch (error) {
        const line = { outcome: 'failed', sweep: sweep.name, durationMs: elapsed(), err: error };
        logWork('sweep', line, { level: 'error' });
        isInterrupted = await waitForOutageToEnd(error);
      }
      if (!isInterrupted) await pause(sweep.everyMs);
      while (sweepsHeldUp !== undefined) {
        await sweepsHeldUp;
        await pause((sweep.afterOutageMs ?? SWEEP_AFTER_OUTAGE_MS) - SWEEP_AFTER_OUTAGE_MS);
      }
    }
  }

  const onWakeUp = () => {
    woken = true;
    wakeUp();
  };
  const wakeUps = options.redis.subscribe(wakeChannel(options.prefix), onWakeUp);
  // Wake-ups sent before the subscription are lost, so check once more.
  void wakeUps.started.then(onWakeUp);
  const running = Promise.all([runRelayLoop(), ...options.sweeps.map(repeatSweepUntilStopped)]);
  return {
    isRunning: () => performance.now() - progressedAt < settings.pollMs + STUCK_MS,
    async stop() {
      stopping.abort();
      wakeUp();
      await running;
      wakeUps.stop();
    },
  };
}
