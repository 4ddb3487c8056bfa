import type { Database } from '../../data/postgres/database.ts';

/** Returns the SQL condition that is true if a query finds a row. Postgres keeps the order of the query, and with it the index. */
export const findsRowSql = (query: string) => `exists (select from (${query}) found)`;

/** Checks SQL conditions, such as whether a table has overdue rows, all of them in one statement. */
export class Conditions {
  readonly #database: Pick<Database, 'write'>;
  readonly #text: string;
  /** By the position of the condition: ends the wait for it. */
  readonly #waiting: ((() => void) | undefined)[];

  /** @param conditions SQL expressions without parameters */
  constructor(database: Pick<Database, 'write'>, conditions: readonly string[]) {
    this.#database = database;
    this.#text = `select ${conditions.map((condition, i) => `($1::boolean[])[${i + 1}] and ${condition}`).join(', ')}`;
    this.#waiting = conditions.map(() => undefined);
  }

  /** Resolves when a later check finds that a condition is true. A second wait for the condition replaces the first, which never ends. */
  waitUntilTrue(position: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting[position] = resolve;
    });
  }

  /** Checks the conditions for which something waits. */
  async check(): Promise<void> {
    const awaited = this.#waiting.map((resolve) => resolve !== undefined);
    const [row] = await this.#database.write<boolean[]>({ name: 'relay_work', text: this.#text, values: [awaited] });
    for (const [position, isTrue] of row!.entries()) if (isTrue) this.#endWait(position);
  }

  /** Ends all waits. */
  assumeAllTrue(): void {
    for (const position of this.#waiting.keys()) this.#endWait(position);
  }

  #endWait(position: number): void {
    this.#waiting[position]?.();
    this.#waiting[position] = undefined;
  }
}
