import type { FieldInfo, ResourceInfo } from '../../app-info.ts';
import { isEditable } from '../../editors/locks.ts';
import type { Texts } from './texts.en.ts';

/** The field that each column of a file sets, in the order of the columns; an empty name: the column is not imported. */
export type Mapping = readonly string[];

/** The columns that the file of refused rows adds. */
export const REFUSAL_COLUMNS: readonly string[] = ['_row', '_error'];

/**
 * The names of the fields that columns may set.
 *
 * @param isNew whether they are those of a new record, also of a user
 * @param keepsIds whether records keep the ids and times in the file
 */
export function targetsOf(
  { fields, timestamps }: Pick<ResourceInfo, 'fields' | 'timestamps'>,
  isNew: boolean,
  keepsIds: boolean,
): string[] {
  const names = fields.filter((field) => isEditable(field, isNew)).map(({ name }) => name);
  if (!keepsIds) return names;
  return [...new Set(['id', ...names, ...(timestamps ? ['createdAt', 'updatedAt'] : [])])];
}

/** The letters and digits of a name: `Starts at`, `starts_at` and `startsAt` are the same. */
const simplify = (name: string): string =>
  name
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '');

/**
 * Finds the field of each column: by its exact name, else by the words of its name or label. A field is given to one column.
 *
 * @param labelOf returns the name of a field for people
 */
export function mapColumns(
  header: readonly string[],
  targets: readonly string[],
  labelOf: (name: string) => string,
): Mapping {
  const found = header.map((column) => targets.find((name) => name === column.trim()) ?? '');
  const isTaken = (name: string) => found.includes(name);
  for (const [i, column] of header.entries()) {
    const words = simplify(column);
    if (found[i] !== '' || words === '' || REFUSAL_COLUMNS.includes(column.trim())) continue;
    found[i] =
      targets.find((name) => [name, labelOf(name)].some((one) => simplify(one) === words) && !isTaken(name)) ?? '';
  }
  return found.map((name, i) => (name !== '' && found.indexOf(name) < i ? '' : name));
}

/** The fields that new records need and that no column sets. */
export function missingFields(fields: readonly FieldInfo[], mapping: Mapping, targets: readonly string[]): string[] {
  return fields
    .filter(({ required, computedDefault, name, ...field }) => {
      const hasDefault = computedDefault === true || field.default !== undefined;
      return required && !hasDefault && targets.includes(name) && !mapping.includes(name);
    })
    .map(({ name }) => name);
}

/** Why a file cannot be imported with a mapping; undefined if it can. @param upsertBy the field by which records are found */
export function mappingProblem(mapping: Mapping, texts: Texts, upsertBy?: string): string | undefined {
  const used = mapping.filter((name) => name !== '');
  const repeated = used.find((name, i) => used.indexOf(name) < i);
  if (repeated !== undefined) return texts.repeated(repeated);
  if (upsertBy !== undefined && !used.includes(upsertBy)) return texts.chooseKey(upsertBy);
  return used.length === 0 ? texts.chooseOne : undefined;
}
