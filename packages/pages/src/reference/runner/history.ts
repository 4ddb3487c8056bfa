import { signal } from '@preact/signals';
import { isObject } from '../document.ts';
import type { KeptValues } from './secrets.ts';

const KEY = 'belfry.console.reference.history';
const MAX_ENTRIES = 20;
const MAX_BODY_LENGTH = 20_000;

/** A request that was sent, without secrets. */
export interface Entry {
  /** The id of the operation. */
  operation: string;
  method: string;
  path: string;
  /** 0 if there was no response. */
  status: number;
  ms: number;
  /** The time in ISO form. */
  at: string;
  values: KeptValues;
}

/** What is stored may come from another version. */
const isEntry = (one: unknown): one is Entry =>
  isObject(one) && typeof one.operation === 'string' && typeof one.path === 'string' && isObject(one.values);

function readStored(): unknown {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? '[]');
  } catch {
    return [];
  }
}

const stored = readStored();

/** The requests of this browser tab, the newest first. */
export const history = signal<readonly Entry[]>(Array.isArray(stored) ? stored.filter(isEntry) : []);

/** Adds a request. Its `values` come from `valuesForHistory`. */
export function addToHistory(entry: Entry): void {
  const isLong = entry.values.json.length > MAX_BODY_LENGTH;
  const kept = isLong ? { ...entry, values: { ...entry.values, json: '' } } : entry;
  history.value = [kept, ...history.value].slice(0, MAX_ENTRIES);
  sessionStorage.setItem(KEY, JSON.stringify(history.value));
}

export function clearHistory(): void {
  history.value = [];
  sessionStorage.removeItem(KEY);
}
