/** Stops a part of a running process. */
type Stop = () => Promise<void>;

/** How a process stops. The parts of the process are added while it starts. */
export interface Shutdown {
  /** Whether the process is stopping. */
  isStopping(): boolean;
  /**
   * Adds a part that does work: the server of `web`, the relay, a worker. All of them stop at the same time. A part that is added while
   * the process stops is stopped at once.
   */
  addWork(stop: Stop): void;
  /**
   * Adds a part that is needed until all work has ended, such as health checks. These parts stop last, in reverse order. A part that is
   * added while the process stops is stopped at once.
   */
  addSupport(stop: Stop): void;
  /** Stops all parts. If a part fails to stop, the others still stop, and its error is thrown at the end. */
  stopAll(): Promise<void>;
}

/** Creates the shutdown of a process. */
export function createShutdown(): Shutdown {
  const work: Stop[] = [];
  const support: Stop[] = [];
  const late: Promise<void>[] = [];
  let stopping = false;
  const add = (parts: Stop[], stop: Stop) => {
    if (!stopping) return void parts.push(stop);
    const stopped = stop();
    late.push(stopped);
    // An error is thrown by `stopAll` if it is still running; a rejection must not end the process.
    stopped.catch(() => undefined);
  };
  return {
    isStopping: () => stopping,
    addWork: (stop) => add(work, stop),
    addSupport: (stop) => add(support, stop),
    async stopAll() {
      stopping = true;
      const results = await Promise.allSettled(work.map((stop) => stop()));
      for (const stop of support.reverse()) results.push(...(await Promise.allSettled([stop()])));
      results.push(...(await Promise.allSettled(late)));
      for (const result of results) if (result.status === 'rejected') throw result.reason;
    },
  };
}
