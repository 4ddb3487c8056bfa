import type { Queues } from '../../../../extension/index.ts';
import { POLLED_CHANNEL } from '../../endpoints/endpoint-jobs.ts';

/** ms after which all waiting requests look again, because an announcement can be lost. */
const MAX_LOOK_AGAIN_MS = 5000;

/** A request that waits for deliveries of an endpoint. */
export interface PollWait {
  /** Resolves when deliveries may be there, when `ms` have passed, or when the wait was ended. Announcements since the last call count, too. */
  next(ms: number): Promise<void>;
  end(): void;
}

/** The requests of this process that wait for deliveries. */
export interface PollWaits {
  open(endpointId: string): PollWait;
  /** Whether the process is stopping: no request may wait any more. */
  isStopped(): boolean;
  /** Ends all waits. */
  stop(): void;
}

class Wait implements PollWait {
  readonly #onEnd: () => void;
  #hasNews = false;
  #hasEnded = false;
  #resume: (() => void) | undefined;

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
  }

  wake(): void {
    this.#hasNews = true;
    this.#resume?.();
  }

  async next(ms: number): Promise<void> {
    if (!this.#hasNews && !this.#hasEnded && ms > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#resume = resolve;
      const timer = setTimeout(resolve, ms);
      await promise;
      clearTimeout(timer);
      this.#resume = undefined;
    }
    this.#hasNews = false;
  }

  end(): void {
    this.#hasEnded = true;
    this.#resume?.();
    this.#onEnd();
  }
}

/**
 * Creates the waits of a process. Announcements of new deliveries wake them; the process has one subscription for all of them, which begins with
 * its first wait.
 *
 * @param pollMs the setting: the interval at which deliveries are searched that were not announced
 */
export function createPollWaits(queues: Pick<Queues, 'listen'>, pollMs: number): PollWaits {
  const waits = new Map<string, Set<Wait>>();
  let stopListening: (() => void) | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  const wakeAll = () => {
    for (const ofEndpoint of waits.values()) for (const wait of ofEndpoint) wait.wake();
  };

  function start(): void {
    stopListening ??= queues.listen(POLLED_CHANNEL, (id) => {
      for (const wait of waits.get(id) ?? []) wait.wake();
    });
    // One interval for all, so that their look-ups share a statement.
    timer ??= setInterval(wakeAll, Math.min(MAX_LOOK_AGAIN_MS, 5 * pollMs)).unref();
  }

  function remove(endpointId: string, wait: Wait): void {
    const ofEndpoint = waits.get(endpointId);
    if (!ofEndpoint?.delete(wait) || ofEndpoint.size > 0) return;
    waits.delete(endpointId);
    if (waits.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  return {
    open(endpointId) {
      const wait = new Wait(() => remove(endpointId, wait));
      if (isStopped) return wait;
      const ofEndpoint = waits.get(endpointId) ?? new Set();
      waits.set(endpointId, ofEndpoint.add(wait));
      start();
      return wait;
    },
    isStopped: () => isStopped,
    stop() {
      isStopped = true;
      stopListening?.();
      for (const ofEndpoint of [...waits.values()]) for (const wait of [...ofEndpoint]) wait.end();
    },
  };
}
