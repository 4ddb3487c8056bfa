import { createBatchedCall } from '../../helpers/concurrency/loader.ts';
import type { OnResult, PooledConnection, Statement } from './connection.ts';
import { convertValues } from './row-query.ts';

/** More statements in a group would keep the first of them waiting for longer than they save. */
const MAX_STATEMENTS = 16;
/** How many statements run alone after a refused group, so that writes that are refused, or that wait, do not make others run twice. */
const ALONE_AFTER_REFUSAL = 100;

/** What became of a statement: undefined if it must run alone. */
type Outcome = { rows: unknown[][]; ms: number } | undefined;

/** For how long it is known whether a table has triggers, in ms. */
const TRIGGERS_KNOWN_MS = 60_000;

/** The statements of one name. */
interface Group {
  run(statement: Statement): Promise<Outcome>;
  /** How many of the next statements run alone. */
  alone: number;
  /** Whether the table has triggers. */
  hasTriggers: Promise<boolean>;
  /** When that was looked up. */
  lookedUpAt: number;
}

/**
 * Creates the function that runs a statement in one transaction with those of its name that are sent in the same turn of the event loop. They share
 * a write to the socket and a commit, which cost more than the statements. If Postgres refuses one of them, or one has to wait for a lock, none has been
 * written, and each runs alone. So do statements on a table with triggers: these may be slow, catch the error of a lock that is not available, or keep
 * something for the transaction.
 *
 * Every statement must have a name and `sharesTransaction`.
 *
 * @param runAlone runs a statement in a transaction of its own, and reports its result
 * @param runTogether runs statements as `runGroup` of a connection
 * @param hasTriggers whether a table has triggers for new rows
 */
export function createWriteGroups(
  runAlone: (statement: Statement) => Promise<unknown[][]>,
  runTogether: PooledConnection['runGroup'],
  hasTriggers: (table: string) => Promise<boolean>,
  onResult: OnResult | undefined,
): (statement: Statement) => Promise<unknown[][]> {
  const groups = new Map<string, Group>();

  function createGroup(): Group {
    async function runAll(statements: readonly Statement[]): Promise<readonly Outcome[]> {
      if (statements.length === 1) return [undefined];
      const done = await runTogether(statements);
      if (done === 'refused') group.alone = ALONE_AFTER_REFUSAL;
      return statements.map((_, i) => (typeof done === 'string' ? undefined : { rows: done.results[i]!, ms: done.ms }));
    }
    const run = createBatchedCall(runAll, undefined, MAX_STATEMENTS);
    const group: Group = { run, alone: 0, hasTriggers: Promise.resolve(false), lookedUpAt: Number.NEGATIVE_INFINITY };
    return group;
  }

  async function mayShare(group: Group, table: string): Promise<boolean> {
    if (group.alone > 0) {
      group.alone -= 1;
      return false;
    }
    const now = performance.now();
    if (now - group.lookedUpAt > TRIGGERS_KNOWN_MS) {
      group.lookedUpAt = now;
      group.hasTriggers = hasTriggers(table).catch(() => {
        // What keeps Postgres from answering also affects the statement, which reports it.
        group.lookedUpAt = Number.NEGATIVE_INFINITY;
        return true;
      });
    }
    return !(await group.hasTriggers);
  }

  return async (statement) => {
    const group = groups.get(statement.name!) ?? createGroup();
    groups.set(statement.name!, group);
    if (await mayShare(group, statement.sharesTransaction!)) {
      // Here, so that a value that cannot be converted fails its own statement only.
      const outcome = await group.run({ ...statement, values: convertValues(statement.values) });
      if (outcome !== undefined) {
        onResult?.(statement.text, outcome.ms, outcome.rows.length);
        return outcome.rows;
      }
    }
    return runAlone(statement);
  };
}
