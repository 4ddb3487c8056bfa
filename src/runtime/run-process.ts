import { StartupError } from '../platform/environment.ts';
import type { App } from './create-app.ts';
import { releaseMemory } from './release-memory.ts';
import type { StartOptions } from './start.ts';

// After this the platform sends SIGKILL anyway (Heroku-like ones give 30 s); nothing is lost by going first.
const LONGEST_STOP_MS = 25_000;

function fail(error: unknown): never {
  // A mistake of the operator needs its text, not the place in our code that noticed it.
  console.error(error instanceof StartupError ? error.message : error);
  process.exit(1);
}

/**
 * Runs an app as this process until SIGTERM or SIGINT: then it finishes what is in flight and exits. In development the
 * database is made to match the declarations first.
 *
 * @param make makes the app; its mistakes end the process with exit code 1 and a list of them
 * @param environment usually `process.env`
 */
export async function runProcess(
  make: (environment: Record<string, string | undefined>) => App,
  environment: Record<string, string | undefined>,
  options: StartOptions = {},
): Promise<void> {
  let app: App;
  try {
    app = make(environment);
  } catch (error) {
    fail(error);
  }
  let stopping = false;
  const stop = async () => {
    if (stopping) return;
    stopping = true;
    setTimeout(() => process.exit(1), LONGEST_STOP_MS).unref();
    await app.close();
    process.exit(0);
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  try {
    if (environment.NODE_ENV === 'development') {
      const { ALLOW_LOSS, OWN_DATABASE } = environment;
      // A database that the developer named may hold what others still need.
      const mayDrop = OWN_DATABASE === 'yes' ? 'empty' : 'nothing';
      await app.migrate({ mode: 'sync', mayDrop: ALLOW_LOSS === 'yes' ? 'anything' : mayDrop });
    }
    const { url } = await app.start(options);
    releaseMemory();
    if (url !== '') console.log(`Belfry listens on ${url}`);
  } catch (error) {
    if (!stopping) fail(error);
  }
}
