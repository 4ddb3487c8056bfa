import { signal } from '@preact/signals';
import { readStored } from 'belfry/console';

const KEY = 'belfry.console.reference.history';
const MAX_ENTRIES = 20;
const MAX_BODY_LENGTH = 20_000;

/**
 * A request that was sent, without secrets.
 *
 * @typedef {{ operation: string, method: string, path: string, status: number, ms: number, at: string, values: object }} Entry
 */

const isEntry = (one) =>
  typeof one?.operation === 'string' &&
  typeof one.path === 'string' &&
  typeof one.values === 'object' &&
  one.values !== null;

const stored = readStored(KEY);

/** The newest requests first. @type {import('@preact/signals').Signal<Entry[]>} */
export const history = signal(Array.isArray(stored) ? stored.filter(isEntry) : []);

/** Adds a request. @param {Entry} entry its `values` come from `valuesForHistory` */
export function addToHistory(entry) {
  const isLong = (entry.values.json?.length ?? 0) > MAX_BODY_LENGTH;
  const kept = isLong ? { ...entry, values: { ...entry.values, json: '' } } : entry;
  history.value = [kept, ...history.value].slice(0, MAX_ENTRIES);
  sessionStorage.setItem(KEY, JSON.stringify(history.value));
}

export function clearHistory() {
  history.value = [];
  sessionStorage.removeItem(KEY);
}
