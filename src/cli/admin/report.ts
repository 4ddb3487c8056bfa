import type { ImportProgress } from '../../accounts/import/import.ts';
import { alignColumns, formatCount, pluralize, stripControlCharacters } from '../terminal/terminal.ts';

type DisplayedRow = Record<string, unknown>;

/** Formats the output of `list`. */
export function userLines(users: readonly DisplayedRow[]): string[] {
  if (users.length === 0) return ['No users found.'];
  const rows = users.map(({ id, email, name, roles, status }) =>
    [id, email, name, roles, status].map(stripControlCharacters),
  );
  return alignColumns([['id', 'email', 'name', 'roles', 'status'], ...rows]);
}

/** Formats the output of `sessions`. */
export function sessionLines(sessions: readonly object[]): string[] {
  if (sessions.length === 0) return ['No active sessions.'];
  const rows = (sessions as DisplayedRow[]).map((one) =>
    [one.id, one.createdAt, one.lastUsedAt, one.method, one.ip, one.userAgent].map(stripControlCharacters),
  );
  return alignColumns([['id', 'created', 'last used', 'method', 'address', 'user agent'], ...rows]);
}

/** Formats the output of `mails`: captured e-mails as text. */
export function mailLines(mails: readonly { to: string; subject: string; text: string }[]): string[] {
  if (mails.length === 0) return ['No e-mails captured.'];
  return mails.map(
    ({ to, subject, text }) =>
      `To: ${stripControlCharacters(to)}\nSubject: ${stripControlCharacters(subject)}\n\n${text.trim()}\n`,
  );
}

/** Formats the progress of an import. */
export function importLine({ lines, imported, existing, refused }: ImportProgress): string {
  return `${pluralize(lines, 'line')}: ${formatCount(imported)} imported, ${formatCount(existing)} already stored, ${formatCount(refused)} refused`;
}
