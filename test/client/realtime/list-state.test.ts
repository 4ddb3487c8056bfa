import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  applyEvent,
  applyLoaded,
  EMPTY_LIST,
  type ListRules,
  type ListState,
  type LoadedList,
  type Meanwhile,
} from '../../../packages/client/src/realtime/list-state.ts';
import type { RecordChange } from '../../../packages/client/src/realtime/record-change.ts';
import { createSortOrder, type ListRecord } from '../../../packages/client/src/realtime/sort-order.ts';
import { ListModel, time } from './list-model.ts';

type Event = RecordChange<ListRecord>;

const CAPACITY = 6;
const order = createSortOrder(['-rank']);
const rules: ListRules = { order, capacity: CAPACITY, canUseData: true };
/** Nothing has happened while the list was being loaded. */
const NOTHING: Meanwhile = { events: [], outside: new Map() };
const id = fc.integer({ min: 1, max: 14 }).map((n) => n.toString(16).padStart(24, '0'));
const step = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(fc.constant('put' as const), id, fc.nat(9), fc.nat(3)) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('delete' as const), id) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('restore' as const), id) },
  { weight: 4, arbitrary: fc.tuple(fc.constant('advance' as const), fc.nat(3)) },
  // The client receives some of the events that were sent.
  { weight: 5, arbitrary: fc.tuple(fc.constant('receive' as const), fc.nat(5)) },
  // Two relays send two changes of a record in the wrong order.
  { weight: 1, arbitrary: fc.tuple(fc.constant('swap' as const), fc.nat(5)) },
  // The client requests the list, or its response arrives.
  { weight: 1, arbitrary: fc.tuple(fc.constant('load' as const)) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

class Model extends ListModel {
  constructor() {
    super(order, ({ isShown }) => isShown === true);
  }

  show(id: string, rank: number, isShown: boolean): void {
    this.put(id, { rank, isShown });
  }

  load(): LoadedList {
    const list = this.list();
    const isComplete = list.length <= CAPACITY;
    return { records: list.slice(0, CAPACITY), isComplete, total: list.length, isTotalCapped: false };
  }
}

/** A client that follows a model. */
function follow(model: Model, steps: readonly Step[]): ListState {
  let state = applyLoaded(EMPTY_LIST, model.load(), NOTHING, rules);
  let received = 0;
  let loading: { loaded: LoadedList | undefined; events: Event[]; outside: ListState['outside'] } | undefined;

  function receive(count: number): void {
    for (const event of model.sent.slice(received, received + count)) {
      loading?.events.push(event);
      state = applyEvent(state, event, rules);
      expect(state.records.length).toBeLessThanOrEqual(CAPACITY);
      expect(new Set(state.records.map((record) => record.id)).size).toBe(state.records.length);
    }
    received = Math.min(model.sent.length, received + count);
  }

  function load(): void {
    // The request is sent; then the server reads the list; then the response arrives.
    if (loading === undefined) loading = { loaded: undefined, events: [], outside: state.outside };
    else if (loading.loaded === undefined) loading.loaded = model.load();
    else {
      state = applyLoaded(state, loading.loaded, loading, rules);
      loading = undefined;
    }
  }

  for (const one of steps) {
    if (one[0] === 'put') model.show(one[1], one[2], one[3] > 0);
    else if (one[0] === 'delete') model.delete(one[1]);
    else if (one[0] === 'restore') model.restore(one[1]);
    else if (one[0] === 'advance') model.advance(one[1]);
    else if (one[0] === 'receive') receive(one[1]);
    else if (one[0] === 'load') load();
    else {
      const at = received + one[1];
      const [a, b] = [model.sent[at], model.sent[at + 1]];
      if (a !== undefined && b !== undefined) model.sent.splice(at, 2, b, a);
    }
  }
  while (loading !== undefined) load();
  receive(Number.POSITIVE_INFINITY);
  return state;
}

test('whenever the list is loaded, and however late or in which order events arrive, the records are those of the server', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (steps) => {
      const model = new Model();
      const state = follow(model, steps);
      if (state.isStale) return;
      const list = model.list();
      expect(state.records).toEqual(list.slice(0, state.records.length));
      if (state.isComplete) expect(state.records).toHaveLength(list.length);
      if (!state.isTotalEstimate) expect(state.total).toBe(list.length);
    }),
    { numRuns: 1500 },
  );
});

test('events in order never require another load, except for texts that only the server can compare', () => {
  const ordered = fc
    .array(step, { maxLength: 120 })
    .map((steps) => steps.filter(([kind]) => kind !== 'swap' && kind !== 'load'));
  fc.assert(
    fc.property(ordered, (steps) => {
      const model = new Model();
      // Every change is later than the one before.
      const state = follow(
        model,
        steps.flatMap((one): Step[] => [['advance', 2], one]),
      );
      expect(state.isStale).toBe(false);
    }),
    { numRuns: 500 },
  );
});

const record = (n: number, rank: number, version = 0): ListRecord => ({
  id: n.toString(16).padStart(24, '0'),
  rank,
  updatedAt: time(version),
});
const event = (type: Event['type'], data: ListRecord, more: Partial<Event> = {}): Event => ({
  ...{ type, id: data.id, data, previous: undefined, at: String(data.updatedAt), event: 'e' },
  ...more,
});
const loadedWith = (records: ListRecord[], more: Partial<LoadedList> = {}): ListState =>
  applyLoaded(
    EMPTY_LIST,
    { ...{ records, isComplete: true, total: records.length, isTotalCapped: false }, ...more },
    NOTHING,
    rules,
  );

test('a state is the same object if nothing has changed, and unchanged records stay the same objects', () => {
  const state = loadedWith([record(1, 9), record(2, 5)]);
  expect(applyEvent(state, event('updated', record(1, 9)), rules)).toBe(state);
  const next = applyEvent(state, event('updated', record(2, 6, 1)), rules);
  expect(next.records[0]).toBe(state.records[0]);
  const again = { records: [record(1, 9), record(2, 6, 1)], isComplete: true, total: 2, isTotalCapped: false };
  expect(applyLoaded(next, structuredClone(again), NOTHING, rules).records).toBe(next.records);
});

test('an older event changes nothing, and neither does the deletion before a restoration', () => {
  const state = loadedWith([record(1, 9, 5)]);
  expect(applyEvent(state, event('updated', record(1, 1, 4)), rules)).toBe(state);
  expect(applyEvent(state, event('deleted', record(1, 9, 4)), rules)).toBe(state);
});

test('a record that moves behind the held ones is dropped, because records that are not held may come before it', () => {
  const state = loadedWith([record(1, 9), record(2, 8), record(3, 7)], { isComplete: false, total: 10 });
  const next = applyEvent(state, event('updated', record(1, 1, 1), { previous: record(1, 9) }), rules);
  expect(next.records.map(({ rank }) => rank)).toEqual([8, 7]);
  expect([next.total, next.isTotalEstimate]).toEqual([10, false]);
});

test('the total is exact while the whole list is held, an estimate after changes beyond it, and never above a cap', () => {
  const whole = loadedWith([record(1, 9)]);
  expect(applyEvent(whole, event('created', record(2, 1, 1)), rules)).toMatchObject({
    total: 2,
    isTotalEstimate: false,
  });
  const part = loadedWith([record(1, 9)], { isComplete: false, total: 10 });
  expect(applyEvent(part, event('created', record(2, 1, 1)), rules)).toMatchObject({
    total: 11,
    isTotalEstimate: true,
  });
  const capped = loadedWith([record(1, 9)], { isComplete: false, total: 10_000, isTotalCapped: true });
  expect(applyEvent(capped, event('created', record(2, 1, 1)), rules).total).toBe(10_000);
  const uncounted = loadedWith([record(1, 9)], { total: undefined });
  expect(applyEvent(uncounted, event('created', record(2, 1, 1)), rules).total).toBeUndefined();
});

test('records without times, and events whose records are not those of the list, require a load', () => {
  const state = loadedWith([record(1, 9)]);
  const { updatedAt: _, ...timeless } = record(2, 5);
  expect(applyEvent(state, event('created', timeless as ListRecord, { at: time(1) }), rules).isStale).toBe(true);
  const included = { ...rules, canUseData: false };
  expect(applyEvent(state, event('created', record(2, 5, 1)), included)).toMatchObject({
    isStale: true,
    records: state.records,
  });
  const part = loadedWith([record(1, 9)], { isComplete: false, total: 3 });
  expect(applyEvent(part, event('created', record(2, 5, 1)), included).isStale).toBe(false);
});

test('a record on two pages of a load requires another one', () => {
  const records = [record(1, 9), record(2, 8), record(1, 7, 1)];
  expect(loadedWith(records)).toMatchObject({ isStale: true, records: [record(1, 7, 1), record(2, 8)] });
});
