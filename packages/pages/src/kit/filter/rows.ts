/** Conditions by the name or the pattern of events, as the API takes them. */
export type EndpointFilter = Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;

/** What the fields of an event allow, as the event catalogue returns it. */
export interface FilterFields {
  filters: { field: string; operators: string[] }[];
  changed: string[];
}

/** A condition as a row of the editor. */
export interface FilterRow {
  key: number;
  event: string;
  field: string;
  /** An operator of lists, or `changed`: the update changed the field. */
  operator: string;
  value: string;
}

/** The operators of lists, in the order in which they are offered. */
export const OPERATORS = ['eq', 'ne', 'in', 'nin', 'gt', 'gte', 'lt', 'lte', 'all', 'exists'] as const;
export const CHANGED = 'changed';

let lastKey = 0;

/** Creates a row with its own key. */
export const createRow = (values: Omit<FilterRow, 'key'>): FilterRow => ({ ...values, key: ++lastKey });

/** Converts a filter to the rows of the editor. */
export function toRows(filter: EndpointFilter | null): FilterRow[] {
  return Object.entries(filter ?? {}).flatMap(([event, conditions]) =>
    Object.entries(conditions).flatMap(([parameter, wanted]) => {
      if (typeof wanted !== 'string')
        return wanted.map((field) => createRow({ event, field, operator: CHANGED, value: '' }));
      const [, field = parameter, operator = 'eq'] = /^(.+?)(?:\[(\w+)\])?$/.exec(parameter) ?? [];
      return [createRow({ event, field, operator, value: wanted })];
    }),
  );
}

/** The query parameter of a row. */
export const parameterOf = ({ field, operator }: FilterRow): string => {
  if (operator === CHANGED) return CHANGED;
  return operator === 'eq' ? field.trim() : `${field.trim()}[${operator}]`;
};

/** Converts rows to a filter; null without rows. Of two equal conditions, the first counts. */
export function toFilter(rows: readonly FilterRow[]): EndpointFilter | null {
  const filter = new Map<string, Map<string, string | string[]>>();
  for (const row of rows) {
    const conditions = filter.get(row.event) ?? new Map<string, string | string[]>();
    filter.set(row.event, conditions);
    const parameter = parameterOf(row);
    const known = conditions.get(parameter);
    if (row.operator === CHANGED) conditions.set(parameter, [...(Array.isArray(known) ? known : []), row.field.trim()]);
    else if (known === undefined) conditions.set(parameter, row.value);
  }
  if (filter.size === 0) return null;
  return Object.fromEntries([...filter].map(([event, conditions]) => [event, Object.fromEntries(conditions)]));
}

/** The filter of a request that saves rows; left out if it stays the same, because a stored filter may have become invalid. */
export function findChangedFilter(
  before: EndpointFilter | null,
  rows: readonly FilterRow[],
): { filter?: EndpointFilter | null } {
  const filter = toFilter(rows);
  return JSON.stringify(filter) === JSON.stringify(toFilter(toRows(before))) ? {} : { filter };
}

/** Whether an earlier row has the same condition, which a filter can contain only once. */
export const isRepeated = (row: FilterRow, rows: readonly FilterRow[]): boolean =>
  row.operator !== CHANGED &&
  rows.find((one) => one.event === row.event && parameterOf(one) === parameterOf(row)) !== row;

/** The errors of a row, of the server's `details`. An error of the whole event is one of its first row. */
export function errorsOfRow(
  row: FilterRow,
  rows: readonly FilterRow[],
  errors: Readonly<Record<string, string>>,
): string[] {
  const at = `filter.${row.event}`;
  const isFirst = rows.find(({ event }) => event === row.event) === row;
  return [errors[`${at}.${parameterOf(row)}`], isFirst ? errors[at] : undefined].filter((one) => one !== undefined);
}

const groupOf = (name: string) => name.slice(0, name.indexOf('.'));

/** The events and patterns that conditions can be about: those that the endpoint subscribes to. */
export function listFilterEvents(known: readonly string[], subscribed: readonly string[]): string[] {
  const names = known.filter((name) => [name, `${groupOf(name)}.*`, '*'].some((one) => subscribed.includes(one)));
  return [...Map.groupBy(names, groupOf)].flatMap(([group, own]) => [`${group}.*`, ...own]);
}

/** A condition in words. */
export const describeCondition = (parameter: string, wanted: string | readonly string[]): string =>
  typeof wanted === 'string' ? `${parameter} = ${wanted}` : `${parameter}: ${wanted.join(', ')}`;
