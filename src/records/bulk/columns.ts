import type { BulkField, BulkResource } from '../../declare/bulk.ts';
import { suggestKnownNames } from '../../platform/helpers/did-you-mean.ts';
import { isId } from '../../platform/helpers/ids.ts';
import { parseFileDate } from '../fields/types/date.ts';
import { parseCell } from './cells.ts';
import { type ImportedTimes, isTimeName, parseTimes, type TimeName } from './times.ts';

/** A column of an export that an import does not set. */
const IGNORED = 'deletedAt';

/** The columns that the file of rejected rows adds. The file can be corrected and imported again. */
export const REJECTION_COLUMNS = ['_row', '_error'] as const;

/** How an import reads rows. */
export interface RowOptions {
  /** Field names by column; an empty name leaves the column out. */
  map: ReadonlyMap<string, string>;
  keepIds: boolean;
  keepTimes: boolean;
  /** The option of a command that maps columns, for error messages: `--map`. Left out: there is none. */
  mapOption?: string;
  /** Whether rows may update records: then an empty cell clears an optional field. */
  isUpsert: boolean;
}

/** A row as the import writes it, or its errors by column. */
export type ConvertedRow =
  | { values: Record<string, unknown>; id: string | undefined; times: ImportedTimes | undefined }
  | { errors: Record<string, string> };

/** What a column of a file sets. */
type Target = BulkField | 'id' | TimeName | undefined;

/** Finds the field that each column sets. */
export interface ColumnTargets {
  /** @throws Error for an unknown column */
  of(column: string): Target;
}

/** Creates the lookup of columns in the fields of a resource. */
export function createColumnTargets(
  resource: Pick<BulkResource, 'name' | 'writable'>,
  { map, mapOption }: Pick<RowOptions, 'map' | 'mapOption'>,
): ColumnTargets {
  const fields = new Map(resource.writable.map((field) => [field.name, field]));
  return {
    of(column) {
      const name = map.get(column) ?? column;
      if (name === '' || name === IGNORED || REJECTION_COLUMNS.some((own) => own === column)) return undefined;
      if (name === 'id' || isTimeName(name)) return name;
      const field = fields.get(name);
      if (field !== undefined) return field;
      const advice =
        map.has(column) || mapOption === undefined ? '' : ` To leave it out, add ${mapOption} "${column}=".`;
      throw new Error(
        `The column "${column}" is not a field of ${resource.name}${suggestKnownNames(name, 'fields', ['id', ...fields.keys()])}${advice}`,
      );
    },
  };
}

/** The error of a header that names a column or a field twice; undefined if there is none. */
export function findRepeatedColumn(
  header: readonly string[],
  { map, mapOption }: Pick<RowOptions, 'map' | 'mapOption'>,
): string | undefined {
  const names = header.map((column) => map.get(column) ?? column).filter((name) => name !== '');
  const repeated = names.find((name, i) => names.indexOf(name) < i);
  if (repeated === undefined) return undefined;
  return `Two columns set "${repeated}". Rename one, or leave it out${mapOption === undefined ? '' : ` with ${mapOption}`}.`;
}

function readId(value: unknown, keepIds: boolean, errors: Record<string, string>): string | undefined {
  if (!keepIds || value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'string' && isId(value)) return value;
  errors.id = 'Must be an id of 24 hexadecimal characters';
  return undefined;
}

/** Converts the cells of a CSV row. Errors are named by column. */
export function convertCells(
  header: readonly string[],
  cells: readonly string[],
  targets: ColumnTargets,
  { keepIds, keepTimes, isUpsert }: RowOptions,
): ConvertedRow {
  const values: Record<string, unknown> = {};
  const givenTimes: Partial<Record<TimeName, unknown>> = {};
  const errors: Record<string, string> = {};
  let id: string | undefined;
  for (const [i, column] of header.entries()) {
    const target = targets.of(column);
    const text = cells[i]!;
    if (target === 'id') id = readId(text, keepIds, errors);
    else if (isTimeName(target)) givenTimes[target] = text;
    else if (target !== undefined && text === '') {
      if (isUpsert && !target.spec.required && !target.closed) values[target.name] = null;
    } else if (target !== undefined) {
      const parsed = parseCell(target, text);
      if ('error' in parsed) errors[column] = parsed.error;
      else values[target.name] = parsed.value;
    }
  }
  const times = keepTimes ? parseTimes(givenTimes, errors) : undefined;
  return Object.keys(errors).length > 0 ? { errors } : { values, id, times };
}

/** Converts an object of an NDJSON file. Errors are named by member, including unknown members. */
export function convertObject(
  object: Record<string, unknown>,
  targets: ColumnTargets,
  { keepIds, keepTimes }: RowOptions,
): ConvertedRow {
  const values: Record<string, unknown> = {};
  const givenTimes: Partial<Record<TimeName, unknown>> = {};
  const errors: Record<string, string> = {};
  let id: string | undefined;
  for (const [column, value] of Object.entries(object)) {
    let target: Target;
    try {
      target = targets.of(column);
    } catch (error) {
      errors[column] = (error as Error).message;
      continue;
    }
    if (target === 'id') id = readId(value, keepIds, errors);
    else if (isTimeName(target)) givenTimes[target] = value;
    else if (target?.type.kind === 'date' && typeof value === 'string')
      values[target.name] = parseFileDate(value) ?? value;
    else if (target !== undefined) values[target.name] = value;
  }
  const times = keepTimes ? parseTimes(givenTimes, errors) : undefined;
  return Object.keys(errors).length > 0 ? { errors } : { values, id, times };
}
