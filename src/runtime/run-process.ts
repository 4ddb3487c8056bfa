import { join } from 'node:path';
import { format } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { ProcessRole } from '../declare/process-role.ts';
import { DEFAULT_POOL_MAX } from '../platform/data/postgres/lanes.ts';
import { StartupError } from '../platform/helpers/config-errors.ts';
import { describeAddress } from '../platform/http/server.ts';
import { createLogger } from '../platform/observability/log.ts';
import { LOG_LEVELS } from '../platform/settings/environment.ts';
import type { App } from './create-app.ts';

/**
 * Returns unused memory to the system. Loading modules and compiling declarations leaves some 100 MB of garbage, and an idle V8 keeps
 * that memory. Takes about 100 ms, so call it at the end of a start.
 */
export function releaseMemory(): void {
  setFlagsFromString('--expose-gc');
  // Only a context created after the flag is set has the function `gc`; `last-resort` also returns the freed memory to the system.
  const collect = runInNewContext('gc') as (options: { type: string; flavor: string }) => void;
  collect({ type: 'major', flavor: 'last-resort' });
  setFlagsFromString('--no-expose-gc');
}

// A terminal, or a parent process that forwards signals, may send the same signal twice at once. A second one is ignored for these ms.
const SAME_SIGNAL_MS = 500;

type Variables = Record<string, string | undefined>;

/** Logs why the process cannot start, and exits with code 1. */
type ExitWithError = (error: unknown) => never;

/** Prints the error of a failed start for a person at a terminal, and exits with code 1. */
function printErrorAndExit(error: unknown): never {
  // A configuration error needs no stack trace.
  console.error(error instanceof StartupError ? error.message : error);
  process.exit(1);
}

/**
 * Prints all output of this process as JSON lines with the name of the process: failed starts, uncaught exceptions, Node's warnings, and
 * the output of `console` in any code or package.
 */
function redirectOutputToLog(role: ProcessRole, level: string | undefined): ExitWithError {
  // `level` has not been validated yet, so an unknown one counts as `info`. Fatal errors are logged whatever the level is.
  const fatal = createLogger('fatal', role);
  const log = createLogger(LOG_LEVELS.find((known) => known === level) ?? 'info', role);
  for (const method of ['debug', 'info', 'warn', 'error'] as const)
    console[method] = (...values: unknown[]) => log[method](format(...values));
  console.log = console.info;
  // Node's own listener for warnings prints plain text.
  process.removeAllListeners('warning');
  process.on('warning', (warning) => log.warn({ err: warning }, warning.message));
  process.on('uncaughtException', (error, origin) => {
    fatal.fatal({ err: error, origin }, 'uncaught error: the process exits');
    process.exit(1);
  });
  return (error) => {
    if (error instanceof StartupError) fatal.fatal(error.message);
    else fatal.fatal({ err: error }, 'the process cannot start');
    process.exit(1);
  };
}

/**
 * Runs an app as this process until SIGTERM or SIGINT; then it finishes work in progress and exits. A second signal ends it at once. In
 * development it first makes the database match the declarations. In production every line that it prints is JSON.
 *
 * @param role `web` runs every role that the environment does not disable; any other role runs alone
 * @param load loads the app's declarations; if they throw, the process lists the configuration errors and exits with code 1
 * @param environment usually `process.env`
 */
export async function runProcess(
  role: ProcessRole,
  load: () => Promise<{ app: (environment: Variables) => App }>,
  environment: Variables,
): Promise<void> {
  const { NODE_ENV = '', LOG_LEVEL } = environment;
  const isForTerminal = ['development', 'test'].includes(NODE_ENV);
  const exitWithError: ExitWithError = isForTerminal ? printErrorAndExit : redirectOutputToLog(role, LOG_LEVEL);
  let app: App | undefined;
  let stoppingSince: number | undefined;
  // A terminal shows the signal itself.
  const logStop = isForTerminal ? () => undefined : console.info;
  const stop = async (signal: NodeJS.Signals) => {
    if (stoppingSince !== undefined) {
      if (performance.now() - stoppingSince >= SAME_SIGNAL_MS) process.exit(1);
      return;
    }
    stoppingSince = performance.now();
    logStop(`stopping after ${signal}`);
    if (app !== undefined) {
      const { stopLimitMs } = app;
      setTimeout(() => {
        console.error(`the process did not stop within ${stopLimitMs} ms; work in progress is cut off`);
        process.exit(1);
      }, stopLimitMs).unref();
      await app.close();
    }
    logStop('stopped');
    process.exit(0);
  };
  // Before the declarations load: a container's first process ignores signals that it has no handler for.
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  try {
    const declared = await load();
    const poolMax = role === 'web' ? {} : { POOL_MAX: environment.POOL_MAX || String(DEFAULT_POOL_MAX[role]) };
    app = declared.app({ ...environment, LOG_PROCESS: role, ...poolMax });
  } catch (error) {
    exitWithError(error);
  }
  try {
    if (NODE_ENV === 'development') {
      const { ALLOW_LOSS, OWN_DATABASE } = environment;
      // A database that the developer configured may contain data that is still needed: drop nothing unless ALLOW_LOSS permits that.
      const mayDrop = OWN_DATABASE === 'yes' ? 'empty' : 'nothing';
      await app.migrate({
        mode: 'sync',
        folder: join(process.cwd(), 'migrations'),
        mayDrop: ALLOW_LOSS === 'yes' ? 'anything' : mayDrop,
      });
    }
    const { url } = await app.start(role === 'web' ? {} : { roles: [role] });
    // In development, a start after each save must be quick.
    if (NODE_ENV !== 'development') releaseMemory();
    if (isForTerminal && url !== '') console.log(`Belfry listens on ${describeAddress(url)}`);
  } catch (error) {
    if (stoppingSince === undefined) exitWithError(error);
  }
}
