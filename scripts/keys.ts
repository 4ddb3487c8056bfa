// `npm run keys -- generate` prints a new encryption key. `-- status` tells what is encrypted with which key, `-- rotate` puts
// everything under the newest one; `--give-up <key id>` empties what waits in the outbox under a key that is lost. These two need DATABASE_URL and SVC_ENCRYPTION_KEYS, from the shell or from .env.
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readKeysArguments } from './keys/arguments.ts';
import { rotate, tellStatus } from './keys/run.ts';
import { MIGRATION_ENVIRONMENT } from './migration/environment.ts';
import { whenAskedToStop } from './services/when-asked-to-stop.ts';

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

/** The app of this deployment, to be connected to its database and to nothing else. A new key needs none: it is loaded here. */
async function loadApp() {
  const settings = join(import.meta.dirname, '..', '.env');
  if (existsSync(settings)) process.loadEnvFile(settings);
  if (!process.env.SVC_ENCRYPTION_KEYS) fail('SVC_ENCRYPTION_KEYS is missing: say those that the service runs with.');
  const { app } = await import('../src/app/index.ts');
  return app({ ...process.env, ...MIGRATION_ENVIRONMENT });
}

async function status(): Promise<void> {
  const made = await loadApp();
  await tellStatus(made);
  await made.close();
}

async function rotateAll(giveUp?: string): Promise<void> {
  const made = await loadApp();
  const stop = new AbortController();
  const ended = rotate(made, { signal: stop.signal, giveUp }).then(
    async (isDone) => {
      await made.close();
      if (!isDone) process.exitCode = 1;
    },
    (error: Error) => fail(error.message),
  );
  whenAskedToStop(() => {
    stop.abort();
    return ended;
  });
  await ended;
}

try {
  const { command, giveUp } = readKeysArguments(process.argv.slice(2));
  if (command === 'generate') console.log(randomBytes(32).toString('base64'));
  else if (command === 'status') await status();
  else await rotateAll(giveUp);
} catch (error) {
  fail((error as Error).message);
}
