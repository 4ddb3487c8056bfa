import pg from 'pg';
// @ts-expect-error pg publishes no types of this module
import pgUtils from 'pg/lib/utils.js';
import { typeParsers } from './values.ts';

/** A statement as it is sent. */
interface SentStatement {
  name?: string | undefined;
  text: string;
  values: unknown[];
  copied?: string | undefined;
}

/** A value as it is sent. Buffers are sent as `bytea`. */
type SentValue = string | Buffer | null;

/** Converts values as pg does when it sends them. @throws the error of a value that cannot be converted */
export function convertValues(values: readonly unknown[]): SentValue[] {
  return values.map(prepareValue);
}

/** The columns of a result whose texts must be converted. */
type Conversions = readonly (readonly [column: number, convert: (text: string) => unknown])[];

/** What a connection knows about the statements that it has prepared. */
interface Prepared {
  /** Their conversions, by name. */
  conversions: Map<string, Conversions>;
  /** The connection, but without messages that ask Postgres to describe columns. */
  undescribed: ConnectionInternals;
}

// `text` and `varchar`: values are used as they are.
const TEXT_OIDS = new Set([25, 1043]);

/** Members of pg's query and connection that its types do not have. */
interface QueryInternals {
  name: string | undefined;
  text: string;
  values: unknown[];
  callback: (error: Error | null) => void;
  _canceledDueToError: unknown;
  hasBeenParsed(connection: ConnectionInternals): boolean;
  prepare(connection: ConnectionInternals): void;
}

interface ConnectionInternals {
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
  bind(what: { portal: string; statement: string | undefined; values: readonly unknown[] }): void;
  describe(what: unknown): void;
  execute(what: { portal: string; rows: number }): void;
  sync(): void;
}

const { prepareValue } = pgUtils as { prepareValue(value: unknown): SentValue };
const PgQuery = pg.Query as unknown as new (text: string) => QueryInternals;

/**
 * A statement whose rows are arrays. Unlike pg's own query, it does not ask Postgres to describe the columns of a statement that is prepared:
 * Postgres refuses to run a prepared statement whose columns have changed.
 */
class RowQuery extends PgQuery {
  readonly #prepared: Prepared | undefined;
  protected conversions: Conversions | undefined;
  readonly found: unknown[][] = [];

  constructor({ name, text, values }: SentStatement, prepared: Prepared | undefined) {
    super(text);
    this.name = name;
    this.values = values;
    this.#prepared = prepared;
  }

  override prepare(connection: ConnectionInternals): void {
    this.conversions = this.name === undefined ? undefined : this.#prepared?.conversions.get(this.name);
    const isKnown = this.conversions !== undefined && this.hasBeenParsed(connection);
    super.prepare(isKnown ? this.#prepared!.undescribed : connection);
  }

  handleRowDescription({ fields }: { fields: readonly { dataTypeID: number }[] }): void {
    this.conversions = fields.flatMap(({ dataTypeID }, column) =>
      TEXT_OIDS.has(dataTypeID) ? [] : [[column, typeParsers.getTypeParser(dataTypeID, 'text')] as const],
    );
    if (this.name !== undefined) this.#prepared?.conversions.set(this.name, this.conversions);
  }

  handleDataRow({ fields }: { fields: unknown[] }): void {
    if (this._canceledDueToError) return;
    try {
      for (const [column, convert] of this.conversions!) {
        const value = fields[column];
        if (value !== null) fields[column] = convert(value as string);
      }
      this.found.push(fields);
    } catch (error) {
      // pg then fails the statement when Postgres has sent all rows.
      this._canceledDueToError = error;
    }
  }

  handleCommandComplete(): void {}
}

/** A `copy … from stdin`. */
class CopyQuery extends RowQuery {
  readonly #rows: string;

  constructor(statement: SentStatement, rows: string) {
    super(statement, undefined);
    this.#rows = rows;
  }

  /** Called when Postgres waits for the rows. A pooler might not pass them on before. */
  handleCopyInResponse(connection: ConnectionInternals): void {
    connection.sendCopyFromChunk(Buffer.from(this.#rows));
    connection.endCopyFrom();
  }
}

// In one transaction, a statement that waits makes others wait. Before Postgres looks for a deadlock, which takes 1 s by default, the group gives up.
const GROUP_LIMITS: SentStatement = {
  name: 'belfry_group_limits',
  text: `select set_config('lock_timeout', '50ms', true), set_config('statement_timeout', '500ms', true)`,
  values: [],
};

/** A prepared statement that runs once with each of several lists of values, in one transaction: only the last is followed by a Sync message. */
class RowQueryGroup extends RowQuery {
  readonly #lists: readonly (readonly unknown[])[];
  /** Whether the limits are set. Their row is the first. */
  #isLimited = false;
  readonly results: unknown[][][] = [];

  constructor(statement: SentStatement, conversions: Conversions, lists: readonly (readonly unknown[])[]) {
    super(statement, undefined);
    this.conversions = conversions;
    this.#lists = lists;
  }

  override prepare(connection: ConnectionInternals): void {
    connection.bind({ portal: '', statement: GROUP_LIMITS.name, values: [] });
    connection.execute({ portal: '', rows: 0 });
    for (const values of this.#lists) {
      connection.bind({ portal: '', statement: this.name, values });
      connection.execute({ portal: '', rows: 0 });
    }
    connection.sync();
  }

  override handleDataRow(message: { fields: unknown[] }): void {
    if (this.#isLimited) super.handleDataRow(message);
  }

  override handleCommandComplete(): void {
    if (this.#isLimited) this.results.push(this.found.splice(0));
    this.#isLimited = true;
  }
}

/** Sends statements on a connection. */
export interface RowQueries {
  /** Runs a statement and returns its rows as arrays. */
  run<Row extends unknown[]>(statement: SentStatement): Promise<Row[]>;
  /**
   * Runs statements that have the same name in one transaction, and returns the rows of each when it is committed. Postgres refuses them if one takes
   * longer than 500 ms or waits for a lock for longer than 50 ms.
   *
   * @param statements with values of `convertValues`
   * @returns undefined if the statement has not been prepared
   */
  runGroup(statements: readonly SentStatement[]): Promise<unknown[][][] | undefined>;
}

/**
 * Creates the functions that send statements on a connection.
 *
 * @param isSession whether all statements of the connection run in one session; otherwise Postgres describes the columns of each result, because
 *   another session may have prepared the statement for other columns
 */
export function createRowQueries(client: pg.Client, isSession: boolean): RowQueries {
  const { connection } = client as unknown as { connection: ConnectionInternals };
  const undescribed = Object.assign(Object.create(connection) as ConnectionInternals, { describe: () => undefined });
  const prepared = isSession ? { conversions: new Map<string, Conversions>(), undescribed } : undefined;

  /** Sends a query, and returns what it has found when Postgres has answered it. */
  function send<Q extends RowQuery, T>(query: Q, read: (query: Q) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      query.callback = (error) => {
        if (error === null) resolve(read(query));
        else reject(error);
      };
      client.query(query as unknown as pg.Submittable);
    });
  }

  function run<Row extends unknown[]>(statement: SentStatement): Promise<Row[]> {
    const { copied } = statement;
    const query = copied === undefined ? new RowQuery(statement, prepared) : new CopyQuery(statement, copied);
    return send(query, ({ found }) => found as Row[]);
  }

  return {
    run,
    async runGroup(statements) {
      const conversions = prepared?.conversions.get(statements[0]!.name!);
      if (conversions === undefined) return undefined;
      if (!prepared!.conversions.has(GROUP_LIMITS.name!)) await run(GROUP_LIMITS);
      const lists = statements.map(({ values }) => values);
      const results = await send(new RowQueryGroup(statements[0]!, conversions, lists), (query) => query.results);
      if (results.length !== statements.length) throw new Error('Postgres has not answered every statement');
      return results;
    },
  };
}
