/**
 * Calls `stop` once, when this process is asked to end: by Ctrl-C, by a signal, or because its parent process
 * is gone. `stop` gets the matching exit code. A second request ends the process at once.
 *
 * @returns a function that ends this, for work that is done
 */
export function onStopRequest(stop: (exitCode: number) => Promise<void>): () => void {
  let requestCount = 0;
  const requestStop = (exitCode: number) => {
    requestCount += 1;
    if (requestCount === 1) void stop(exitCode).finally(() => process.exit(exitCode));
  };
  let last = 0;
  const onSignal = (exitCode: number) => {
    // One Ctrl-C arrives twice: from the terminal, and forwarded by npm.
    if (requestCount && Date.now() - last > 1000) process.exit(exitCode);
    last = Date.now();
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
