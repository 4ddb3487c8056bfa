// `npm run keys -- generate` prints a new encryption key. `-- status` shows which values are encrypted with which key. `-- rotate`
// re-encrypts everything with the newest key; its option `--give-up <key id>` discards values in the outbox whose key is lost.
// Status and rotate need DATABASE_URL and SVC_ENCRYPTION_KEYS from the shell or from .env.
import { randomBytes } from 'node:crypto';
import { DATABASE_ONLY } from './deployment/database-only.ts';
import { fail } from './deployment/fail.ts';
import { loadApp } from './deployment/load-app.ts';
import { readKeysArguments } from './keys/arguments.ts';
import { printStatus, rotate } from './keys/run.ts';
import { whenAskedToStop } from './services/when-asked-to-stop.ts';

async function status(): Promise<void> {
  const made = await loadApp({ environment: DATABASE_ONLY, needsKeys: true });
  await printStatus(made);
  await made.close();
}

async function rotateAll(giveUp?: string): Promise<void> {
  const made = await loadApp({ environment: DATABASE_ONLY, needsKeys: true });
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
