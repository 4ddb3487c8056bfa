import { getOrCreateAvailability } from '../../data/postgres/availability.ts';
import type { Database, Executor } from '../../data/postgres/database.ts';
import { isTransient } from '../../data/postgres/errors.ts';
import { SNAPSHOT } from '../../data/postgres/settled.ts';
import { deleteUnlockedSql } from '../../data/postgres/write-in-batches.ts';
import type { Logger } from '../../observability/log.ts';
import { type LogWork, startTimer } from '../../observability/log-work.ts';
import { type Span, type Tracing, toErrorType } from '../../observability/tracing.ts';
import { findsRowSql } from './conditions.ts';
import type { AfterCommit, OutboxConsumer, PreparedWork } from './consumer.ts';
import { createSearchStart } from './search-start.ts';
import { OUTBOX_COLUMNS, type OutboxRow, type RawOutboxRow, toOutboxRow } from './table.ts';

/**
 * Whether a row is due. Times are stored in whole ms, rounded to the nearest, so a row that was just inserted may be due half a millisecond
 * before its own time. A search that overlooked it would find nothing, and no other wake-up follows.
 */
const IS_DUE = `available_at <= now() + interval '1 millisecond'`;
/** The condition that rows are due. */
export const HAS_DUE_ROWS = findsRowSql(`select from outbox where ${IS_DUE} order by id limit 1`);
/**
 * The rows to process next, in the order of the primary key. $1 maximum number of rows, $2 id after which the search begins: see
 * `createSearchStart`.
 */
const NEXT = `${IS_DUE} and id > $2 order by id limit $1`;
/**
 * Claims rows and removes them, both undone if the transaction fails. One statement instead of two saves a round trip for each batch. Locked
 * rows belong to another stream or relay. The rows are returned in any order.
 */
const claimSql = (condition: string) => deleteUnlockedSql('outbox', condition, `${OUTBOX_COLUMNS}, ${SNAPSHOT}`);
const CLAIM = claimSql(NEXT);
const CLAIM_ONE = claimSql(`id = $1 and ${IS_DUE}`);
/** Reads rows without claiming them. The last column is the version of the row, which changes with each update. */
const READ = `select ${OUTBOX_COLUMNS}, ${SNAPSHOT}, xmin from outbox where ${NEXT}`;
// Defers failed rows by 5 s, 10 s, 20 s, … up to an hour.
const DEFER = `
  update outbox set attempts = attempts + 1, error = $2,
    available_at = now() + least(5 * power(2, attempts), 3600) * interval '1 second'
  where id = any($1::bigint[])`;

/**
 * Claims rows that were read with `READ`, removes them and stores their work. Rows that another relay has locked, or that have changed since,
 * are left alone. Returns the claimed rows.
 *
 * @param store statements with `parameters` parameters; two more follow: the ids and the versions of the rows
 */
const claimAndStoreSql = (store: readonly (string | undefined)[], parameters: number) => `
  with claimed as (
    delete from outbox where id = any(array(
      select o.id from unnest($${parameters + 1}::bigint[], $${parameters + 2}::xid[]) as read(id, version) join outbox o on o.id = read.id
      where o.xmin = read.version order by o.id for update of o skip locked))
    returning id, event_id
  )${store.map((text, i) => (text === undefined ? '' : `, stored${i} as (${text})`)).join('')}
  select id from claimed`;

/** Maximum number of rows that are processed without a transaction. For more rows a transaction costs little, and prepared work is held in memory. */
const FEW_ROWS = 16;

/**
 * ms for which a relay uses transactions after another relay was faster to claim the rows that it had prepared. Transactions skip rows that
 * another relay has locked, so at most one relay prepares rows most of the time.
 */
const TRANSACTIONS_AFTER_LOSS_MS = 1000;

/** A row that a search has found, with the snapshot of the search. */
type FoundRow = [...RawOutboxRow, snapshot: string];

const readPosition = (row: FoundRow | [...FoundRow, string]) => ({ id: row[0], snapshot: row[10] });

const sortRows = (rows: readonly FoundRow[]) => rows.map((row) => toOutboxRow(row)).sort((a, b) => a.id - b.id);

/** Processes outbox rows. */
export interface Batches {
  /** Claims and processes a batch of rows in a transaction. Returns the number of rows. */
  processBatch(): Promise<number>;
  /**
   * Like `processBatch`, but without a transaction if only a few rows wait and at most one consumer wants them. At low rates this takes half of
   * the statements.
   */
  processFewRowsOrBatch(): Promise<number>;
}

interface BatchOptions {
  database: Database;
  consumers: readonly OutboxConsumer[];
  log: Logger;
  logWork: LogWork;
  tracing: Tracing;
  /** Maximum number of rows of a batch. */
  batch: number;
  /** Called when the processing of rows begins. */
  onProgress: () => void;
}

/**
 * Starts a span for each row that belongs to a recorded trace. Work that stores the row's `traceContext`, such as webhook deliveries,
 * continues that span.
 */
function startRowSpans(tracing: Tracing, rows: readonly OutboxRow[]): Span[] {
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

/** Runs `work` with a span for each traced row. @param work calls `startSpans` when it knows the rows */
async function runWithRowSpans<T>(
  tracing: Tracing,
  work: (startSpans: (rows: readonly OutboxRow[]) => void) => Promise<T>,
): Promise<T> {
  const spans: Span[] = [];
  try {
    const result = await work((rows) => spans.push(...startRowSpans(tracing, rows)));
    for (const span of spans) span.end();
    return result;
  } catch (error) {
    for (const span of spans) span.end({ error: toErrorType(error) });
    throw error;
  }
}

async function runConsumers(
  consumers: readonly OutboxConsumer[],
  rows: readonly OutboxRow[],
  tx: Executor,
): Promise<AfterCommit[]> {
  const afterCommits: AfterCommit[] = [];
  for (const consumer of consumers) {
    const wanted = rows.filter((row) => consumer.wants(row));
    const afterCommit = wanted.length > 0 ? await consumer.handle(wanted, tx) : undefined;
    if (afterCommit !== undefined) afterCommits.push(afterCommit);
  }
  return afterCommits;
}

/** Returns the function that prepares the work of these rows; undefined if they need a transaction. */
function findPreparation(
  consumers: readonly OutboxConsumer[],
  rows: readonly OutboxRow[],
): ((executor: Executor) => Promise<PreparedWork | undefined>) | undefined {
  const wanting = consumers.filter((consumer) => rows.some((row) => consumer.wants(row)));
  const [consumer] = wanting;
  if (consumer === undefined) return async () => ({ statement: undefined });
  const wanted = rows.filter((row) => consumer.wants(row));
  const { preparation } = consumer;
  if (wanting.length > 1 || preparation === undefined) return undefined;
  return wanted.every((row) => preparation.canPrepare(row))
    ? (executor) => preparation.prepare(wanted, executor)
    : undefined;
}

/** Claims rows that were read before, and stores their work. Returns the rows that were claimed. */
async function claimAndStore(
  rows: readonly OutboxRow[],
  versions: readonly string[],
  { statement }: PreparedWork,
  executor: Executor,
) {
  const { name = 'nothing', text, also, values = [] } = statement ?? {};
  const claimed = await executor.write<[number]>({
    name: `outbox_claim_${name}`,
    text: claimAndStoreSql([text, also], values.length),
    values: [...values, rows.map(({ id }) => id), versions],
  });
  const ids = new Set(claimed.map(([id]) => id));
  return rows.filter(({ id }) => ids.has(id));
}

/** What the processing of rows needs. */
type Processing = Pick<BatchOptions, 'database' | 'tracing' | 'consumers'>;

/** Claims rows and runs the consumers in a transaction. `rows` contains the claimed rows also if this rejects. */
function processInTransaction(
  { database, tracing, consumers }: Processing,
  claim: (tx: Executor) => Promise<FoundRow[]>,
  rows: OutboxRow[],
): Promise<void> {
  return runWithRowSpans(tracing, async (startSpans) => {
    const afterCommits = await database.transaction(async (tx) => {
      rows.push(...sortRows(await claim(tx)));
      startSpans(rows);
      return runConsumers(consumers, rows, tx);
    });
    await Promise.all(afterCommits.map((afterCommit) => afterCommit()));
  });
}

/** Prepares the work of rows that were read, and stores it. Returns the claimed rows; undefined if the rows need a transaction. */
async function prepareAndStore(
  { database, tracing, consumers }: Processing,
  rows: readonly OutboxRow[],
  versions: readonly string[],
): Promise<OutboxRow[] | undefined> {
  const prepare = findPreparation(consumers, rows);
  if (prepare === undefined) return undefined;
  return runWithRowSpans(tracing, async (startSpans) => {
    startSpans(rows);
    const stored = await database.withConnection(async (executor) => {
      const work = await prepare(executor);
      return work && { work, claimed: await claimAndStore(rows, versions, work, executor) };
    });
    if (stored === undefined) return undefined;
    if (stored.claimed.length > 0) await stored.work.afterCommit?.();
    return stored.claimed;
  });
}

const claimRows = (tx: Executor, limit: number, after: number) =>
  tx.write<FoundRow>({ name: 'outbox_claim', text: CLAIM, values: [limit, after] });

const readFewRows = (executor: Executor, after: number) =>
  executor.write<[...FoundRow, version: string]>({
    name: 'outbox_read',
    text: READ,
    values: [FEW_ROWS + 1, after],
  });

/** Creates the functions that claim outbox rows and pass them to the consumers. */
export function createBatches(options: BatchOptions): Batches {
  const { database, log, logWork, tracing, batch, onProgress } = options;
  const consumers = options.consumers.toSorted((a, b) => Number(a.last ?? false) - Number(b.last ?? false));
  const processing = { database, tracing, consumers };
  const availability = getOrCreateAvailability(database);
  const searchStart = createSearchStart();
  const findToClaim = (tx: Executor) => searchStart.find(tx, (after) => claimRows(tx, batch, after), readPosition);
  /** When another relay last claimed rows that this one had prepared, or a row changed meanwhile. */
  let lostAt = Number.NEGATIVE_INFINITY;

  /** Runs `process`, and retries its rows one by one if it fails. @param process adds the rows that it processes to `rows` */
  async function processOrRetry(process: (rows: OutboxRow[]) => Promise<void>): Promise<number> {
    const rows: OutboxRow[] = [];
    const elapsed = startTimer();
    onProgress();
    try {
      await process(rows);
      searchStart.noteProcessed(rows);
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
    onProgress();
    try {
      await processInTransaction(processing, (tx) => tx.write({ text: CLAIM_ONE, values: [id] }), []);
    } catch (error) {
      if (isTransient(error) && !(await availability.isAvailable())) throw error;
      log.error({ err: error, outbox: id }, 'an outbox event could not be processed; it is deferred');
      await database.write({ text: DEFER, values: [[id], String(error).slice(0, 500)] });
    }
  }

  const processBatch = () =>
    processOrRetry((rows) => processInTransaction(processing, async (tx) => (await findToClaim(tx)).rows, rows));

  async function processFewRowsOrBatch(): Promise<number> {
    if (performance.now() - lostAt < TRANSACTIONS_AFTER_LOSS_MS) return processBatch();
    onProgress();
    const { rows: read, after } = await database.withConnection((executor) =>
      searchStart.find(executor, (start) => readFewRows(executor, start), readPosition),
    );
    if (read.length === 0) return 0;
    const found = read.map((row) => toOutboxRow(row));
    const versions = read.map((row) => row.at(-1) as string);
    let needsTransaction = read.length > Math.min(FEW_ROWS, batch);
    let count = 0;
    if (!needsTransaction) {
      count = await processOrRetry(async (rows) => {
        rows.push(...found);
        const claimed = await prepareAndStore(processing, found, versions);
        // Rows that were not claimed may have changed, and wait for this relay.
        needsTransaction = claimed === undefined || claimed.length < found.length;
        if (claimed !== undefined && needsTransaction) lostAt = performance.now();
        rows.splice(0, rows.length, ...(claimed ?? []));
      });
      if (!needsTransaction) return count;
    }
    return (
      count +
      (await processOrRetry((rows) => processInTransaction(processing, (tx) => claimRows(tx, batch, after), rows)))
    );
  }

  return { processBatch, processFewRowsOrBatch };
}
