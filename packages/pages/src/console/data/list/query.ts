import { texts } from '../../texts.ts';
import type { FieldInfo, ResourceInfo } from '../app-info.ts';
import { isObject } from '../editors/values.ts';
import { type Column, columnsOf, viewer } from '../schema.ts';

/** Parameters of the page that no filter can have: filters always name their operator, as in `limit[eq]=5`. */
const LIST_PARAMETERS = ['q', 'sort', 'limit', 'after', 'deleted'];
const FILTER = /^(.+)\[(\w+)\]$/;
export const PAGE_SIZES = ['20', '50', '100'];
/** The page size if the address names none. */
export const DEFAULT_PAGE_SIZE = '50';

/** The names of operators, as a sentence continues after the name of a field. */
const OPERATOR_TEXTS: Readonly<Record<string, string>> = texts.list.filters.operators;
const DATE_TEXTS: typeof OPERATOR_TEXTS = texts.list.filters.dateOperators;
const LIST_TEXTS: typeof OPERATOR_TEXTS = texts.list.filters.listOperators;

/** Names an operator, as it applies to the values of a field. */
export function operatorText(field: FieldInfo | undefined, operator: string): string {
  const isList = field?.type === 'array' || field?.type === 'refs';
  const special = field?.type === 'date' ? DATE_TEXTS[operator] : isList ? LIST_TEXTS[operator] : undefined;
  return special ?? OPERATOR_TEXTS[operator] ?? operator;
}

/** A filter in the address: `status[eq]=draft`. */
export interface Filter {
  /** The name of the parameter. */
  key: string;
  /** Of the field. */
  name: string;
  operator: string;
  value: string;
}

export function filtersIn(params: URLSearchParams): Filter[] {
  return [...params].flatMap(([key, value]) => {
    const [, name, operator] = FILTER.exec(key) ?? [];
    return name === undefined || operator === undefined ? [] : [{ key, name, operator, value }];
  });
}

/** The part of the address that selects records, for a request: without the columns and other choices of the page. */
export function requestParams(params: URLSearchParams): URLSearchParams {
  const kept = [...params].filter(
    ([key, value]) => (LIST_PARAMETERS.includes(key) || FILTER.test(key)) && value !== '',
  );
  return new URLSearchParams(kept);
}

/** The part of the address that a saved view keeps: everything except the position in the list and the viewer. */
export function viewParams(params: URLSearchParams): URLSearchParams {
  return new URLSearchParams([...params].filter(([key]) => !['after', 'as'].includes(key)));
}

/** Whether the address selects fewer records than all. */
export const isFiltered = (params: URLSearchParams): boolean =>
  params.has('q') || params.has('deleted') || filtersIn(params).length > 0;

/** The first field of the sort order: of the one in the address, or of the default of the resource. */
export function sortOf(resource: ResourceInfo, params: URLSearchParams): { name: string; isDescending: boolean } {
  const [first = ''] = (params.get('sort') ?? resource.defaultSort).split(',');
  return { name: first.replace(/^-/, ''), isDescending: first.startsWith('-') };
}

/** The parameter `sort` after a click on the header of a column: ascending, descending, then the default. */
export function nextSort(resource: ResourceInfo, params: URLSearchParams, name: string): string | undefined {
  const { name: current, isDescending } = sortOf(resource, params);
  if (current !== name) return name;
  if (!isDescending) return `-${name}`;
  return params.has('sort') ? undefined : name;
}

/**
 * The fields that filters can compare, with their operators: for a viewer, those that the declaration allows to clients. The fields that
 * every record has come last.
 */
export function filterableColumns(resource: ResourceInfo): Column[] {
  const columns = columnsOf(resource).map((one) =>
    viewer() === undefined ? one : { ...one, operators: one.clientOperators },
  );
  const comparable = columns.filter(({ operators }) => operators.length > 0);
  return [...comparable.filter((one) => !one.isSystem), ...comparable.filter((one) => one.isSystem)];
}

/** A list with its search, filters, order and columns, which the user has given a name. */
export interface SavedView {
  name: string;
  /** The parameters of the address. */
  query: string;
}

const viewsKey = ({ name }: ResourceInfo) => `belfry.console.views:${name}`;

const isView = (value: unknown): value is SavedView =>
  isObject(value) && typeof value.name === 'string' && typeof value.query === 'string';

/** The saved views of a resource. */
export function readViews(resource: ResourceInfo): SavedView[] {
  try {
    const views: unknown = JSON.parse(localStorage.getItem(viewsKey(resource)) ?? '[]');
    return Array.isArray(views) ? views.filter(isView) : [];
  } catch {
    return [];
  }
}

/** Stores the views of a resource in this browser. */
export const writeViews = (resource: ResourceInfo, views: readonly SavedView[]): void =>
  localStorage.setItem(viewsKey(resource), JSON.stringify(views));
