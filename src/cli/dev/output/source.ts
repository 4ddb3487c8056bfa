import { readFileSync } from 'node:fs';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { styleText } from 'node:util';

/** A longer line is that of a generated file. */
const MAX_LINE_LENGTH = 300;
const LINES_BEFORE = 2;

/** A line in a file of the app. */
export interface Place {
  /** Relative to the app. */
  file: string;
  line: number;
  column: number | undefined;
}

/** The files whose code is the app's own. */
export interface OwnCode {
  /** The folder of the app. */
  root: string;
  /** The folder of Belfry. In its own repository, that of the app: its code is the app's, too. */
  belfry: string;
}

const isWithin = (folder: string, file: string) => file.startsWith(folder.endsWith(sep) ? folder : folder + sep);

/**
 * Returns the place that a text such as `file:///srv/app/src/app.ts:12:5` or `src/app.ts:12` names; undefined if it is not in the app's own code, but
 * in Node.js, Belfry or another package.
 */
export function findPlace(text: string, { root, belfry }: OwnCode): Place | undefined {
  const [, name, line, column] = /^(.+?):(\d+)(?::(\d+))?$/.exec(text) ?? [];
  if (name === undefined || name.startsWith('node:')) return undefined;
  if (!name.startsWith('file:') && /^\w{2,}:|^</.test(name)) return undefined;
  const path = name.startsWith('file:') ? fileURLToPath(name) : resolve(root, name);
  if (!isAbsolute(path) || path.includes(`${sep}node_modules${sep}`)) return undefined;
  if (belfry !== root && isWithin(belfry, path)) return undefined;
  return { file: relative(root, path), line: Number(line), column: column === undefined ? undefined : Number(column) };
}

/** Formats a place as a text: `src/app.ts:12:5`. */
export const formatPlace = ({ file, line, column }: Place): string =>
  `${file}:${line}${column === undefined ? '' : `:${column}`}`;

/** Returns the line of a place with a marker below, and the lines before it. Empty if the file cannot be read or has no such line. */
export function formatExcerpt({ file, line, column }: Place, root: string): string[] {
  let lines: string[];
  try {
    lines = readFileSync(resolve(root, file), 'utf8').split('\n');
  } catch {
    return [];
  }
  const width = String(line).length;
  const shown = lines.slice(Math.max(0, line - 1 - LINES_BEFORE), line);
  if (line > lines.length || shown.some((each) => each.length > MAX_LINE_LENGTH)) return [];
  const rows = shown.map((text, i) => {
    const number = line - shown.length + 1 + i;
    const row = `${number === line ? '>' : ' '} ${String(number).padStart(width)} | ${text.trimEnd()}`;
    return number === line ? row : styleText('dim', row);
  });
  const marker =
    column !== undefined && column > 0
      ? shown
          .at(-1)!
          .slice(0, column - 1)
          .replaceAll(/[^\t]/g, ' ')
      : undefined;
  if (marker !== undefined) rows.push(`  ${' '.repeat(width)} | ${marker}${styleText('red', '^')}`);
  return rows.map((row) => `  ${row}`);
}
