import { randomBytes } from 'node:crypto';
import { type Command, InvalidArgumentError } from 'commander';
import { runUntilStopRequest } from '../dev-servers/on-stop-request.ts';
import type { EncryptionStatus, KeyStatus } from '../platform/data/crypto/encryption.ts';
import type { Rotation, RotationProgress } from '../platform/data/crypto/rotation/rotate.ts';
import { type AppOpener, DATABASE_ONLY, type OpenedApp } from './project/project.ts';
import { alignColumns, formatCount, pluralize, ReportedFailure } from './terminal/terminal.ts';

function describeRole({ place }: KeyStatus, isRingKnown: boolean): string {
  if (!isRingKnown) return '';
  if (place === undefined) return 'not in SVC_ENCRYPTION_KEYS';
  return place === 0 ? 'encrypts' : 'decrypts';
}

function describeHistory({ firstUsedAt, retiredAt }: KeyStatus): string {
  if (firstUsedAt === undefined) return 'never used by a running process';
  const since = `in use since ${firstUsedAt.slice(0, 10)}`;
  return retiredAt === undefined ? since : `${since}, retired ${retiredAt.slice(0, 10)}`;
}

/** Formats the output of `keys status`. @param developmentKeyId the id of the key that apps have without SVC_ENCRYPTION_KEYS */
function statusLines({ keys, values }: EncryptionStatus, developmentKeyId: string): string[] {
  // A key that nothing has ever used only stands for the missing variable.
  const isStandIn = ({ keyId, firstUsedAt }: KeyStatus) =>
    keyId === developmentKeyId && firstUsedAt === undefined && values.every((one) => one.keyId !== keyId);
  const isRingKnown = !keys.some(isStandIn);
  const order = keys
    .filter((key) => !isStandIn(key))
    .toSorted((a, b) => (a.place ?? keys.length) - (b.place ?? keys.length));
  const countValues = (name: string, keyId: string | null) =>
    values.find((one) => one.name === name && one.keyId === keyId)?.count ?? 0;
  const names = [...new Set(values.map(({ name }) => name))].sort();
  const total = (keyId: string) => names.reduce((sum, name) => sum + countValues(name, keyId), 0);
  const keyRows = order.map((key) => [
    key.keyId,
    describeRole(key, isRingKnown),
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
    ...(isRingKnown
      ? []
      : ['', 'SVC_ENCRYPTION_KEYS is not set here, so the command cannot say which of the keys the service has.']),
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
          'events in the outbox have values whose key is lost. To discard those values: npx belfry keys rotate --give-up <key id>',
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
        `No value is encrypted with key ${id} any more. You can remove it from SVC_ENCRYPTION_KEYS (see docs/build/encryption.md).`,
    ),
  ];
}

const PROGRESS_EVERY_MS = 1000;

/** Prints a line for the first and the last batch of a table, and at most one per second in between. */
function createProgressPrinter(): (progress: RotationProgress) => void {
  let last = { table: '', at: 0 };
  return ({ table, done, total }) => {
    if (table === last.table && done < total && performance.now() - last.at < PROGRESS_EVERY_MS) return;
    last = { table, at: performance.now() };
    console.log(`${table}: ${formatCount(done)} of ${formatCount(total)} values`);
  };
}

/**
 * Re-encrypts everything with the newest key and prints the progress.
 *
 * @throws ReportedFailure if something is left to do
 */
async function rotateAndPrint({ encryption }: OpenedApp, giveUp: string | undefined, signal: AbortSignal) {
  const rotation = await encryption.rotate({ signal, giveUp, onProgress: createProgressPrinter() });
  console.log(rotationLines(rotation).join('\n'));
  const problems = problemLines(rotation);
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) throw new ReportedFailure();
}

function parseKeyId(text: string): string {
  if (/^[0-9a-f]{8}$/.test(text)) return text;
  throw new InvalidArgumentError('A key id has 8 hex digits; npx belfry keys status lists them.');
}

/** Adds `belfry keys`, which manages the keys of encrypted values. */
export function addKeysCommand(program: Command, openApp: AppOpener): void {
  const keys = program
    .command('keys')
    .description('Generate and rotate encryption keys, and show how many values each encrypts');
  const open = (command: Command, needsKeys: boolean) =>
    openApp({
      command: 'keys',
      appFile: command.optsWithGlobals().app,
      environment: DATABASE_ONLY,
      orDevelopment: true,
      needsKeys,
    });
  keys
    .command('generate')
    .description('Generate a key for SVC_ENCRYPTION_KEYS, and print it')
    .action(() => console.log(randomBytes(32).toString('base64')));
  keys
    .command('status')
    .description('Show how many values each key encrypts')
    .action(async (_options: object, command: Command) => {
      const app = await open(command, false);
      const { createKeyring } = await import('../platform/data/crypto/keyring.ts');
      const { DEVELOPMENT_KEY } = await import('../platform/settings/environment.ts');
      const [developmentKeyId] = createKeyring([DEVELOPMENT_KEY]).keyIds;
      console.log(statusLines(await app.encryption.status(), developmentKeyId!).join('\n'));
    });
  keys
    .command('rotate')
    .description('Encrypt all values again with the newest key')
    .option(
      '--give-up <key id>',
      'Discard the values in the outbox that were encrypted with this key, which is lost',
      parseKeyId,
    )
    .action(async ({ giveUp }: { giveUp?: string }, command: Command) => {
      const app = await open(command, true);
      await runUntilStopRequest((signal) => rotateAndPrint(app, giveUp, signal));
    });
}
