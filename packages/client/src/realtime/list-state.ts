import type { RecordChange } from './record-change.ts';
import type { ListRecord, SortOrder } from './sort-order.ts';

/**
 * The part of a list that a client holds. It is immutable. Every function of this file returns the same state if nothing has changed, and keeps
 * unchanged records.
 */
export interface ListState {
  /** The first records of the list, in its order. */
  readonly records: readonly ListRecord[];
  /** Whether `records` is the whole list. */
  readonly isComplete: boolean;
  /** The number of records of the whole list; undefined if it was not counted. */
  readonly total: number | undefined;
  /** Whether the server has stopped counting at `total`. */
  readonly isTotalCapped: boolean;
  /** Whether changes beyond `records` may have been counted twice or not at all. */
  readonly isTotalEstimate: boolean;
  /** Whether the list must be loaded again, because only the server knows what a change has done to it. */
  readonly isStale: boolean;
  /** By record id, in the order of their arrival: the newest state of records that are not held. */
  readonly outside: ReadonlyMap<string, OutsideState>;
}

/** What is known of a record that is not held. */
interface OutsideState {
  /** The version; undefined if the event did not contain the record. */
  updatedAt: string | undefined;
  /** The time of the last event. */
  at: string;
}

/** How a list is kept. */
export interface ListRules {
  order: Pick<SortOrder, 'compare' | 'hasSameKeys'>;
  /** The number of records to hold: those that are visible, and some more that fill gaps. */
  capacity: number;
  /** Whether events contain records as the list returns them. If not, the list is loaded again after a change of a record in it. */
  canUseData: boolean;
}

/** A loaded list. */
export interface LoadedList {
  records: readonly ListRecord[];
  isComplete: boolean;
  total: number | undefined;
  isTotalCapped: boolean;
}

/** What has happened while a list was being loaded. */
export interface Meanwhile {
  /** The events that have arrived since the request was sent. */
  events: readonly RecordChange<ListRecord>[];
  /** `outside` of the state when the request was sent. */
  outside: ListState['outside'];
}

/** The list before it is loaded. */
export const EMPTY_LIST: ListState = {
  records: [],
  isComplete: false,
  total: undefined,
  isTotalCapped: false,
  isTotalEstimate: false,
  isStale: false,
  outside: new Map(),
};

const MAX_OUTSIDE = 1000;

function withOutside({ outside }: ListState, id: string, known: OutsideState): ListState['outside'] {
  const next = new Map(outside);
  // Reinsert, so that the ids stay in the order of their arrival.
  next.delete(id);
  next.set(id, known);
  if (next.size > MAX_OUTSIDE) next.delete(next.keys().next().value!);
  return next;
}

const versionOf = ({ updatedAt }: ListRecord) => (typeof updatedAt === 'string' ? updatedAt : undefined);

const markStale = (state: ListState): ListState => (state.isStale ? state : { ...state, isStale: true });

/** Changes the total. If the whole list is held, the total is its length. */
function withTotal(state: ListState, difference: number, isCertain: boolean): ListState {
  const { total, records, isComplete, isTotalCapped, isTotalEstimate } = state;
  if (total === undefined || isTotalCapped) return state;
  if (isComplete) {
    const isSame = total === records.length && !isTotalEstimate;
    return isSame ? state : { ...state, total: records.length, isTotalEstimate: false };
  }
  const next = Math.max(records.length, total + difference);
  return next === total && isCertain
    ? state
    : { ...state, total: next, isTotalEstimate: isTotalEstimate || !isCertain };
}

/**
 * Finds the place of a record among others, by halving. Undefined if only the server knows.
 *
 * @param records in order, without the record
 */
function findPlace(records: readonly ListRecord[], record: ListRecord, { order }: ListRules): number | undefined {
  let [from, to] = [0, records.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    const result = order.compare(record, records[middle]!);
    if (result === undefined) return undefined;
    if (result < 0) to = middle;
    else from = middle + 1;
  }
  return from;
}

/** Removes a record that has left the list. */
function removeRecord(state: ListState, { id, type, data, at }: RecordChange<ListRecord>): ListState {
  const held = state.records.find((one) => one.id === id);
  const [version, heldVersion] = [data && versionOf(data), held && versionOf(held)];
  // A deletion that predates a restore.
  if (type === 'deleted' && version !== undefined && heldVersion !== undefined && heldVersion > version) return state;
  const outside = withOutside(state, id, { updatedAt: version, at });
  if (held === undefined) return withTotal({ ...state, outside }, -1, false);
  // The event may be older than the held state. Only the server knows whether the record has come back.
  const mayBeOld = version === undefined && heldVersion !== undefined && heldVersion > at;
  const removed = {
    ...state,
    outside,
    records: state.records.filter((one) => one !== held),
    isStale: state.isStale || mayBeOld,
  };
  return withTotal(removed, -1, !mayBeOld);
}

/** Whether the event is older than the newest known state of its record. Undefined if that is unknown. */
function isOutdated(known: OutsideState | undefined, version: string, at: string): boolean | undefined {
  if (known === undefined) return false;
  if (known.updatedAt !== undefined) return version <= known.updatedAt;
  return at <= known.at ? undefined : false;
}

/** Puts a record that has entered the list, or has changed, in its place. */
function putRecord(state: ListState, event: RecordChange<ListRecord>, rules: ListRules): ListState {
  const { id, at, data, type, previous } = event;
  const version = data && versionOf(data);
  if (data === undefined || version === undefined) return markStale(state);
  const index = state.records.findIndex((one) => one.id === id);
  const held = state.records[index];
  const heldVersion = held && versionOf(held);
  if (heldVersion !== undefined && version <= heldVersion) return state;
  if (held === undefined) {
    const outdated = isOutdated(state.outside.get(id), version, at);
    if (outdated) return state;
    if (outdated === undefined) return markStale(state);
  } else if (rules.canUseData && rules.order.hasSameKeys(held, data)) {
    return { ...state, records: state.records.map((one) => (one === held ? data : one)) };
  }
  const isNew = held === undefined && (type !== 'updated' || previous === undefined);
  const others = held === undefined ? state.records : state.records.filter((one) => one !== held);
  const place = findPlace(others, data, rules);
  const isBeyond = place === others.length && !state.isComplete;
  if (isBeyond) {
    const outside = withOutside(state, id, { updatedAt: version, at });
    return withTotal({ ...state, records: others, outside }, isNew ? 1 : 0, !isNew);
  }
  if (place === undefined || !rules.canUseData) return markStale(state);
  const records = [...others.slice(0, place), data, ...others.slice(place)];
  // An event that is older than the loaded list may be about a record that was counted already, or was deleted before.
  const next = withTotal({ ...state, records }, isNew ? 1 : 0, held !== undefined);
  const dropped = records[rules.capacity];
  if (dropped === undefined) return next;
  const outside = withOutside(next, dropped.id, { updatedAt: versionOf(dropped), at });
  return { ...next, outside, isComplete: false, records: records.slice(0, rules.capacity) };
}

/** Applies an event to a list. */
export function applyEvent(state: ListState, event: RecordChange<ListRecord>, rules: ListRules): ListState {
  return event.type === 'left' || event.type === 'deleted'
    ? removeRecord(state, event)
    : putRecord(state, event, rules);
}

function isEqualJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [keys, otherKeys] = [Object.keys(a), Object.keys(b)];
  return (
    keys.length === otherKeys.length &&
    keys.every((key) => Object.hasOwn(b, key) && isEqualJson(a[key as never], b[key as never]))
  );
}

/**
 * Replaces a list by what was loaded, and applies the events that arrived while it was being loaded: whether the server had read the list before or
 * after each of these changes is unknown.
 */
export function applyLoaded(
  state: ListState,
  loaded: LoadedList,
  { events, outside }: Meanwhile,
  rules: ListRules,
): ListState {
  const before = new Map(state.records.map((record) => [record.id, record]));
  const unique = new Map(loaded.records.map((record) => [record.id, record]));
  const records = [...unique.values()].map((record) => {
    const known = before.get(record.id);
    return known !== undefined && isEqualJson(known, record) ? known : record;
  });
  const isSame = records.length === state.records.length && records.every((record, i) => record === state.records[i]);
  const next: ListState = {
    ...state,
    records: isSame ? state.records : records,
    isComplete: loaded.isComplete,
    total: loaded.total,
    isTotalCapped: loaded.isTotalCapped,
    isTotalEstimate: false,
    outside,
    // A record on two pages was moved between their requests, and its place is unknown.
    isStale: unique.size < loaded.records.length,
  };
  return events.reduce((list, event) => applyEvent(list, event, rules), next);
}
