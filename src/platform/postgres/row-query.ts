import pg from 'pg';
// @ts-expect-error pg publishes no types of this module
import pgUtils from 'pg/lib/utils.js';
import { typeParsers } from './values.ts';

/** A statement as it is sent. */
interface SentStatement {
  name?: string | undefined;
  text: string;
  values: unknown[];
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
  parse(what: { text: string; name: string | undefined }): void;
  bind(what: { portal: string; statement: string | undefined; values: unknown[] }): void;
  describe(what: { type: 'P'; name: string }): void;
  execute(what: { portal: string; rows: number }): void;
  sync(): void;
  submittedNamedStatements: Record<string, string>;
}

const { prepareValue } = pgUtils as { prepareValue(value: unknown): string | Buffer | null };
const PgQuery = pg.Query as unknown as new (text: string) => QueryInternals;

/**
 * A statement whose rows are arrays. Unlike pg's own query, it does not ask Postgres to describe the columns of a statement that is prepared:
 * Postgres refuses to run a prepared statement whose columns have changed.
 */
class RowQuery extends PgQuery {
  readonly #prepared: Prepared | undefined;
  #conversions: Conversions | undefined;
  readonly found: unknown[][] = [];

  constructor({ name, text, values }: SentStatement, prepared: Prepared | undefined) {
    super(text);
    this.name = name;
    this.values = values;
    this.#prepared = prepared;
  }

  /** Finds out whether the columns are known. Call it right before the statement is sent. */
  protected findColumns(connection: ConnectionInternals): boolean {
    this.#conversions = this.name === undefined ? undefined : this.#prepared?.conversions.get(this.name);
    return this.#conversions !== undefined && this.hasBeenParsed(connection);
  }

  override prepare(connection: ConnectionInternals): void {
    super.prepare(this.findColumns(connection) ? this.#prepared!.undescribed : connection);
  }

  handleRowDescription({ fields }: { fields: readonly { dataTypeID: number }[] }): void {
    this.#conversions = fields.flatMap(({ dataTypeID }, column) =>
      TEXT_OIDS.has(dataTypeID) ? [] : [[column, typeParsers.getTypeParser(dataTypeID, 'text')] as const],
    );
    if (this.name !== undefined) this.#prepared?.conversions.set(this.name, this.#conversions);
  }

  handleDataRow({ fields }: { fields: unknown[] }): void {
    if (this._canceledDueToError) return;
    try {
      for (const [column, convert] of this.#conversions!) {
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

/** A named statement that runs once with each of several lists of values, in one transaction: only the last is followed by a Sync message. */
class RowQueryGroup extends RowQuery {
  readonly #lists: readonly (string | Buffer | null)[][];
  readonly results: unknown[][][] = [];

  constructor(statement: SentStatement, lists: readonly unknown[][], prepared: Prepared | undefined) {
    super(statement, prepared);
    // Before anything is sent, because a value that cannot be converted must not leave a part of the group behind.
    this.#lists = lists.map((values) => values.map(prepareValue));
  }

  override prepare(connection: ConnectionInternals): void {
    const isKnown = this.findColumns(connection);
    if (!this.hasBeenParsed(connection)) {
      connection.parse({ text: this.text, name: this.name });
      connection.submittedNamedStatements[this.name!] = this.text;
    }
    for (const [i, values] of this.#lists.entries()) {
      connection.bind({ portal: '', statement: this.name, values });
      if (i === 0 && !isKnown) connection.describe({ type: 'P', name: '' });
      connection.execute({ portal: '', rows: 0 });
    }
    connection.sync();
  }

  override handleCommandComplete(): void {
    this.results.push(this.found.splice(0));
  }
}

/** Sends statements on a connection. */
export interface RowQueries {
  /** Runs a statement and returns its rows as arrays. */
  run<Row extends unknown[]>(statement: SentStatement): Promise<Row[]>;
  /** Runs statements that have the same name in one transaction, and returns the rows of each when it is committed. */
  runGroup(statements: readonly SentStatement[]): Promise<unknown[][][]>;
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

  return {
    run: <Row extends unknown[]>(statement: SentStatement) =>
      send(new RowQuery(statement, prepared), ({ found }) => found as Row[]),
    runGroup: async (statements) => {
      const lists = statements.map(({ values }) => values);
      return send(new RowQueryGroup(statements[0]!, lists, prepared), ({ results }) => results);
    },
  };
}
