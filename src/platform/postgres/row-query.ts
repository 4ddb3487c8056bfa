import pg from 'pg';
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
  describe(what: unknown): void;
}

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

  override prepare(connection: ConnectionInternals): void {
    this.#conversions = this.name === undefined ? undefined : this.#prepared?.conversions.get(this.name);
    const isKnown = this.#conversions !== undefined && this.hasBeenParsed(connection);
    super.prepare(isKnown ? this.#prepared!.undescribed : connection);
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

/**
 * Creates the function that sends statements on a connection and returns their rows as arrays.
 *
 * @param isSession whether all statements of the connection run in one session; otherwise Postgres describes the columns of each result, because
 *   another session may have prepared the statement for other columns
 */
export function createRowQueries(
  client: pg.Client,
  isSession: boolean,
): <Row extends unknown[]>(statement: SentStatement) => Promise<Row[]> {
  const { connection } = client as unknown as { connection: ConnectionInternals };
  const undescribed = Object.assign(Object.create(connection) as ConnectionInternals, { describe: () => undefined });
  const prepared = isSession ? { conversions: new Map<string, Conversions>(), undescribed } : undefined;
  return <Row extends unknown[]>(statement: SentStatement) =>
    new Promise<Row[]>((resolve, reject) => {
      const query = new RowQuery(statement, prepared);
      query.callback = (error) => {
        if (error === null) resolve(query.found as Row[]);
        else reject(error);
      };
      client.query(query as unknown as pg.Submittable);
    });
}
