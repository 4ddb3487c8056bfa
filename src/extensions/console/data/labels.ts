import { formatTitle, type Title } from '../../../declare/title.ts';
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
import { findTitle } from './resource-info.ts';
import type { Labels, RecordOption } from './responses.ts';

/** Maximum records of a resource that one response labels. */
const MAX_LABELS = 500;
const MAX_LABEL_LENGTH = 200;
/** Maximum words of a search that are looked for. */
const MAX_SEARCH_WORDS = 8;
/** The id of a record, and the values of the fields in its title. */
type LabelRow = [id: string, ...values: (string | null)[]];

/** The text that names a record: its title, else its id. */
function labelWith(title: Title, id: string, values: Readonly<Record<string, unknown>>): string {
  return formatTitle(title, values)?.slice(0, MAX_LABEL_LENGTH).toWellFormed() ?? id;
}

/** The text that names a record. */
export function labelOf({ declaration }: ResourceGateway, record: StoredRecord): string {
  return labelWith(findTitle(declaration), record.id, record);
}

/**
 * The texts that name records, by id.
 *
 * @param records as a viewer gets them: what the viewer does not get is left out of their names
 */
export function labelsOf(
  { declaration }: ResourceGateway,
  records: readonly Readonly<Record<string, unknown>>[],
): Record<string, string> {
  const title = findTitle(declaration);
  return Object.fromEntries(records.map((record) => [record.id, labelWith(title, String(record.id), record)]));
}

/** The SQL of the value of a field as text. */
export const textSql = (field: string): string => `${quoteIdentifier(snakeCase(field))}::text`;

/** What a query selects to label its rows, and the function that labels a row with it. */
function selectLabels({ declaration }: ResourceGateway): { columns: string; toLabel: (row: LabelRow) => string } {
  const title = findTitle(declaration);
  const texts = title.map(({ field }) => `left(${textSql(field)}, ${MAX_LABEL_LENGTH})`);
  return {
    columns: ['"id"', ...texts].join(', '),
    toLabel: ([id, ...values]) =>
      labelWith(title, id, Object.fromEntries(title.map(({ field }, index) => [field, values[index]]))),
  };
}

/** Reads the labels of records by id, without those of records that do not exist: at most one query. */
export async function readLabels(
  { host }: DataContext,
  gateway: ResourceGateway,
  ids: readonly string[],
): Promise<Record<string, string>> {
  if (ids.length === 0 || findTitle(gateway.declaration).length === 0) return {};
  const { columns, toLabel } = selectLabels(gateway);
  const text = `select ${columns} from ${quoteIdentifier(gateway.table)} where "id" = any($1::text[])`;
  const rows = await host.database.readList<LabelRow>({ text, values: [ids] });
  return Object.fromEntries(rows.map((row) => [row[0], toLabel(row)]));
}

/** A reference as a response has it: an id, or the expanded record. */
type Reference = string | StoredRecord;

/** Collects the references of some records by resource and id: up to `max` of each resource. */
export function collectReferences(
  { declaration }: ResourceGateway,
  records: readonly Readonly<Record<string, unknown>>[],
  max = MAX_LABELS,
): Map<string, Map<string, Reference>> {
  const references = new Map<string, Map<string, Reference>>();
  for (const [name, spec] of listFields(declaration.fields as Fields)) {
    const target = findTarget(spec);
    if (target === undefined || isSecretField(spec)) continue;
    const known = references.get(target) ?? new Map<string, Reference>();
    for (const reference of records.flatMap((record) => (record[name] as Reference | Reference[] | undefined) ?? []))
      if (known.size < max) known.set(typeof reference === 'string' ? reference : reference.id, reference);
    if (known.size > 0) references.set(target, known);
  }
  return references;
}

/** Reads the labels of the records to which some records refer: one query for each resource. */
export async function readReferenceLabels(
  data: DataContext,
  gateway: ResourceGateway,
  records: readonly StoredRecord[],
): Promise<Labels> {
  const labels = await Promise.all(
    [...collectReferences(gateway, records)].map(
      async ([target, of]) => [target, await readLabels(data, data.gateway(target), [...of.keys()])] as const,
    ),
  );
  return Object.fromEntries(labels);
}

/** Escapes a text for `like`. */
function escapePattern(text: string): string {
  return text.replaceAll(/[\\%_]/g, (character) => `\\${character}`);
}

/** The words of a text in lower case, without the punctuation around them. */
function wordsOf(text: string): string[] {
  const words = text.toLowerCase().split(/\s+/);
  return words.map((word) => word.replaceAll(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '')).filter((word) => word !== '');
}

/** Splits a search for the titles of a template, whose words are in several fields. The words of the template itself are in none. */
function splitSearch(title: Title, q: string): string[] {
  const surroundings = title.flatMap(({ separator, prefix, suffix }) => [separator, prefix, suffix]);
  if (title.length <= 1 && surroundings.every((text) => text === '')) return [q];
  const words = wordsOf(q);
  const own = new Set(surroundings.flatMap(wordsOf));
  const searched = words.filter((word) => !own.has(word));
  const found = searched.length > 0 ? searched : words;
  return found.length > 0 ? found.slice(0, MAX_SEARCH_WORDS) : [q];
}

/**
 * The SQL condition that texts contain what a user looks for, so that records are also found by the titles that the user sees.
 *
 * @param bind adds a value to the statement, and returns its placeholder
 */
export function searchCondition(
  title: Title,
  texts: readonly string[],
  q: string,
  bind: (value: string) => string,
): string {
  const terms = splitSearch(title, q).map((word) => {
    const pattern = bind(`%${escapePattern(toNfc(word))}%`);
    return `(${texts.map((text) => `${text} ilike ${pattern}`).join(' or ')})`;
  });
  return terms.join(' and ');
}

/** The SQL of the texts in which a picker searches: the title, and the searchable fields that hold one text. */
function pickerTexts({ declaration }: ResourceGateway): string[] {
  const fields = declaration.fields as Fields;
  const searchable = listFields(fields)
    .filter(([, spec]) => spec.searchable && !spec.hidden && !isSecretField(spec) && spec.inner === undefined)
    .map(([name]) => name);
  const names = new Set([...findTitle(declaration).map(({ field }) => field), ...searchable]);
  return [...names].map(textSql);
}

/** The SQL of the e-mail address that tells users with the same name apart. Null: no users, or an address that is not shown. */
function emailSql({ users }: DataContext, { name, declaration }: ResourceGateway): string {
  const spec = name === users.name && new Map(listFields(declaration.fields as Fields)).get('email');
  return spec && !spec.hidden && !isSecretField(spec) ? textSql('email') : 'null';
}

/** Finds records for a picker, newest first: the record with this id, or those whose label or searchable texts contain the text. */
export async function findRecordOptions(
  data: DataContext,
  gateway: ResourceGateway,
  { q = '', limit }: { q?: string | undefined; limit: number },
): Promise<RecordOption[]> {
  const texts = pickerTexts(gateway);
  const { columns, toLabel } = selectLabels(gateway);
  const values: unknown[] = [limit];
  const bind = (value: string) => `$${values.push(value)}`;
  let where = '';
  if (isId(q)) where = `where "id" = ${bind(q)}`;
  else if (q !== '') {
    if (texts.length === 0) return [];
    where = `where ${searchCondition(findTitle(gateway.declaration), texts, q, bind)}`;
  }
  const text = `select ${emailSql(data, gateway)}, ${columns} from ${quoteIdentifier(gateway.table)} ${where} order by "id" desc limit $1`;
  const rows = await data.host.database.readSlowly<[email: string | null, ...label: LabelRow]>({ text, values });
  return rows.map(([email, ...row]) => ({ id: row[0], label: toLabel(row), ...(email !== null && { email }) }));
}
