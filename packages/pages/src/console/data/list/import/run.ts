import { call } from '../../../api.ts';
import { hrefOf } from '../../../router.ts';
import { texts } from '../../../texts.ts';
import type { ResourceInfo } from '../../app-info.ts';
import { detailedMessage } from '../../editors/values.ts';
import { recordsPath } from '../../schema.ts';
import { type CsvRow, formatCsv } from './csv.ts';
import { type Mapping, REFUSAL_COLUMNS } from './mapping.ts';
import type { Source } from './source.ts';

/** The rows of one request. The server reports the errors of as many. */
const PART_ROWS = 1000;
const PART_CHARACTERS = 4 * 2 ** 20;

/** A row that was refused. */
export interface RefusedRow {
  number: number;
  errors: Readonly<Record<string, string>>;
}

/** What an import has done, or what it would do. */
export interface ImportResult {
  written: number;
  rejected: number;
  /** Of a CSV file: all of them. Of other files: the first ones. */
  refused: readonly RefusedRow[];
  warnings: readonly string[];
}

interface Response {
  written: number;
  rejected: number;
  errors: readonly { row: number; errors: Readonly<Record<string, string>> }[];
  warnings: readonly string[];
}

/** How rows are imported. */
export interface ImportOptions {
  /** `check` changes nothing. */
  mode: 'check' | 'write';
  /** The parameters that relate rows to existing records. */
  existing: Readonly<Record<string, string>>;
  /** Ends the import of a CSV file between two parts, so that it is known what was written. */
  signal: AbortSignal;
}

async function send(
  resource: ResourceInfo,
  body: Blob | string,
  format: 'csv' | 'ndjson',
  { mode, existing }: ImportOptions,
): Promise<Response> {
  const headers = { 'Content-Type': format === 'csv' ? 'text/csv' : 'application/x-ndjson' };
  const path = hrefOf(recordsPath(resource, 'import'), new URLSearchParams({ format, mode, ...existing }));
  return (await call<Response>(path, { method: 'POST', body, headers })).data;
}

/** Imports an NDJSON file as it is. @throws RequestError */
export async function importNdjson(resource: ResourceInfo, file: File, options: ImportOptions): Promise<ImportResult> {
  const { errors, ...result } = await send(resource, file, 'ndjson', options);
  return { ...result, refused: errors.map(({ row, errors: found }) => ({ number: row, errors: found })) };
}

/** The cells of the columns that are imported. */
export const pickCells = (cells: readonly string[], mapping: Mapping): string[] =>
  mapping.flatMap((name, i) => (name === '' ? [] : [cells[i] ?? '']));

/** Why a row is not sent: it is malformed, or has no value to import; undefined if it is sent. */
export function rowProblem({ cells, error }: CsvRow, mapping: Mapping): string | undefined {
  if (error !== undefined) return error;
  // The server does not number such rows.
  return pickCells(cells, mapping).every((cell) => cell.trim() === '') ? texts.imports.noValue : undefined;
}

/** Splits rows into parts for one request each. */
export function* splitRows(rows: readonly CsvRow[]): Generator<CsvRow[]> {
  let part: CsvRow[] = [];
  let length = 0;
  for (const row of rows) {
    part.push(row);
    length += row.cells.reduce((sum, cell) => sum + cell.length, 0);
    if (part.length < PART_ROWS && length < PART_CHARACTERS) continue;
    yield part;
    part = [];
    length = 0;
  }
  if (part.length > 0) yield part;
}

/** An import that ended early. `result` has what was done before. */
export class ImportStopped extends Error {
  readonly result: ImportResult;

  constructor(message: string, result: ImportResult) {
    super(message);
    this.result = result;
  }
}

/** Says up to which row of the file everything was handled, so that the rest can be imported. */
const handledText = (rows: readonly CsvRow[], done: number): string =>
  done === 0 ? texts.imports.noRow : texts.imports.handled(rows[done - 1]?.number ?? done);

/**
 * Imports a CSV file in parts.
 *
 * @param onProgress called with the number of rows that were handled
 * @throws ImportStopped
 */
export async function importCsv(
  resource: ResourceInfo,
  { rows }: Pick<Source, 'rows'>,
  mapping: Mapping,
  options: ImportOptions,
  onProgress: (done: number) => void,
): Promise<ImportResult> {
  const header = mapping.filter((name) => name !== '');
  const refused: RefusedRow[] = [];
  const warnings = new Set<string>();
  let written = 0;
  let done = 0;
  const resultSoFar = (): ImportResult => ({ written, rejected: refused.length, refused, warnings: [...warnings] });
  for (const part of splitRows(rows)) {
    if (options.signal.aborted)
      throw new ImportStopped(`${texts.imports.stopped} ${handledText(rows, done)}`, resultSoFar());
    const sent: CsvRow[] = [];
    for (const row of part) {
      const problem = rowProblem(row, mapping);
      if (problem === undefined) sent.push(row);
      else refused.push({ number: row.number, errors: { row: problem } });
    }
    if (sent.length > 0) {
      const text = formatCsv([header, ...sent.map(({ cells }) => pickCells(cells, mapping))], ',');
      const result = await send(resource, text, 'csv', options).catch((error: unknown) => {
        const [first, last] = [sent[0]?.number ?? 0, sent.at(-1)?.number ?? 0];
        const doubt = options.mode === 'write' ? ` ${texts.imports.inDoubt(first, last)}` : '';
        throw new ImportStopped(`${detailedMessage(error)} ${handledText(rows, done)}${doubt}`, resultSoFar());
      });
      written += result.written;
      for (const { row, errors } of result.errors) refused.push({ number: sent[row - 1]?.number ?? row, errors });
      for (const warning of result.warnings) warnings.add(warning);
    }
    done += part.length;
    onProgress(done);
  }
  refused.sort((a, b) => a.number - b.number);
  return resultSoFar();
}

/** Formats the errors of a row: `title: Is required; price: Must be a number`. */
const formatErrors = (errors: RefusedRow['errors']): string =>
  Object.entries(errors)
    .map(([name, text]) => (name === 'row' ? text : `${name}: ${text}`))
    .join('; ');

/** The refused rows of a file as CSV, with their numbers and errors. It can be corrected and imported again. */
export function refusedCsv({ header, rows, delimiter }: Source, refused: readonly RefusedRow[]): string {
  const errorsOf = new Map(refused.map(({ number, errors }) => [number, formatErrors(errors)]));
  const isKept = (_: string, i: number) => !REFUSAL_COLUMNS.includes(header[i] ?? '');
  const lines = rows.flatMap(({ number, cells }) => {
    const error = errorsOf.get(number);
    if (error === undefined) return [];
    const inColumns = header.map((_, i) => cells[i] ?? '').filter(isKept);
    // Cells beyond the header stay, so that nothing of the row is lost.
    return [[...inColumns, String(number), error, ...cells.slice(header.length)]];
  });
  return formatCsv([[...header.filter(isKept), ...REFUSAL_COLUMNS], ...lines], delimiter);
}
