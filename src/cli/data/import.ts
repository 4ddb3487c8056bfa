import { existsSync, statSync } from 'node:fs';
import type { OpenedApp } from '../project.ts';
import { formatCount, pluralize, stripControlCharacters } from '../terminal.ts';
import type { Resource } from './cells.ts';
import {
  type ColumnTargets,
  type ConvertedRow,
  convertCells,
  convertObject,
  createColumnTargets,
  findRepeatedColumn,
  type RowOptions,
} from './columns.ts';
import { createProgress } from './progress.ts';
import { type FileRow, type Format, openRows } from './read-rows.ts';
import { createRejects, formatErrors, type Rejects } from './rejects.ts';
import { readViewer, type Viewer } from './viewer.ts';

/** Rows that are written together. */
const ROWS_PER_CHUNK = 500;
/** Rejected rows that are printed; the file contains all of them. */
const PRINTED_REJECTIONS = 10;

/** The options of `import`. */
export interface ImportOptions {
  format?: Format;
  dryRun?: boolean;
  upsertBy?: string;
  map: ReadonlyMap<string, string>;
  rejects?: string;
  user?: string;
  keepIds?: boolean;
  keepTimes?: boolean;
  /** Rows to leave out at the beginning. */
  skip: number;
}

/** What an import has done. */
interface Totals {
  /** The number of the last row that was handled. */
  row: number;
  written: number;
}

function assertCanUpsertBy(resource: Resource, field: string, viewer: Viewer | undefined): void {
  const fields = resource.upsertFields(viewer);
  if (fields.includes(field)) return;
  const known = fields.length === 0 ? 'It has none.' : `Choose from ${fields.join(', ')}.`;
  throw new Error(`--upsert-by ${field}: it must be a unique field of ${resource.name}. ${known}`);
}

/** Converts the public error of a row to messages by column. */
function errorsOf(error: { message: string; details: Record<string, string> | undefined }): Record<string, string> {
  return error.details ?? { row: error.message };
}

function printRejection(rejects: Rejects, { row }: FileRow, errors: Record<string, string>): void {
  if (rejects.count() <= PRINTED_REJECTIONS)
    console.error(`Row ${row}: ${stripControlCharacters(formatErrors(errors))}`);
  if (rejects.count() === PRINTED_REJECTIONS + 1) console.error('More rows were rejected; the file has all of them.');
}

interface ImportRun {
  resource: Resource;
  viewer: Viewer | undefined;
  options: ImportOptions;
  convert(row: FileRow): ConvertedRow;
  rejects: Rejects;
}

/** Writes rows, and rejects those that are invalid. Returns the number of rows that were written. */
async function writeChunk(
  { resource, viewer, options, convert, rejects }: ImportRun,
  rows: readonly FileRow[],
): Promise<number> {
  const converted = rows.map(
    (row): ConvertedRow => (row.error === undefined ? convert(row) : { errors: { row: row.error } }),
  );
  const valid = converted.flatMap((one, i) => ('errors' in one ? [] : [{ ...one, i }]));
  const { upsertBy, dryRun = false } = options;
  const results = valid.length === 0 ? [] : await resource.write(valid, { user: viewer, upsertBy, dryRun });
  const errors = converted.map((one) => ('errors' in one ? one.errors : undefined));
  for (const [at, error] of results.entries()) if (error !== undefined) errors[valid[at]!.i] = errorsOf(error);
  for (const [i, row] of rows.entries()) {
    if (errors[i] === undefined) continue;
    rejects.add(row, errors[i]);
    printRejection(rejects, row, errors[i]);
  }
  return errors.filter((one) => one === undefined).length;
}

/** Writes all rows in chunks, until the end of the file or until the signal. */
async function writeRows(
  run: ImportRun,
  rows: AsyncIterable<FileRow>,
  signal: AbortSignal,
  onChunk: (totals: Totals) => void,
): Promise<Totals> {
  const totals: Totals = { row: run.options.skip, written: 0 };
  let chunk: FileRow[] = [];
  const flush = async () => {
    if (chunk.length === 0) return;
    totals.written += await writeChunk(run, chunk);
    totals.row = chunk.at(-1)!.row;
    chunk = [];
    onChunk(totals);
  };
  for await (const row of rows) {
    if (row.row <= run.options.skip) continue;
    chunk.push(row);
    if (chunk.length === ROWS_PER_CHUNK) await flush();
    if (signal.aborted) return totals;
  }
  await flush();
  return totals;
}

function assertColumnsKnown(
  header: readonly string[] | undefined,
  targets: ColumnTargets,
  { map, upsertBy }: ImportOptions,
): void {
  if (header === undefined) return;
  for (const column of header) targets.of(column);
  const missing = [...map.keys()].find((column) => !header.includes(column));
  if (missing !== undefined)
    throw new Error(`--map: the file has no column "${missing}"; columns: ${header.join(', ')}`);
  const repeated = findRepeatedColumn(header, map);
  if (repeated !== undefined) throw new Error(repeated);
  if (upsertBy !== undefined && !header.some((column) => (map.get(column) ?? column) === upsertBy))
    throw new Error(`--upsert-by ${upsertBy}: the file has no such column.`);
}

function printTotals(
  { row, written }: Totals,
  rejects: Rejects,
  file: string,
  options: ImportOptions,
  stopped: boolean,
): void {
  const done = options.dryRun ? 'valid (dry run: nothing was stored)' : 'imported';
  console.log(
    `${pluralize(row - options.skip, 'row')}: ${formatCount(written)} ${done}, ${formatCount(rejects.count())} rejected`,
  );
  if (stopped) console.log(`Stopped. To continue, run the command again with --skip ${row}.`);
  if (rejects.count() > 0) console.error(`Rejected rows, with reasons: ${file}. Correct them, then import this file.`);
}

/**
 * Imports the rows of a file until its end or until the signal, and prints the result. Each row is stored or rejected by itself.
 *
 * @returns whether no row was rejected
 * @throws Error if the file or an option is unusable; then no row was stored
 */
export async function importRows(
  app: OpenedApp,
  name: string,
  file: string,
  options: ImportOptions & { format: Format },
  signal: AbortSignal,
): Promise<boolean> {
  if (file !== '-' && !existsSync(file)) throw new Error(`${file}: there is no such file.`);
  const resource = app.bulk.resource(name);
  const viewer = await readViewer(app, options.user);
  const { format, map, upsertBy, keepIds = false, keepTimes = false } = options;
  if (upsertBy !== undefined) assertCanUpsertBy(resource, upsertBy, viewer);
  if (keepTimes && !resource.timestamps)
    throw new Error(`--keep-times: records of ${resource.name} have no createdAt and updatedAt.`);
  const progress = createProgress();
  const size = file === '-' ? undefined : statSync(file).size;
  let bytes = 0;
  let handled = options.skip;
  const { header, rows } = await openRows(file, format, (read) => {
    bytes += read;
  });
  const targets = createColumnTargets(resource, { map });
  assertColumnsKnown(header, targets, options);
  const rowOptions: RowOptions = { map, keepIds, keepTimes, isUpsert: upsertBy !== undefined };
  const rejectsFile = options.rejects ?? `${file === '-' ? resource.name : file}.rejected.${format}`;
  const rejects = createRejects(rejectsFile, header);
  const convert = ({ content }: FileRow) =>
    header === undefined
      ? convertObject(content as Record<string, unknown>, targets, rowOptions)
      : convertCells(header, content as readonly string[], targets, rowOptions);
  try {
    const run = { resource, viewer, options, convert, rejects };
    const totals = await writeRows(run, rows, signal, ({ row }) => {
      handled = row;
      progress.update(row, size === undefined ? undefined : bytes / size);
    });
    progress.end();
    printTotals(totals, rejects, rejectsFile, options, signal.aborted);
    return rejects.count() === 0;
  } catch (error) {
    progress.end();
    if (handled > options.skip)
      console.error(`Rows up to ${handled} were handled. To continue, run the command again with --skip ${handled}.`);
    throw error;
  } finally {
    rejects.close();
  }
}
