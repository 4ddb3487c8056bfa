import type { Statement } from '../../data/postgres/connection.ts';
import type { Executor } from '../../data/postgres/database.ts';
import type { OutboxRow } from './table.ts';

/** Runs after the work is committed, to add the jobs of the stored work. Must not throw. */
export type AfterCommit = () => Promise<void>;

/** Turns outbox rows, which describe events, into rows of work such as webhook deliveries. */
export interface OutboxConsumer {
  /** Whether the consumer turns this outbox row into work. */
  wants(row: OutboxRow): boolean;
  /** Whether this consumer runs after all others, because it takes a lock that other relays wait for. */
  last?: boolean;
  /** Stores the work of these rows in the relay's transaction. Called again with the same rows after a crash: be idempotent. */
  handle(rows: OutboxRow[], tx: Executor): Promise<AfterCommit | undefined>;
  /** Avoids the transaction if only a few rows wait and no other consumer wants them. */
  preparation?: Preparation;
}

/** How a consumer prepares the work of rows before they are claimed, so that one statement can claim the rows and store the work. */
interface Preparation {
  /** Whether the work of this row can be prepared. */
  canPrepare(row: OutboxRow): boolean;
  /**
   * Prepares the work of these rows. Must have no effects: another relay may prepare the same rows.
   *
   * @param executor runs statements outside a transaction
   * @returns undefined if the rows turn out to need a transaction: `handle` is called instead
   */
  prepare(rows: readonly OutboxRow[], executor: Executor): Promise<PreparedWork | undefined>;
}

/** Work that one statement stores. */
export interface PreparedWork {
  /**
   * The statement that stores the work; undefined if there is none. It must store only the work of events in the common table expression
   * `claimed (event_id)`: other relays process the others, or they have changed meanwhile. Each name must stand for one text. `also`: a
   * second statement with the same parameters.
   */
  statement: (Statement & { name: string; also?: string }) | undefined;
  /** Runs if at least one of the rows was claimed. */
  afterCommit?: AfterCommit;
}
