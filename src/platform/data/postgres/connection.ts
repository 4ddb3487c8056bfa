import { Socket } from 'node:net';
import pg from 'pg';
import { createRowQueries, type RowQueries } from './row-query.ts';

/** A statement: text, values, and a name if it is used often enough to be prepared. Rows are returned as arrays in column order. */
export interface Statement {
  name?: string | undefined;
  text: string;
  values: unknown[];
  /** The maximum bytes of the rows of a list, approximately; undefined if unknown. Few lists of unknown size are read at a time. */
  maxBytes?: number | undefined;
  /**
   * The table to which the statement adds rows, as SQL, if it may run in one transaction with others of its name, see `createWriteGroups`: it adds rows
   * that no other statement waits for, such as rows without unique values, and returns them.
   */
  sharesTransaction?: string | undefined;
  /**
   * The rows of a `copy … from stdin` in its text format. Only in a transaction, without a name and values, and while it sends no
   * other statement: Postgres would read that as a row.
   */
  copied?: string | undefined;
}

const CLOSE_TIMEOUT_MS = 2000;
const GRACE_MS = 2000;

/** How statements are sent on a connection. */
interface ConnectionOptions {
  /** Whether named statements are prepared; otherwise every statement is sent without its name. */
  preparesStatements: boolean;
  /** The time limit that the session starts with. */
  timeoutMs: number;
  /** Whether settings of the session can be changed; otherwise `setTimeoutMs` applies to the detection of a hung server only. */
  ownsSession: boolean;
  /** Whether statements may be sent without waiting for the results of earlier ones. */
  pipelines: boolean;
  /** Startup parameters besides those that pg sends itself. */
  startup?: Readonly<Record<string, string>>;
  /** Called when an open connection is lost. */
  onLost: (error: Error) => void;
  onResult?: OnResult | undefined;
}

/**
 * Called with each statement when it has ended, in the async context of its caller: the ms since it was sent, and the number of its rows. It
 * must be cheap.
 */
export type OnResult = (text: string, ms: number, rows: number) => void;

const IGNORE_RESULT: OnResult = () => undefined;

/** Members of pg's client that its types do not have. */
interface ClientInternals extends pg.Client {
  processID: number | null;
  /** `parsedStatements`: the texts of the statements that Postgres has prepared, by name. */
  connection: pg.Connection & { parsedStatements: Readonly<Record<string, string>> };
  getStartupConf(): Record<string, string>;
}

/** Whether Postgres does not know the name of a statement, so that it has not run the statement. */
const isUnknownStatement = (error: unknown) => (error as { code?: string }).code === '26000';
/** Whether Postgres has not run a statement because a column that it returns has got another type since it was prepared. */
const isOutdatedStatement = (error: unknown) => (error as { routine?: string }).routine === 'RevalidateCachedQuery';
const isTransactionAborted = (error: unknown) => (error as { code?: string }).code === '25P02';

/** Replaces the stack of an error, which leads to the socket, by one that leads to the caller. */
function withCallerStack(error: unknown): unknown {
  if (error instanceof Error) Error.captureStackTrace(error);
  return error;
}

/** A connection as its pool manages it. Open one with `openConnection`. */
export class PooledConnection {
  /** The id of the session: announced by Postgres, or invented by a pooler. */
  announcedId: number | null = null;
  /** The number of statements without a result. */
  pending = 0;
  /** The error that ended the connection; undefined while it is usable. */
  lost: Error | undefined;
  /** The time limit of the statements of this session in ms. */
  timeoutMs: number;
  /** The time without a byte from the server after which a running statement counts as hung, beyond its own limit. */
  graceMs = GRACE_MS;
  /** How many statements callers that share the connection may have without a result; 1: each waits for the result of the one before. */
  readonly maxPending: number;
  /** Resolves when the socket is closed. */
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  readonly #client: ClientInternals;
  readonly #options: ConnectionOptions;
  readonly #onResult: OnResult;
  #queries!: RowQueries;
  /** The names that replace those of statements that could not be prepared. */
  readonly #newNames = new Map<string, string>();
  #renamed = 0;
  #closing = false;
  #silentMs = 0;
  #lastBytes = 0;

  constructor(client: ClientInternals, socket: Socket, options: ConnectionOptions) {
    this.timeoutMs = options.timeoutMs;
    this.maxPending = options.pipelines ? Number.POSITIVE_INFINITY : 1;
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
    this.#socket = socket;
    this.#client = client;
    this.#options = options;
    this.#onResult = options.onResult ?? IGNORE_RESULT;
    client.on('error', (error) => this.#onEnd(error));
    client.on('end', () => this.#onEnd(new Error('Connection terminated')));
  }

  /** Connects to the server. pg may report that the connection is lost before this resolves. */
  async connect(): Promise<void> {
    try {
      await this.#client.connect();
    } catch (error) {
      this.#closing = true;
      this.#socket.destroy();
      throw error;
    }
    this.announcedId = this.#client.processID;
    this.#queries = createRowQueries(this.#client, this.#options.ownsSession && this.#options.preparesStatements);
  }

  /** Whether statements of this turn of the event loop wait to leave together. */
  get isCorked(): boolean {
    return this.#socket.writableCorked > 0;
  }

  /** Runs a statement and returns its rows as arrays. */
  async run<Row extends unknown[]>(statement: Statement): Promise<Row[]> {
    const sentAt = performance.now();
    let rows: Row[] = [];
    try {
      rows = await this.#track(this.#send<Row>(statement));
    } catch (error) {
      // Either an earlier statement with the same name was sent at the same time and could not be prepared, or it is outdated. This one has not run.
      if (!isUnknownStatement(error) && !isOutdatedStatement(error)) throw withCallerStack(error);
      const { text, values } = statement;
      rows = await this.#track(this.#send<Row>({ text, values })).catch((second) => {
        throw isTransactionAborted(second) ? error : second;
      });
    } finally {
      this.#onResult(statement.text, performance.now() - sentAt, rows.length);
    }
    return rows;
  }

  /**
   * Runs statements that have the same name in one transaction, in one round trip, see `RowQueries`. Unlike other statements, they are not reported to
   * `onResult`, because each belongs to another caller. If Postgres refuses one of them, or none is prepared, nothing is written.
   */
  async runGroup(
    statements: readonly Statement[],
  ): Promise<{ results: unknown[][][]; ms: number } | 'refused' | 'unprepared'> {
    if (this.#newNames.has(statements[0]!.name!)) return 'unprepared';
    const sentAt = performance.now();
    try {
      const results = await this.#track(this.#queries.runGroup(statements));
      return results === undefined ? 'unprepared' : { results, ms: performance.now() - sentAt };
    } catch (error) {
      // An error that ends the session may follow a commit. After any other, nothing has been written, whatever its code.
      const isRefused =
        error instanceof pg.DatabaseError &&
        (await this.#track(this.#client.query('select 1').then(Boolean, () => false)));
      if (isRefused) return 'refused';
      throw withCallerStack(error);
    }
  }

  /**
   * Runs one or more statements without parameters, such as `begin`. Returns the command tag of the last one: Postgres answers a
   * `commit` with `ROLLBACK` if a statement of the transaction has failed.
   */
  async execute(text: string): Promise<string> {
    const sentAt = performance.now();
    try {
      const result: pg.QueryResult | pg.QueryResult[] = await this.#track(this.#client.query(text));
      return [result].flat().at(-1)!.command;
    } finally {
      this.#onResult(text, performance.now() - sentAt, 0);
    }
  }

  /** Runs a statement in a transaction of its own with this time limit, in one round trip. */
  async runLimited<Row extends unknown[]>(statement: Statement, timeoutMs: number): Promise<Row[]> {
    this.cork();
    const begun = this.#client.query(`begin; set local statement_timeout = ${timeoutMs}`);
    const result = this.#send<Row>(statement);
    const sentAt = performance.now();
    // Counts as one statement until the transaction has ended.
    const all = await this.#track(Promise.allSettled([result, begun, this.#client.query('commit')]));
    const [first] = all;
    this.#onResult(statement.text, performance.now() - sentAt, first.status === 'fulfilled' ? first.value.length : 0);
    for (const each of all) if (each.status === 'rejected') throw withCallerStack(each.reason);
    return result;
  }

  /** Sets the time limit of later statements of the session. */
  setTimeoutMs(timeoutMs: number): void {
    if (timeoutMs === this.timeoutMs) return;
    this.timeoutMs = timeoutMs;
    if (!this.#options.ownsSession) return;
    // Without its time limit the connection must not be used. Its later statements fail, too.
    this.execute(`set statement_timeout = ${timeoutMs}`).catch(() => this.close(true));
  }

  /** Makes the statements of this turn of the event loop leave in one socket write, which costs more than all other work for a read. */
  cork(): void {
    if (this.isCorked) return;
    this.#socket.cork();
    setImmediate(() => this.#socket.uncork());
  }

  /** Ends the connection if a statement is running and the server has been silent for too long. Call it about once a second. */
  checkSilence(elapsedMs: number): void {
    const { bytesRead } = this.#socket;
    const isSilent = this.pending > 0 && bytesRead === this.#lastBytes;
    this.#silentMs = isSilent ? this.#silentMs + elapsedMs : 0;
    this.#lastBytes = bytesRead;
    if (this.#silentMs > this.timeoutMs + this.graceMs)
      this.#socket.destroy(new Error('Connection terminated: the server has not responded in time'));
  }

  /** Closes the connection: in an orderly way, or at once if it is lost or `atOnce`. */
  close(atOnce = false): void {
    if (this.#closing && !atOnce) return;
    this.#closing = true;
    if (atOnce || this.lost !== undefined) {
      this.#socket.destroy();
      return;
    }
    const timer = setTimeout(() => this.#socket.destroy(), CLOSE_TIMEOUT_MS);
    void this.closed.then(() => clearTimeout(timer));
    void this.#client.end();
  }

  #onEnd(error: Error): void {
    if (this.lost !== undefined) return;
    this.lost = error;
    if (!this.#closing) this.#options.onLost(error);
  }

  async #track<T>(result: Promise<T>): Promise<T> {
    this.pending += 1;
    try {
      return await result;
    } finally {
      this.pending -= 1;
    }
  }

  async #send<Row extends unknown[]>(statement: Statement): Promise<Row[]> {
    const { name, text, values, copied } = statement;
    if (!this.#options.preparesStatements || name === undefined)
      return this.#queries.run<Row>({ text, values, copied });
    const usedName = this.#newNames.get(name) ?? name;
    try {
      return await this.#queries.run<Row>(usedName === name ? statement : { name: usedName, text, values });
    } catch (error) {
      const isParsed = this.#client.connection.parsedStatements[usedName] !== undefined;
      const isUsable = isParsed && !isUnknownStatement(error) && !isOutdatedStatement(error);
      // PgBouncer ends the connection of a client that prepares a name again, even if the name could not be prepared before.
      if (!isUsable && usedName === (this.#newNames.get(name) ?? name))
        this.#newNames.set(name, `${name}#${++this.#renamed}`);
      throw error;
    }
  }
}

/** Sends statements on one connection without waiting for the results of earlier ones. Postgres runs them in order. */
export type Connection = Pick<PooledConnection, 'run' | 'execute' | 'runLimited' | 'cork'>;

/** Opens a connection. */
export async function openConnection(config: pg.ClientConfig, options: ConnectionOptions): Promise<PooledConnection> {
  const socket = new Socket();
  const client = new pg.Client({ ...config, pipeline: true, stream: () => socket }) as ClientInternals;
  const ownParameters = client.getStartupConf();
  client.getStartupConf = () => ({ ...ownParameters, ...options.startup });
  const connection = new PooledConnection(client, socket, options);
  await connection.connect();
  return connection;
}
