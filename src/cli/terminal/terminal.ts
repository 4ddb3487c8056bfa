/** Formats a count for the terminal: `1,234`. */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

/** Formats a count of things: `1 value`, `1,234 values`. @param more the words for several things; default: `thing` with an s */
export function pluralize(count: number, thing: string, more = `${thing}s`): string {
  return `${formatCount(count)} ${count === 1 ? thing : more}`;
}

/** Removes control characters from user-provided text, also those that reorder text, because they could manipulate the terminal. */
export function stripControlCharacters(value: unknown): string {
  return String(value ?? '').replaceAll(/[\p{Cc}\p{Bidi_Control}]/gu, ' ');
}

/** Aligns cells in columns. @param indent the start of each line */
export function alignColumns(rows: readonly (readonly string[])[], indent = ''): string[] {
  const widths = rows.reduce<number[]>(
    (widest, row) => row.map((cell, i) => Math.max(widest[i] ?? 0, cell.length)),
    [],
  );
  return rows.map((row) => `${indent}${row.map((cell, i) => cell.padEnd(widths[i]!)).join('   ')}`.trimEnd());
}

/** Thrown by a command that failed and has printed why. The exit code is 1. */
export class ReportedFailure extends Error {}
