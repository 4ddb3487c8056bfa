import {
  type Fields,
  isId,
  quoteIdentifier,
  type ResourceGateway,
  type StoredRecord,
  snakeCase,
} from '../../../extension/index.ts';
import { toNfc } from '../../../records/fields/text-rules.ts';
import type { DataContext } from './context.ts';
import { findTarget, isSecretField, listFields } from './field-info.ts';
import { findLabelField } from './resource-info.ts';

/** Maximum records of a resource that one response labels. */
const MAX_LABELS = 500;
const MAX_LABEL_LENGTH = 200;

/** A record to choose in a picker. */
export interface RecordOption {
  id: string;
  label: string;
}

/** The labels of records by id, by resource. */
type Labels = Record<string, Record<string, string>>;

/** The text that names a record: the value of its label field, else its id. */
export function labelOf({ declaration }: ResourceGateway, record: StoredRecord): string {
  const field = findLabelField(declaration);
  const value = field === undefined ? undefined : record[field];
  return typeof value === 'string' && value.trim() !== '' ? value.slice(0, MAX_LABEL_LENGTH).toWellFormed() : record.id;
}

/** The SQL of the label of a row. */
function labelSql(field: string): string {
  return `left(${quoteIdentifier(snakeCase(field))}, ${MAX_LABEL_LENGTH})`;
}

/** Reads the labels of records by id, without those of records that do not exist: at most one query. */
export async function readLabels(
  { host }: DataContext,
  gateway: ResourceGateway,
  ids: readonly string[],
): Promise<Record<string, string>> {
  const field = findLabelField(gateway.declaration);
  if (field === undefined || ids.length === 0) return {};
  const text = `select "id", ${labelSql(field)} from ${quoteIdentifier(gateway.table)} where "id" = any($1::text[])`;
  const rows = await host.database.readList<[id: string, label: string | null]>({ text, values: [ids] });
  return Object.fromEntries(rows.map(([id, label]) => [id, label === null || label.trim() === '' ? id : label]));
}

/** Reads the labels of the records to which some records refer: one query for each resource. */
export async function readReferenceLabels(
  data: DataContext,
  { declaration }: ResourceGateway,
  records: readonly StoredRecord[],
): Promise<Labels> {
  const ids = new Map<string, Set<string>>();
  for (const [name, spec] of listFields(declaration.fields as Fields)) {
    const target = findTarget(spec);
    if (target === undefined || isSecretField(spec)) continue;
    const known = ids.get(target) ?? new Set();
    for (const id of records.flatMap((record) => (record[name] as string | string[] | undefined) ?? []))
      if (known.size < MAX_LABELS) known.add(id);
    if (known.size > 0) ids.set(target, known);
  }
  const labels = await Promise.all(
    [...ids].map(async ([target, of]) => [target, await readLabels(data, data.gateway(target), [...of])] as const),
  );
  return Object.fromEntries(labels);
}

/** Escapes a text for `like`. */
export function escapePattern(text: string): string {
  return text.replaceAll(/[\\%_]/g, (character) => `\\${character}`);
}

/** The fields in which a picker searches: the searchable ones that hold one text, and the label. */
function pickerFieldsOf({ declaration }: ResourceGateway): string[] {
  const searchable = listFields(declaration.fields as Fields)
    .filter(([, spec]) => spec.searchable && !spec.hidden && !isSecretField(spec) && spec.inner === undefined)
    .map(([name]) => name);
  const label = findLabelField(declaration);
  return [...new Set([...(label === undefined ? [] : [label]), ...searchable])];
}

/** Finds records for a picker, newest first: the record with this id, or those whose label or searchable texts contain the text. */
export async function findRecordOptions(
  { host }: DataContext,
  gateway: ResourceGateway,
  { q = '', limit }: { q?: string | undefined; limit: number },
): Promise<RecordOption[]> {
  const label = findLabelField(gateway.declaration);
  const fields = pickerFieldsOf(gateway);
  const values: unknown[] = [limit];
  let where = '';
  if (isId(q)) where = `where "id" = $${values.push(q)}`;
  else if (q !== '') {
    if (fields.length === 0) return [];
    const pattern = `$${values.push(`%${escapePattern(toNfc(q))}%`)}`;
    where = `where ${fields.map((name) => `${quoteIdentifier(snakeCase(name))} ilike ${pattern}`).join(' or ')}`;
  }
  const column = label === undefined ? 'null' : labelSql(label);
  const text = `select "id", ${column} from ${quoteIdentifier(gateway.table)} ${where} order by "id" desc limit $1`;
  const rows = await host.database.readSlowly<[id: string, label: string | null]>({ text, values });
  return rows.map(([id, found]) => ({ id, label: found === null || found.trim() === '' ? id : found }));
}
