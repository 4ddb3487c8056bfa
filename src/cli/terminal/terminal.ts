/** Formats a count for the terminal: `1,234`. */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

/** Formats a count of things: `1 value`, `1,234 values`. @param more the words for several things; default: `thing` with an s */
export function pluralize(count: number, thing: string, more = `${thing}s`): string {
  return `${formatCount(count)} ${count === 1 ? thing : more}`;
}

/** Formats a duration: `950 ms`, `12 s`, `3 min`, `2.5 h`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`;
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`;
  return `${(ms / 3_600_000).toFixed(1)} h`;
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

/** Thrown by a command that failed and has printed why, or whose `cause` says why. */
export class ReportedFailure extends Error {
  readonly exitCode: number;

  constructor(exitCode = 1, options?: ErrorOptions) {
    super(undefined, options);
    this.exitCode = exitCode;
  }
}
