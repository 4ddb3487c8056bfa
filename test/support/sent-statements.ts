import pg from 'pg';
import { vi } from 'vitest';

/** Counts the statements that this process sends. */
export interface SentStatements {
  /** Those since the last call, without what a process notes of itself every few seconds. */
  count(): number;
  end(): void;
}

/** Begins to count. */
export function countStatements(): SentStatements {
  const sent = vi.spyOn(pg.Client.prototype, 'query');
  return {
    count() {
      const texts = sent.mock.calls.map(([one]) => (one as unknown as { text?: string }).text ?? String(one));
      sent.mockClear();
      return texts.filter((text) => !text.includes('encryption_processes')).length;
    },
    end: () => void sent.mockRestore(),
  };
}
