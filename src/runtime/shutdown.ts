/** Stops a part of a running process. */
export type Stop = () => Promise<void>;

/** How a process stops. The parts of the process are added while it starts. */
export interface Shutdown {
  /** Whether the process is stopping. */
  isStopping(): boolean;
  /** Adds a part that does work: the server of `web`, the relay, a worker. All of them stop at the same time. */
  addWork(stop: Stop): void;
  /** Adds a part that is needed until all work has ended, such as health checks. These parts stop last, in reverse order. */
  addSupport(stop: Stop): void;
  /** Stops all parts. A part that fails to stop does not keep the others from stopping; its error is thrown at the end. */
  stopAll(): Promise<void>;
}

/** Creates the shutdown of a process. */
export function createShutdown(): Shutdown {
  const work: Stop[] = [];
  const support: Stop[] = [];
  let stopping = false;
  return {
    isStopping: () => stopping,
    addWork: (stop) => void work.push(stop),
    addSupport: (stop) => void support.push(stop),
    async stopAll() {
      stopping = true;
      const results = await Promise.allSettled(work.map((stop) => stop()));
      for (const stop of support.reverse()) results.push(...(await Promise.allSettled([stop()])));
      for (const result of results) if (result.status === 'rejected') throw result.reason;
    },
  };
}
