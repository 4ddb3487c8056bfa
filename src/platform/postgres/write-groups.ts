import { createBatchedCall } from '../concurrency/loader.ts';
import type { OnResult, PooledConnection, Statement } from './connection.ts';
import { isRefused } from './errors.ts';
import { convertValues } from './row-query.ts';

/** More statements in a group would keep the first of them waiting for longer than they save. */
const MAX_STATEMENTS = 16;
/** How many statements run alone after a refused group, so that writes that are refused, or that wait, do not make others run twice. */
const ALONE_AFTER_REFUSAL = 100;

/** What became of a statement: undefined if it must run alone. */
type Outcome = { rows: unknown[][]; ms: number } | undefined;

/** The statements of one name. */
interface Group {
  run(statement: Statement): Promise<Outcome>;
  /** How many of the next statements run alone. */
  alone: number;
}

/**
 * Creates the function that runs a statement in one transaction with those of its name that are sent in the same turn of the event loop. They share
 * a write to the socket and a commit, which cost more than the statements. If Postgres refuses one of them, or one has to wait for a lock, none has been
 * written, and each runs alone.
 *
 * Every statement must have a name and `sharesTransaction`.
 *
 * @param runAlone runs a statement in a transaction of its own, and reports its result
 * @param runTogether runs statements as `runGroup` of a connection
 */
export function createWriteGroups(
  runAlone: (statement: Statement) => Promise<unknown[][]>,
  runTogether: PooledConnection['runGroup'],
  onResult: OnResult | undefined,
): (statement: Statement) => Promise<unknown[][]> {
  const groups = new Map<string, Group>();

  function createGroup(): Group {
    async function runAll(statements: readonly Statement[]): Promise<readonly Outcome[]> {
      if (statements.length === 1) return [undefined];
      try {
        const done = await runTogether(statements);
        return statements.map((_, i) => done && { rows: done.results[i]!, ms: done.ms });
      } catch (error) {
        // Without an answer from Postgres, the transaction may have been committed.
        if (!isRefused(error)) throw error;
        group.alone = ALONE_AFTER_REFUSAL;
        return statements.map(() => undefined);
      }
    }
    const group: Group = { run: createBatchedCall(runAll, undefined, MAX_STATEMENTS), alone: 0 };
    return group;
  }

  return async (statement) => {
    const group = groups.get(statement.name!) ?? createGroup();
    groups.set(statement.name!, group);
    if (group.alone > 0) group.alone -= 1;
    else {
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
