import type { ImportProgress } from '../../src/accounts/import/import.ts';

type Shown = Record<string, unknown>;

const shown = (count: number) => count.toLocaleString('en-US');

/** Removes control characters from user-provided text, since they could manipulate the terminal. */
function plain(value: unknown): string {
  return String(value ?? '').replaceAll(/\p{Cc}/gu, ' ');
}

/** Aligns cells in columns. */
function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows.reduce<number[]>((most, row) => row.map((cell, i) => Math.max(most[i] ?? 0, cell.length)), []);
  return rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join('   ')
      .trimEnd(),
  );
}

/** Formats the output of `list`. */
export function userLines(users: readonly Shown[]): string[] {
  if (users.length === 0) return ['No users found.'];
  const rows = users.map(({ id, email, name, roles, status }) => [id, email, name, roles, status].map(plain));
  return table([['id', 'email', 'name', 'roles', 'status'], ...rows]);
}

/** Formats the output of `sessions`. */
export function sessionLines(sessions: readonly object[]): string[] {
  if (sessions.length === 0) return ['No active sessions.'];
  const rows = (sessions as Shown[]).map((one) =>
    [one.id, one.createdAt, one.lastUsedAt, one.ip, one.userAgent].map(plain),
  );
  return table([['id', 'created', 'last used', 'address', 'user agent'], ...rows]);
}

/** Formats the output of `mails`: captured e-mails as text. */
export function mailLines(mails: readonly { to: string; subject: string; text: string }[]): string[] {
  if (mails.length === 0) return ['No e-mails captured.'];
  return mails.map(({ to, subject, text }) => `To: ${plain(to)}\nSubject: ${plain(subject)}\n\n${text.trim()}\n`);
}

/** Formats the progress of an import. */
export function importLine({ lines, imported, existing, refused }: ImportProgress): string {
  return `${shown(lines)} lines: ${shown(imported)} imported, ${shown(existing)} already stored, ${shown(refused)} refused`;
}
