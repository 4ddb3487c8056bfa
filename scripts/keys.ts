// `npm run keys -- generate` prints a new encryption key. `-- status` tells what is encrypted with which key, `-- rotate` puts
// everything under the newest one; `--give-up <key id>` empties what waits in the outbox under a key that is lost. These two need DATABASE_URL and SVC_ENCRYPTION_KEYS, from the shell or from .env.
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { RotationProgress } from '../src/platform/crypto/rotate.ts';
import { faultLines, rotationLines, statusLines } from './keys/report.ts';
import { MIGRATION_ENVIRONMENT } from './migration/environment.ts';
import { whenAskedToStop } from './services/when-asked-to-stop.ts';

const LINE_MS = 1000;

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

/** A line for the first batch of a table, for its last one, and every second in between. */
function progressLines(): (progress: RotationProgress) => void {
  let last = { table: '', at: 0 };
  return ({ table, done, total }) => {
    if (table === last.table && done < total && performance.now() - last.at < LINE_MS) return;
    last = { table, at: performance.now() };
    console.log(`${table}: ${done.toLocaleString('en-US')} of ${total.toLocaleString('en-US')} values`);
  };
}

async function status(): Promise<void> {
  const made = await loadApp();
  console.log(statusLines(await made.encryption.status()).join('\n'));
  await made.close();
}

async function rotate(giveUp?: string): Promise<void> {
  const made = await loadApp();
  const stop = new AbortController();
  const work = made.encryption.rotate({ signal: stop.signal, giveUp, onProgress: progressLines() });
  const ended = work.then(
    async (rotation) => {
      await made.close();
      console.log(rotationLines(rotation).join('\n'));
      const faults = faultLines(rotation);
      for (const fault of faults) console.error(fault);
      if (faults.length > 0) process.exitCode = 1;
    },
    (error: Error) => fail(error.message),
  );
  whenAskedToStop(() => {
    stop.abort();
    return ended;
  });
  await ended;
}

const [command, ...rest] = process.argv.slice(2);
const [option, lost] = rest;
const givesUp = command === 'rotate' && option === '--give-up';
if (givesUp && (rest.length !== 2 || !/^[0-9a-f]{8}$/.test(lost!)))
  fail('--give-up takes the id of a key that is lost, 8 hex digits: npm run keys -- status shows it.');
if (rest.length > 0 && !givesUp)
  fail(`Unknown argument ${rest.join(' ')}. npm run keys takes one: generate, status or rotate.`);
try {
  if (command === 'generate') console.log(randomBytes(32).toString('base64'));
  else if (command === 'status') await status();
  else if (command === 'rotate') await rotate(lost);
  else
    fail(
      `${command === undefined ? 'Say what to do' : `Unknown command ${command}`}: npm run keys -- generate, status or rotate.`,
    );
} catch (error) {
  fail((error as Error).message);
}
