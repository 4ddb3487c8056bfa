import type { EncryptionStatus, KeyStatus } from '../../src/platform/crypto/encryption.ts';
import type { Rotation } from '../../src/platform/crypto/rotation/rotate.ts';

const shown = (count: number) => count.toLocaleString('en-US');
const some = (count: number, thing: string, more = `${thing}s`) => `${shown(count)} ${count === 1 ? thing : more}`;

/** Aligns cells in columns. */
function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows.reduce<number[]>((most, row) => row.map((cell, i) => Math.max(most[i] ?? 0, cell.length)), []);
  return rows.map((row) => `  ${row.map((cell, i) => cell.padEnd(widths[i]!)).join('   ')}`.trimEnd());
}

function roleOf({ place }: KeyStatus): string {
  if (place === undefined) return 'not in SVC_ENCRYPTION_KEYS';
  return place === 0 ? 'encrypts' : 'decrypts';
}

function historyOf({ firstUsedAt, retiredAt }: KeyStatus): string {
  if (firstUsedAt === undefined) return 'never used by a running process';
  const since = `in use since ${firstUsedAt.slice(0, 10)}`;
  return retiredAt === undefined ? since : `${since}, retired ${retiredAt.slice(0, 10)}`;
}

/** Formats the output of `npm run keys -- status`. */
export function statusLines({ keys, values }: EncryptionStatus): string[] {
  const order = keys.toSorted((a, b) => (a.place ?? keys.length) - (b.place ?? keys.length));
  const of = (name: string, keyId: string | null) =>
    values.find((one) => one.name === name && one.keyId === keyId)?.count ?? 0;
  const names = [...new Set(values.map(({ name }) => name))].sort();
  const total = (keyId: string) => names.reduce((sum, name) => sum + of(name, keyId), 0);
  const keyRows = order.map((key) => [
    key.keyId,
    roleOf(key),
    historyOf(key),
    some(total(key.keyId), 'value'),
    key.processes > 0 ? `${some(key.processes, 'process encrypts', 'processes encrypt')} with it` : '',
  ]);
  const valueRows = names.map((name) => [
    name,
    ...order.map(({ keyId }) => (of(name, keyId) === 0 ? '-' : shown(of(name, keyId)))),
    of(name, null) === 0 ? '' : `${some(of(name, null), 'is', 'are')} not encrypted`,
  ]);
  return [
    'Keys by id:',
    ...table(keyRows),
    '',
    ...(names.length === 0
      ? ['Nothing is encrypted yet.']
      : ['Values by key:', ...table([['', ...order.map(({ keyId }) => keyId), ''], ...valueRows])]),
  ];
}

/** Returns what a rotation leaves to do, one line each. Empty if nothing is left or if it was stopped. */
export function problemLines({ undecryptable, left, busy, stopped }: Rotation): string[] {
  if (stopped) return [];
  return [
    ...undecryptable.map(({ name, count, ids }) => {
      const more = count > ids.length ? ` and ${shown(count - ids.length)} more` : '';
      return `${name}: ${some(count, 'value')} cannot be decrypted: ${ids.join(', ')}${more}`;
    }),
    ...(undecryptable.some(({ name }) => name.startsWith('outbox: '))
      ? [
          'events in the outbox have values whose key is lost. To discard those values: npm run keys -- rotate --give-up <key id>',
        ]
      : []),
    ...(left > 0
      ? [
          `${some(left, 'value is', 'values are')} still encrypted with older keys, because other processes hold the rows. Run this again`,
        ]
      : []),
    ...busy.map(
      ({ keyId, processes }) =>
        `key ${keyId} cannot be retired: ${some(processes, 'running process encrypts', 'running processes encrypt')} with it. Restart them with the newest key, then run this again (a killed process counts for a minute)`,
    ),
  ];
}

/** Formats the result of a rotation. */
export function rotationLines({ keyId, rotated, givenUp, removable, stopped }: Rotation): string[] {
  if (stopped) return [`Stopped after ${some(rotated, 'value')}. Run it again to continue.`];
  return [
    `${some(rotated, 'value was', 'values were')} encrypted with key ${keyId}.`,
    ...(givenUp > 0 ? [`${some(givenUp, 'value')} in the outbox ${givenUp === 1 ? 'was' : 'were'} discarded.`] : []),
    ...removable.map(
      (id) =>
        `No value is encrypted with key ${id} any more. You can remove it from SVC_ENCRYPTION_KEYS (see docs/encryption.md).`,
    ),
  ];
}
