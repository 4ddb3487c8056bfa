import { createBatchedCall } from '../concurrency/loader.ts';
import type { OnResult, Statement } from './connection.ts';
import { isRefused } from './errors.ts';

/** More statements in a group would keep the first of them waiting for longer than they save. */
const MAX_STATEMENTS = 16;
/** The statements after a refused group that run alone, so that writes that are refused do not make others run twice. */
const ALONE_AFTER_REFUSAL = 100;

interface GroupResult {
  rows: unknown[][];
  ms: number;
}

/** The statements of one name. */
interface Group {
  /** Runs a statement with others. Returns undefined if it must run alone. */
  run(statement: Statement): Promise<GroupResult | undefined>;
  /** How many of the next statements run alone. */
  alone: number;
}

/**
 * Creates the function that runs a statement in one transaction with those of its name that are sent in the same turn of the event loop. They share
 * a write to the socket and a commit, which cost more than the statements. If Postgres refuses one of them, none has been written, and each runs alone.
 *
 * Every statement must have a name and `sharesTransaction`.
 *
 * @param runAlone runs a statement in a transaction of its own, and reports its result
 * @param runTogether runs statements with the same name in one transaction, and returns the rows of each once it is committed
 */
export function createWriteGroups(
  runAlone: (statement: Statement) => Promise<unknown[][]>,
  runTogether: (statements: readonly Statement[]) => Promise<unknown[][][]>,
  onResult: OnResult | undefined,
): (statement: Statement) => Promise<unknown[][]> {
  const groups = new Map<string, Group>();

  function createGroup(): Group {
    async function runAll(statements: readonly Statement[]): Promise<readonly (GroupResult | undefined)[]> {
      if (statements.length === 1) return [undefined];
      const sentAt = performance.now();
      try {
        const results = await runTogether(statements);
        const ms = performance.now() - sentAt;
        return results.map((rows) => ({ rows, ms }));
      } catch (error) {
        // Without an answer of Postgres, the transaction may have been committed.
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
      const result = await group.run(statement);
      if (result !== undefined) {
        onResult?.(statement.text, result.ms, result.rows.length);
        return result.rows;
      }
    }
    return runAlone(statement);
  };
}
