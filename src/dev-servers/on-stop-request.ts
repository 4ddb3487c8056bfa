/** One Ctrl-C arrives up to three times: from the terminal, and forwarded by npm and by the first step of a script. */
const SAME_REQUEST_MS = 500;

/**
 * Calls `stop` once, when this process is asked to end: by Ctrl-C, by a signal, or because its parent process
 * is gone. `stop` gets the matching exit code. A second request ends the process at once.
 *
 * @param onSecondRequest called before a second request ends the process
 * @returns a function that ends this, for work that is done
 */
export function onStopRequest(
  stop: (exitCode: number) => Promise<void>,
  onSecondRequest: () => void = () => undefined,
): () => void {
  let requestCount = 0;
  const requestStop = (exitCode: number) => {
    requestCount += 1;
    if (requestCount === 1) void stop(exitCode).finally(() => process.exit(exitCode));
  };
  let first = 0;
  const onSignal = (exitCode: number) => {
    if (requestCount && performance.now() - first > SAME_REQUEST_MS) {
      onSecondRequest();
      process.exit(exitCode);
    }
    first ||= performance.now();
    requestStop(exitCode);
  };
  const listeners = { SIGINT: () => onSignal(130), SIGTERM: () => onSignal(143), SIGHUP: () => onSignal(129) };
  for (const [signal, listener] of Object.entries(listeners)) process.on(signal, listener);
  const starter = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid !== starter) requestStop(143);
  }, 500).unref();
  return () => {
    // A stop that was requested goes on.
    if (requestCount > 0) return;
    clearInterval(watch);
    for (const [signal, listener] of Object.entries(listeners)) process.off(signal, listener);
  };
}

/**
 * Runs work that ends early when this process is asked to end. The process then exits when the work has ended.
 *
 * @param work gets a signal that tells it to end
 */
export async function runUntilStopRequest<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const ended = work(stop.signal);
  const ignoreStopRequests = onStopRequest(async () => {
    stop.abort();
    await ended.catch(() => undefined);
  });
  try {
    return await ended;
  } finally {
    ignoreStopRequests();
  }
}
