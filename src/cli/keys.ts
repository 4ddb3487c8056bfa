// `npm run keys -- generate` prints a new encryption key. `-- status` shows which values are encrypted with which key. `-- rotate`
// re-encrypts everything with the newest key; its option `--give-up <key id>` discards values in the outbox whose key is lost.
// Status and rotate need DATABASE_URL and SVC_ENCRYPTION_KEYS from the shell or from .env.

import { randomBytes } from 'node:crypto';
import type { EncryptionStatus, KeyStatus } from '../platform/crypto/encryption.ts';
import type { Rotation, RotationProgress } from '../platform/crypto/rotation/rotate.ts';
import type { App } from '../runtime/create-app.ts';
import { onStopRequest } from '../dev-servers/on-stop-request.ts';
import { alignColumns, formatCount } from './format.ts';
import { DATABASE_ONLY, loadApp, printErrorAndExit } from './project.ts';

async function runStatus(): Promise<void> {
  const app = await loadApp({ environment: DATABASE_ONLY, needsKeys: true });
  await printStatus(app);
  await app.close();
}

async function runRotation(giveUp?: string): Promise<void> {
  const app = await loadApp({ environment: DATABASE_ONLY, needsKeys: true });
  const stop = new AbortController();
  const ended = rotateAndPrint(app, { signal: stop.signal, giveUp }).then(
    async (isDone) => {
      await app.close();
      if (!isDone) process.exitCode = 1;
    },
    (error: Error) => printErrorAndExit(error.message),
  );
  onStopRequest(() => {
    stop.abort();
    return ended;
  });
  await ended;
}

/** The parsed command line. */
interface KeysArguments {
  command: 'generate' | 'status' | 'rotate';
  /** The id of a key that is lost. */
  giveUp: string | undefined;
}

const COMMANDS = ['generate', 'status', 'rotate'];

/**
 * Reads the command line of `npm run keys`.
 *
 * @throws Error with a message for the terminal
 */
export function readKeysArguments([command, ...rest]: readonly string[]): KeysArguments {
  const [option, giveUp] = rest;
  const givesUp = command === 'rotate' && option === '--give-up';
  if (givesUp && (rest.length !== 2 || !/^[0-9a-f]{8}$/.test(giveUp!)))
    throw new Error('--give-up needs the id of the lost key, 8 hex digits. npm run keys -- status shows it.');
  if (rest.length > 0 && !givesUp)
    throw new Error(`Unknown argument ${rest.join(' ')}. Usage: npm run keys -- generate, status or rotate.`);
  if (command === undefined || !COMMANDS.includes(command)) {
    const problem = command === undefined ? 'No command given' : `Unknown command ${command}`;
    throw new Error(`${problem}. Usage: npm run keys -- generate, status or rotate.`);
  }
  return { command: command as KeysArguments['command'], giveUp };
}

const pluralize = (count: number, thing: string, more = `${thing}s`) =>
  `${formatCount(count)} ${count === 1 ? thing : more}`;

function describeRole({ place }: KeyStatus): string {
  if (place === undefined) return 'not in SVC_ENCRYPTION_KEYS';
  return place === 0 ? 'encrypts' : 'decrypts';
}

function describeHistory({ firstUsedAt, retiredAt }: KeyStatus): string {
  if (firstUsedAt === undefined) return 'never used by a running process';
  const since = `in use since ${firstUsedAt.slice(0, 10)}`;
  return retiredAt === undefined ? since : `${since}, retired ${retiredAt.slice(0, 10)}`;
}

/** Formats the output of `npm run keys -- status`. */
function statusLines({ keys, values }: EncryptionStatus): string[] {
  const order = keys.toSorted((a, b) => (a.place ?? keys.length) - (b.place ?? keys.length));
  const countValues = (name: string, keyId: string | null) =>
    values.find((one) => one.name === name && one.keyId === keyId)?.count ?? 0;
  const names = [...new Set(values.map(({ name }) => name))].sort();
  const total = (keyId: string) => names.reduce((sum, name) => sum + countValues(name, keyId), 0);
  const keyRows = order.map((key) => [
    key.keyId,
    describeRole(key),
    describeHistory(key),
    pluralize(total(key.keyId), 'value'),
    key.processes > 0 ? `${pluralize(key.processes, 'process encrypts', 'processes encrypt')} with it` : '',
  ]);
  const valueRows = names.map((name) => [
    name,
    ...order.map(({ keyId }) => (countValues(name, keyId) === 0 ? '-' : formatCount(countValues(name, keyId)))),
    countValues(name, null) === 0 ? '' : `${pluralize(countValues(name, null), 'is', 'are')} not encrypted`,
  ]);
  return [
    'Keys by id:',
    ...alignColumns(keyRows, '  '),
    '',
    ...(names.length === 0
      ? ['Nothing is encrypted yet.']
      : ['Values by key:', ...alignColumns([['', ...order.map(({ keyId }) => keyId), ''], ...valueRows], '  ')]),
  ];
}

/** Returns what a rotation leaves to do, one line each. Empty if nothing is left or if it was stopped. */
function problemLines({ undecryptable, left, busy, stopped }: Rotation): string[] {
  if (stopped) return [];
  return [
    ...undecryptable.map(({ name, count, ids }) => {
      const more = count > ids.length ? ` and ${formatCount(count - ids.length)} more` : '';
      return `${name}: ${pluralize(count, 'value')} cannot be decrypted: ${ids.join(', ')}${more}`;
    }),
    ...(undecryptable.some(({ name }) => name.startsWith('outbox: '))
      ? [
          'events in the outbox have values whose key is lost. To discard those values: npm run keys -- rotate --give-up <key id>',
        ]
      : []),
    ...(left > 0
      ? [
          `${pluralize(left, 'value is', 'values are')} still encrypted with older keys, because other processes hold the rows. Run this again`,
        ]
      : []),
    ...busy.map(
      ({ keyId, processes }) =>
        `key ${keyId} cannot be retired: ${pluralize(processes, 'running process encrypts', 'running processes encrypt')} with it. Restart them with the newest key, then run this again (a killed process counts for a minute)`,
    ),
  ];
}

/** Formats the result of a rotation. */
function rotationLines({ keyId, rotated, givenUp, removable, stopped }: Rotation): string[] {
  if (stopped) return [`Stopped after ${pluralize(rotated, 'value')}. Run it again to continue.`];
  return [
    `${pluralize(rotated, 'value was', 'values were')} encrypted with key ${keyId}.`,
    ...(givenUp > 0
      ? [`${pluralize(givenUp, 'value')} in the outbox ${givenUp === 1 ? 'was' : 'were'} discarded.`]
      : []),
    ...removable.map(
      (id) =>
        `No value is encrypted with key ${id} any more. You can remove it from SVC_ENCRYPTION_KEYS (see docs/encryption.md).`,
    ),
  ];
}

const PROGRESS_EVERY_MS = 1000;

type AppWithEncryption = Pick<App, 'encryption'>;

/** Prints a line for the first and the last batch of a table, and at most one per second in between. */
function createProgressPrinter(): (progress: RotationProgress) => void {
  let last = { table: '', at: 0 };
  return ({ table, done, total }) => {
    if (table === last.table && done < total && performance.now() - last.at < PROGRESS_EVERY_MS) return;
    last = { table, at: performance.now() };
    console.log(`${table}: ${formatCount(done)} of ${formatCount(total)} values`);
  };
}

/** Prints which values are encrypted with which key. */
export async function printStatus({ encryption }: AppWithEncryption): Promise<void> {
  console.log(statusLines(await encryption.status()).join('\n'));
}

/**
 * Re-encrypts everything with the newest key and prints the progress.
 *
 * @param given `signal` stops it after the current batch; `giveUp` is the id of a key that is lost
 * @returns whether nothing is left to do
 */
export async function rotateAndPrint(
  { encryption }: AppWithEncryption,
  given: { signal?: AbortSignal; giveUp?: string },
): Promise<boolean> {
  const rotation = await encryption.rotate({ ...given, onProgress: createProgressPrinter() });
  console.log(rotationLines(rotation).join('\n'));
  const problems = problemLines(rotation);
  for (const problem of problems) console.error(problem);
  return problems.length === 0;
}

if (import.meta.main) {
  try {
    const { command, giveUp } = readKeysArguments(process.argv.slice(2));
    if (command === 'generate') console.log(randomBytes(32).toString('base64'));
    else if (command === 'status') await runStatus();
    else await runRotation(giveUp);
  } catch (error) {
    printErrorAndExit((error as Error).message);
  }
}
