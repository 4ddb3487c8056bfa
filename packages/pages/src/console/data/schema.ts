import { computed, signal } from '@preact/signals';
import { language, locale } from '../../kit/language.ts';
import { hrefOf, place } from '../router.ts';
import { texts } from '../texts.ts';
import type { AppInfo, FieldInfo, ResourceInfo, StoredRecord, Titles } from './app-info.ts';

/** What the server says about the app; undefined until it is read. */
export const loadedApp = signal<AppInfo | undefined>(undefined);

/** What the server says about the app: its mode, features, tabs and resources. The pages of tabs are shown once it is known. */
export const app = computed(() => {
  if (loadedApp.value === undefined) throw new Error(texts.data.notLoaded);
  return loadedApp.value;
});

export const DATA = '/console/data';

/** A field of all records of a resource, as a list shows it. */
export interface Column extends FieldInfo {
  isSystem?: boolean;
}

const TIME_OPERATORS = ['gt', 'gte', 'lt', 'lte'];

/** The fields of every record that are not declared. */
const SYSTEM_FIELDS: Readonly<Record<string, Partial<FieldInfo>>> = {
  id: { ...texts.data.systemFields.id, type: 'id', operators: ['eq', 'in'] },
  createdAt: { ...texts.data.systemFields.createdAt, type: 'date', operators: TIME_OPERATORS, sortable: true },
  updatedAt: { ...texts.data.systemFields.updatedAt, type: 'date', operators: TIME_OPERATORS, sortable: true },
  deletedAt: { ...texts.data.systemFields.deletedAt, type: 'date' },
};

const UNDECLARED = { type: 'id', operators: [], clientOperators: [], required: false };

export const resourceOf = (name: string | undefined): ResourceInfo | undefined =>
  loadedApp.value?.resources.find((one) => one.name === name);

/** The current viewer: undefined for everything, `visitor`, or the id of a user. */
export const viewer = (): string | undefined => place.value.params.get('as') ?? undefined;

/** A link to a page of the Data tab, which keeps the viewer. */
export function dataHref(
  segments: readonly string[],
  params: Readonly<Record<string, string | undefined>> = {},
): string {
  const all = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value !== undefined && value !== '') all.set(name, value);
  const as = viewer();
  if (as !== undefined && !all.has('as')) all.set('as', as);
  return hrefOf([DATA, ...segments.map(encodeURIComponent)].join('/'), all);
}

/** All fields of the records of a resource, in the order in which lists offer them. */
export function columnsOf({ timestamps, softDelete, fields }: ResourceInfo): Column[] {
  const named = (name: string): Column => ({
    ...UNDECLARED,
    label: name,
    ...SYSTEM_FIELDS[name],
    name,
    isSystem: true,
  });
  const declared = fields.filter(({ name }) => !(name in SYSTEM_FIELDS));
  const listed = fields.filter(({ name }) => name in SYSTEM_FIELDS && name !== 'id');
  const has = (name: string) => listed.some((one) => one.name === name);
  const times = ['createdAt', 'updatedAt'].filter((name) => timestamps && !has(name)).map(named);
  const deleted = softDelete && !has('deletedAt') ? [named('deletedAt')] : [];
  return [
    named('id'),
    ...declared,
    ...[...times, ...listed, ...deleted].map((one) => ({ ...SYSTEM_FIELDS[one.name], ...one, isSystem: true })),
  ];
}

/** The name of the column that shows what a template of fields makes of a record. No field has such a name. */
const TITLE_COLUMN = '{title}';

/** All columns that a list offers: the title of a record if it consists of several fields, and the fields. */
export function listColumnsOf(resource: ResourceInfo): Column[] {
  const columns = columnsOf(resource);
  if (resource.titleFields === undefined) return columns;
  const title: Column = { ...UNDECLARED, name: TITLE_COLUMN, label: resource.label, type: 'string', isSystem: true };
  return [title, ...columns];
}

/** The name of a field for people; that of a field that no longer exists, as it is. */
export const fieldLabel = (resource: ResourceInfo, name: string): string =>
  columnsOf(resource).find((one) => one.name === name)?.label ?? name;

// A narrow list shows the most telling columns: what names a record, then its state, its references, numbers and dates.
const PRIORITY: Readonly<Record<string, number>> = {
  enum: 8,
  boolean: 7,
  ref: 6,
  email: 6,
  string: 5,
  decimal: 5,
  integer: 5,
  number: 5,
  date: 6.5,
  url: 3,
  file: 3,
  refs: 2,
  array: 2,
  text: 1,
};

const priorityOf = (
  { name, type, isSystem, hidden, writeOnly, encrypted }: Column,
  resource: ResourceInfo,
  preferred: readonly string[],
) => {
  if (name === (resource.labelField ?? TITLE_COLUMN)) return 100;
  if (preferred.includes(name)) return 50;
  if (name === 'createdAt') return 4.5;
  if (name === 'id') return resource.labelField || resource.titleFields ? 0 : 100;
  if (resource.titleFields?.includes(name)) return 0.6;
  if (isSystem || hidden || writeOnly || encrypted || type === 'password') return 0;
  return PRIORITY[type] ?? 0.5;
};

/**
 * The columns that a list shows unless the user chose some: as many as fit, the most telling ones, in their usual order.
 *
 * @param preferred the names of fields that are compared or sorted by
 */
export function defaultColumns(resource: ResourceInfo, count: number, preferred: readonly string[]): Column[] {
  const columns = listColumnsOf(resource);
  const ranked = columns
    .map((column, index) => ({ column, index, rank: priorityOf(column, resource, preferred) }))
    .filter(({ rank }) => rank > 0)
    .sort((a, b) => b.rank - a.rank || a.index - b.index)
    .slice(0, Math.max(1, count))
    .sort((a, b) => Number(b.rank === 100) - Number(a.rank === 100) || a.index - b.index);
  return ranked.map(({ column }) => column);
}

/** The name of a record for people, or its id. */
export const labelOf = ({ id }: StoredRecord, titles: Titles | undefined): string => titles?.[id] ?? id;

/** The value of a record in a column of a list. */
export const columnValue = ({ name }: Column, record: StoredRecord, titles: Titles | undefined): unknown =>
  name === TITLE_COLUMN ? labelOf(record, titles) : fieldValue(record, name);

/** The resource of the app's users, to which sessions belong. */
export const userResource = (): ResourceInfo | undefined => resourceOf('user') ?? resourceOf('users');

/** The name of a resource within a sentence: `post`, `posts`; in German with its capital, as every noun. */
export function nameOf({ label, plural }: ResourceInfo, count = 1): string {
  const name = count === 1 ? label : plural;
  return language === 'de' ? name : name.replace(/^\p{Lu}(?=\p{Ll})/u, (letter) => letter.toLowerCase());
}

/** A number of records: `1,250 posts`. */
export const countText = (resource: ResourceInfo, count: number): string =>
  `${count.toLocaleString(locale)} ${nameOf(resource, count)}`;

/** The path of the records of a resource, below `/console/api`. */
export const recordsPath = (resource: ResourceInfo, ...segments: string[]): string =>
  ['/records', ...[resource.name, ...segments].map(encodeURIComponent)].join('/');

/** The path of a resource's routes, below `/api`. */
export const apiPathOf = ({ path }: ResourceInfo): string => `/api/${path.replace(/^\/?(api\/)?/, '')}`;

/** The value of a field. A name such as `constructor` is not taken from the prototype. */
export const fieldValue = (record: Readonly<Record<string, unknown>>, name: string): unknown =>
  Object.hasOwn(record, name) ? record[name] : undefined;
