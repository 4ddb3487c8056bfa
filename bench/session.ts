import { onStopRequest } from '../src/dev-servers/on-stop-request.ts';
import { type Children, createChildren } from './setup/children.ts';
import { type BenchServices, startBenchServices } from './setup/services.ts';

/** Postgres, Redis and the processes of one run. */
export interface Session {
  services: BenchServices;
  children: Children;
  /** Prints a line of progress to standard error, since standard output contains only the results. */
  logProgress(line: string): void;
  /** Registers work for the end of the run, after its processes have stopped. It also runs after Ctrl-C. */
  addCleanup(work: () => Promise<unknown>): void;
  /** Returns whether the run is being stopped, which makes its work fail. */
  isStopping(): boolean;
}

interface SessionOptions {
  /** The run is stopped after this time. */
  maxMs: number;
  /** A folder for a CPU profile of each process. */
  profiles?: string | undefined;
}

const logProgress = (line: string) => console.error(line);

/** Runs work with services of its own, and stops everything at the end. An error is printed and becomes exit code 1. */
export async function runSession(
  { maxMs, profiles }: SessionOptions,
  work: (session: Session) => Promise<void>,
): Promise<void> {
  const children = createChildren(profiles);
  const cleanups: (() => Promise<unknown>)[] = [];
  let services: BenchServices | undefined;
  let stopping: Promise<void> | undefined;
  const stopAll = async () => {
    await children.stopAll();
    for (const cleanup of cleanups.toReversed()) await cleanup();
    await services?.stop();
  };
  const stop = () => (stopping ??= stopAll());
  onStopRequest(stop);
  const watchdog = setTimeout(() => {
    logProgress(`The benchmark was stopped after ${maxMs / 60_000} minutes.`);
    void stop().finally(() => process.exit(1));
  }, maxMs);
  try {
    services = await startBenchServices(logProgress);
    logProgress(`Postgres ${services.postgres}; Redis ${services.redis}`);
    const addCleanup = (cleanup: () => Promise<unknown>) => void cleanups.push(cleanup);
    await work({ services, children, logProgress, addCleanup, isStopping: () => stopping !== undefined });
  } catch (error) {
    // Stopped processes make the work fail, which is not worth a message.
    if (stopping === undefined) logProgress(String((error as Error).stack ?? error));
    process.exitCode = 1;
  } finally {
    clearTimeout(watchdog);
    await stop();
  }
}
