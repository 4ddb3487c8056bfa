import { z } from 'zod';
import { durationSetting } from '../../helpers/duration-setting.ts';
import { MAX_STALL_MS } from '../../helpers/setting-limits.ts';
import type { SlowEntries, SlowRequest, SlowStatement } from './facts.ts';
import { withoutValues } from './statement-text.ts';

/** The section `slowLog` of the settings: what the console lists as slow. Each process keeps the newest and the slowest in memory. */
export const slowLogSettings = z
  .strictObject({
    /** ms from which a request is slow. 0: every request is listed. */
    requestMs: durationSetting('ms', z.number().int().min(0).max(MAX_STALL_MS)).default(500),
    /** ms from which a statement is slow. 0: every statement is listed. */
    statementMs: durationSetting('ms', z.number().int().min(0).max(MAX_STALL_MS)).default(200),
  })
  .prefault({});

/** Keeps slow requests and statements in bounded memory. */
export interface SlowLog {
  /** ms from which a request or a statement is slow. Compare before you call `addRequest` or `addStatement`. */
  readonly requestMs: number;
  readonly statementMs: number;
  addRequest(request: SlowRequest): void;
  addStatement(text: string, ms: number, rows: number): void;
  /** Returns the entries; undefined if none were added since the last call. */
  takeChanges(): SlowEntries | undefined;
  entries(): SlowEntries;
  /** Deletes all entries. */
  clear(): void;
}

const MAX_NEWEST = 40;
const MAX_SLOWEST = 20;
const MAX_STATEMENTS = 100;
const MAX_LISTED_STATEMENTS = 30;
const MAX_TEXT = 600;
/** Limits of the texts whose form without values is remembered: their number, and the length of each. */
const MAX_REMEMBERED = 500;
const MAX_REMEMBERED_LENGTH = 8192;

/** Creates a function that returns a statement without its values. It remembers texts, because removing values takes longer than the rest. */
function createValueRemover(): (text: string) => string {
  const remembered = new Map<string, string>();
  return (text) => {
    const known = remembered.get(text);
    if (known !== undefined) return known;
    const shown = withoutValues(text, MAX_TEXT);
    if (text.length > MAX_REMEMBERED_LENGTH) return shown;
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    remembered.set(text, shown);
    return shown;
  };
}

/**
 * Creates the slow log of a process.
 *
 * @param limits in ms
 */
export function createSlowLog({ requestMs, statementMs }: { requestMs: number; statementMs: number }): SlowLog {
  let newest: SlowRequest[] = [];
  let slowest: SlowRequest[] = [];
  const statements = new Map<string, SlowStatement>();
  const removeValues = createValueRemover();
  let isChanged = false;

  const entries = (): SlowEntries => ({
    newest: newest.toReversed(),
    slowest,
    statements: [...statements.values()].sort((a, b) => b.totalMs - a.totalMs).slice(0, MAX_LISTED_STATEMENTS),
  });

  /** Deletes the statement that took the least time, so that rare ones make room. */
  function dropCheapestStatement(): void {
    const [cheapest] = [...statements].reduce((a, b) => (b[1].totalMs < a[1].totalMs ? b : a));
    statements.delete(cheapest);
  }

  return {
    requestMs,
    statementMs,
    addRequest(request) {
      isChanged = true;
      newest.push(request);
      if (newest.length > MAX_NEWEST) newest.shift();
      if (slowest.length === MAX_SLOWEST && slowest.at(-1)!.ms >= request.ms) return;
      slowest = [...slowest, request].sort((a, b) => b.ms - a.ms).slice(0, MAX_SLOWEST);
    },
    addStatement(text, ms, rows) {
      isChanged = true;
      const key = removeValues(text);
      const lastAt = new Date().toISOString();
      const known = statements.get(key);
      if (known !== undefined) {
        known.calls += 1;
        known.totalMs += ms;
        known.maxMs = Math.max(known.maxMs, ms);
        known.rows += rows;
        known.lastAt = lastAt;
        return;
      }
      if (statements.size >= MAX_STATEMENTS) dropCheapestStatement();
      statements.set(key, { text: key, calls: 1, totalMs: ms, maxMs: ms, rows, lastAt });
    },
    takeChanges() {
      if (!isChanged) return undefined;
      isChanged = false;
      return entries();
    },
    entries,
    clear() {
      newest = [];
      slowest = [];
      statements.clear();
      isChanged = true;
    },
  };
}
