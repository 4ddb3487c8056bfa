import pg from 'pg';
import { vi } from 'vitest';

/** Counts the SQL statements that this process sends. */
export interface StatementCounter {
  /**
   * The number of statements since the last call, without the heartbeats that a process writes every few seconds.
   *
   * @param containing counts only statements that contain this text
   */
  count(containing?: string): number;
  stop(): void;
}

/** Starts counting. */
export function countStatements(): StatementCounter {
  const sent = vi.spyOn(pg.Client.prototype, 'query');
  return {
    count(containing = '') {
      const texts = sent.mock.calls.map(([one]) => (one as unknown as { text?: string }).text ?? String(one));
      sent.mockClear();
      return texts.filter((text) => text.includes(containing) && !text.includes('encryption_processes')).length;
    },
    stop: () => void sent.mockRestore(),
  };
}
