import { columnsOf, defaultColumns, viewer } from '../schema.js';

/** Parameters of the page that no filter can have: filters always name their operator, as in `limit[eq]=5`. */
const LIST_PARAMETERS = ['q', 'sort', 'limit', 'after', 'deleted'];
const FILTER = /^(.+)\[(\w+)\]$/;
export const PAGE_SIZES = ['20', '50', '100'];
/** The page size if the address names none. */
export const DEFAULT_PAGE_SIZE = '50';

/** The names of operators, as a sentence continues after the name of a field. */
const OPERATOR_TEXTS = {
  eq: 'is',
  ne: 'is not',
  gt: 'is greater than',
  gte: 'is at least',
  lt: 'is less than',
  lte: 'is at most',
  in: 'is one of',
  nin: 'is none of',
  all: 'has all of',
  exists: 'has a value',
};

const DATE_TEXTS = { gt: 'is after', gte: 'is from', lt: 'is before', lte: 'is until' };
const LIST_TEXTS = { eq: 'contains', ne: 'does not contain', in: 'contains one of', nin: 'contains none of' };

export function operatorText(field, operator) {
  if (field?.type === 'date' && operator in DATE_TEXTS) return DATE_TEXTS[operator];
  if (['array', 'refs'].includes(field?.type) && operator in LIST_TEXTS) return LIST_TEXTS[operator];
  return OPERATOR_TEXTS[operator] ?? operator;
}

/** The filters in the address. @returns {{ name: string, operator: string, value: string, key: string }[]} */
export function filtersIn(params) {
  return [...params].flatMap(([key, value]) => {
    const found = FILTER.exec(key);
    return found === null ? [] : [{ key, name: found[1], operator: found[2], value }];
  });
}

/** The part of the address that selects records, for a request: without the columns and other choices of the page. */
export function requestParams(params) {
  const kept = [...params].filter(
    ([key, value]) => (LIST_PARAMETERS.includes(key) || FILTER.test(key)) && value !== '',
  );
  return new URLSearchParams(kept);
}

/** The part of the address that a saved view keeps: everything except the position in the list and the viewer. */
export function viewParams(params) {
  return new URLSearchParams([...params].filter(([key]) => !['after', 'as'].includes(key)));
}

/** Whether the address selects fewer records than all. */
export const isFiltered = (params) => params.has('q') || params.has('deleted') || filtersIn(params).length > 0;

/**
 * The sort order: the one in the address, or the default of the resource.
 *
 * @returns {{ name: string, isDescending: boolean }} its first field
 */
export function sortOf(resource, params) {
  const [first] = (params.get('sort') ?? resource.defaultSort ?? '-createdAt').split(',');
  return { name: first.replace(/^-/, ''), isDescending: first.startsWith('-') };
}

/** The parameter `sort` after a click on the header of a column: ascending, descending, then the default. */
export function nextSort(resource, params, name) {
  const { name: current, isDescending } = sortOf(resource, params);
  if (current !== name) return name;
  if (!isDescending) return `-${name}`;
  return params.has('sort') ? undefined : name;
}

/**
 * The fields that filters can compare, with their operators: for a viewer, those that the declaration allows to clients. The fields that
 * every record has come last.
 */
export function filterableColumns(resource) {
  const columns = columnsOf(resource).map((one) =>
    viewer() === undefined ? one : { ...one, operators: one.clientOperators },
  );
  const comparable = columns.filter(({ operators }) => operators.length > 0);
  return [...comparable.filter((one) => !one.isSystem), ...comparable.filter((one) => one.isSystem)];
}

/**
 * The columns of a list: those that the user chose, or as many as fit.
 *
 * @param {number} count how many fit
 */
export function shownColumns(resource, params, count) {
  const all = columnsOf(resource);
  const names = params.get('columns')?.split(',') ?? [];
  const chosen = names.flatMap((name) => all.find((one) => one.name === name) ?? []);
  if (chosen.length > 0) return chosen;
  const used = filtersIn(params).map(({ name }) => name);
  return defaultColumns(resource, count, params.has('sort') ? [...used, sortOf(resource, params).name] : used);
}

const viewsKey = (resource) => `belfry.console.views:${resource.name}`;

/** The saved views of a resource. @returns {{ name: string, query: string }[]} */
export function readViews(resource) {
  try {
    const views = JSON.parse(localStorage.getItem(viewsKey(resource)) ?? '[]');
    return Array.isArray(views)
      ? views.filter((one) => typeof one?.name === 'string' && typeof one.query === 'string')
      : [];
  } catch {
    return [];
  }
}

/** Stores the views of a resource in this browser. */
export const writeViews = (resource, views) => localStorage.setItem(viewsKey(resource), JSON.stringify(views));
