import type { Queryable } from './queryable.ts';

/**
 * Creates a function that records the use of a row while the request continues.
 *
 * @param statement `$1` is the row's id. It must skip rows that were recorded recently, because other processes record them too
 * @param onError called with the error of a failed write; the request itself does not fail
 * @returns a function that records a use; `more` are the statement's further values
 */
export function createUsageRecorder(
  database: Pick<Queryable, 'write'>,
  statement: { name: string; text: string },
  onError: (error: unknown) => void,
): (id: string, ...more: unknown[]) => void {
  const recording = new Set<string>();
  return (id, ...more) => {
    // Concurrent requests read the same old time of the last use; only one of these requests needs to write.
    if (recording.has(id)) return;
    recording.add(id);
    database
      .write({ ...statement, values: [id, ...more] })
      .catch(onError)
      .finally(() => recording.delete(id));
  };
}
