import type { Queryable } from './queryable.ts';

/**
 * Makes what notes that a row was used, while the request that used it goes on.
 *
 * @param statement `$1` is the row's id. It must leave alone what was noted lately: other processes note it too
 * @param failed gets what went wrong; the request does not
 * @returns notes a use; `more` are the statement's further values
 */
export function createUsageRecorder(
  database: Pick<Queryable, 'write'>,
  statement: { name: string; text: string },
  failed: (error: unknown) => void,
): (id: string, ...more: unknown[]) => void {
  const recording = new Set<string>();
  return (id, ...more) => {
    // Requests that came in together see the same old time: one of them writes.
    if (recording.has(id)) return;
    recording.add(id);
    database
      .write({ ...statement, values: [id, ...more] })
      .catch(failed)
      .finally(() => recording.delete(id));
  };
}
