import { createSemaphore } from '../../platform/semaphore.ts';

/** How long after a `wait` it is asked again when nothing was heard: other processes decide too. */
const POLL_MS = 100;

/** Attempts of one name in this process; those beyond are refused. */
const MAX_WAITING = 1000;

/** Lets those who ask about one key ask in turn: first come, first served, and one alone looks again and again. */
export interface Turns {
  /**
   * Puts a question until its answer is not `wait`.
   *
   * Rejects as the question does, and with `SEMAPHORE_FULL` when too many wait under this key.
   */
  ask<T>(key: string, question: () => Promise<T | 'wait'>): Promise<T>;
  /** Something has changed under a key: its question is put again at once. */
  wake(key: string): void;
}

interface Line {
  turn: ReturnType<typeof createSemaphore>;
  /** How many ask or wait to ask. */
  size: number;
  wake: () => void;
}

export function createTurns(): Turns {
  const lines = new Map<string, Line>();

  /** Resolves at the next wake-up or after a while. */
  function change(line: Line): { happens: Promise<void>; forget(): void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, POLL_MS);
    line.wake = resolve;
    return { happens: promise, forget: () => clearTimeout(timer) };
  }

  function lineOf(key: string): Line {
    const line = lines.get(key) ?? {
      turn: createSemaphore(1, { maxQueue: MAX_WAITING }),
      size: 0,
      wake: () => undefined,
    };
    lines.set(key, line);
    return line;
  }

  return {
    async ask<T>(key: string, question: () => Promise<T | 'wait'>) {
      const line = lineOf(key);
      line.size += 1;
      try {
        return await line.turn.run(async () => {
          for (;;) {
            // From before the question: what changes while it is on its way must not go unheard.
            const next = change(line);
            try {
              const answer = await question();
              if (answer !== 'wait') return answer;
              await next.happens;
            } finally {
              next.forget();
            }
          }
        });
      } finally {
        line.size -= 1;
        if (line.size === 0) lines.delete(key);
      }
    },
    wake: (key) => lines.get(key)?.wake(),
  };
}
