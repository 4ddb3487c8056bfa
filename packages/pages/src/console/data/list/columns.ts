import { signal } from '@preact/signals';
import { setParams } from '../../router.ts';
import type { ResourceInfo } from '../app-info.ts';
import { app, type Column, defaultColumns, listColumnsOf } from '../schema.ts';
import { filtersIn, sortOf } from './query.ts';

/** What is stored under the keys that were read. A change shows the lists again. */
const remembered = signal<Readonly<Record<string, string>>>({});

/** Several users may share a browser. */
const keyOf = ({ name }: ResourceInfo) => `belfry.console.columns:${app.value.user?.id ?? ''}:${name}`;

const readRemembered = (resource: ResourceInfo) => {
  const key = keyOf(resource);
  return remembered.value[key] ?? localStorage.getItem(key) ?? '';
};

/** Whether the user has chosen the columns of a list. */
export const hasChosenColumns = (resource: ResourceInfo, params: URLSearchParams): boolean =>
  params.has('columns') || readRemembered(resource) !== '';

/** The parameters of a list with the columns that it shows if the user chose them, so that a saved view has them. */
export function withColumns(resource: ResourceInfo, params: URLSearchParams): URLSearchParams {
  const text = params.get('columns') ?? readRemembered(resource);
  const all = new URLSearchParams(params);
  if (text !== '') all.set('columns', text);
  return all;
}

/** Shows these columns from now on, also in lists that are opened later. An empty list: the usual ones. */
export function chooseColumns(resource: ResourceInfo, names: readonly string[]): void {
  const key = keyOf(resource);
  const text = names.join(',');
  if (text === '') localStorage.removeItem(key);
  else localStorage.setItem(key, text);
  remembered.value = { ...remembered.value, [key]: text };
  setParams({ columns: text }, { replace: true });
}

/** The columns of a list: those of the address, else those that the user chose last, else as many as fit. @param count how many fit */
export function shownColumns(resource: ResourceInfo, params: URLSearchParams, count: number): Column[] {
  const all = listColumnsOf(resource);
  const names = (params.get('columns') ?? readRemembered(resource)).split(',');
  const chosen = names.flatMap((name) => all.find((one) => one.name === name) ?? []);
  if (chosen.length > 0) return chosen;
  const used = filtersIn(params).map(({ name }) => name);
  return defaultColumns(resource, count, params.has('sort') ? [...used, sortOf(resource, params).name] : used);
}
