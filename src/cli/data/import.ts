import { createReadStream, existsSync, statSync } from 'node:fs';
import type { BulkResource } from '../../declare/bulk.ts';
import type { FileRow, Format } from '../../records/bulk/read-rows.ts';
import { readRows } from '../../records/bulk/read-rows.ts';
import { createRowConverter, type ImportTotals, type RowImport, writeRows } from '../../records/bulk/write-rows.ts';
import type { OpenedApp } from '../project/project.ts';
import { formatCount, pluralize, stripControlCharacters } from '../terminal/terminal.ts';
import { createProgress } from './progress.ts';
import { createRejects, formatErrors, type Rejects } from './rejects.ts';
import { readViewer, type Viewer } from './viewer.ts';

/** Rejected rows that are printed; the file contains all of them. */
const PRINTED_REJECTIONS = 10;

/** The options of `import`. */
export interface ImportOptions {
  format?: Format;
  /** CSV: the character between two cells. Default: it is detected. */
  delimiter?: string;
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

function assertCanUpsertBy(resource: BulkResource, field: string, viewer: Viewer | undefined): void {
  const fields = resource.upsertFields(viewer);
  if (fields.includes(field)) return;
  const known = fields.length === 0 ? 'It has none.' : `Choose from ${fields.join(', ')}.`;
  throw new Error(`--upsert-by ${field}: it must be a unique field of ${resource.name}. ${known}`);
}

function printRejection(rejects: Rejects, { row }: FileRow, errors: Record<string, string>): void {
  if (rejects.count() <= PRINTED_REJECTIONS)
    console.error(`Row ${row}: ${stripControlCharacters(formatErrors(errors))}`);
  if (rejects.count() === PRINTED_REJECTIONS + 1) console.error('More rows were rejected; the file has all of them.');
}

function assertColumnsMatchOptions(header: readonly string[] | undefined, { map, upsertBy }: ImportOptions): void {
  if (header === undefined) return;
  const missing = [...map.keys()].find((column) => !header.includes(column));
  if (missing !== undefined)
    throw new Error(`--map: the file has no column "${missing}"; columns: ${header.join(', ')}`);
  if (upsertBy !== undefined && !header.some((column) => (map.get(column) ?? column) === upsertBy))
    throw new Error(`--upsert-by ${upsertBy}: the file has no such column.`);
}

function printTotals(
  { row, written }: ImportTotals,
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
  const input = file === '-' ? process.stdin : createReadStream(file);
  const source = await readRows(input, {
    format,
    delimiter: options.delimiter,
    onBytes(read) {
      bytes += read;
    },
  });
  const { header, rows } = source;
  if (source.notice !== undefined) console.error(`${source.notice}.`);
  const rowOptions = { map, mapOption: '--map', keepIds, keepTimes, isUpsert: upsertBy !== undefined };
  const convert = createRowConverter(resource, { header }, rowOptions);
  assertColumnsMatchOptions(header, options);
  const rejectsFile = options.rejects ?? `${file === '-' ? resource.name : file}.rejected.${format}`;
  const rejects = createRejects(rejectsFile, source);
  const run: RowImport = {
    resource,
    write: { user: viewer, upsertBy, dryRun: options.dryRun ?? false },
    convert,
    skip: options.skip,
    onRejected(row, errors) {
      rejects.add(row, errors);
      printRejection(rejects, row, errors);
    },
    onChunk({ row }) {
      handled = row;
      progress.update(row, size === undefined ? undefined : bytes / size);
    },
    isStopped: () => signal.aborted,
  };
  try {
    const totals = await writeRows(run, rows);
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
