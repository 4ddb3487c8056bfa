/**
 * Calls `stop` once, when this process is asked to end: by Ctrl-C, by a signal, or because its parent process
 * is gone. `stop` gets the matching exit code. A second request ends the process at once.
 */
export function onStopRequest(stop: (exitCode: number) => Promise<void>): void {
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
  process.on('SIGINT', () => onSignal(130));
  process.on('SIGTERM', () => onSignal(143));
  process.on('SIGHUP', () => onSignal(129));
  const starter = process.ppid;
  setInterval(() => {
    if (process.ppid !== starter) requestStop(143);
  }, 500).unref();
}
