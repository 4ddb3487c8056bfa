import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { SubscriptionHub } from '../../../packages/client/src/realtime/hub.ts';
import type { LiveListQuery } from '../../../packages/client/src/realtime/list-source.ts';
import { createLiveList, type LiveList } from '../../../packages/client/src/realtime/live-list.ts';
import { createSortOrder, type ListRecord } from '../../../packages/client/src/realtime/sort-order.ts';
import type { SubscriptionListener } from '../../../packages/client/src/realtime/topic.ts';
import { ApiError } from '../../../packages/client/src/request/errors.ts';
import type { Requester } from '../../../packages/client/src/request/request.ts';
import { ListModel } from './list-model.ts';

const LABELS = ['alpha', 'beta', 'gamma'];
/** The longest time until a list has caught up: a pause between two loads, and the loads. */
const SETTLED_MS = 15_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const FILTERS = {
  all: () => true,
  open: ({ isOpen }: ListRecord) => isOpen === true,
  openAndHigh: ({ isOpen, rank }: ListRecord) => isOpen === true && Number(rank) >= 3,
  none: ({ rank }: ListRecord) => Number(rank) > 100,
};

const setup = fc.record({
  filter: fc.constantFrom(...(Object.keys(FILTERS) as (keyof typeof FILTERS)[])),
  sort: fc.constantFrom(['-rank'], ['rank'], ['label', '-rank'], ['-updatedAt'], ['-label', 'rank']),
  limit: fc.oneof(fc.integer({ min: 1, max: 6 }), fc.constantFrom(20, 50)),
  /** The largest page of the server, unless the limit is greater. */
  maxLimit: fc.constantFrom(100, 1),
  /** Lists with included records cannot use the records of events. */
  include: fc.constantFrom([], [], ['parent']),
  /** ms until the server reads the list, and until its response arrives. */
  readMs: fc.nat(60),
  answerMs: fc.nat(60),
  /** Records that exist when the list is opened. */
  existing: fc.constantFrom(0, 0, 3, 30),
});
type Setup = typeof setup extends fc.Arbitrary<infer S> ? S : never;

const values = fc.record({ rank: fc.nat(9), label: fc.constantFrom(...LABELS), isOpen: fc.boolean() });
const wait = fc.constantFrom(0, 0, 1, 15, 40);
/** Changes that follow one another, each after so many ms. */
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('create' as const),
      count: fc.integer({ min: 1, max: 35 }),
      values,
      wait,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('update' as const),
      count: fc.integer({ min: 1, max: 12 }),
      values,
      wait,
    }),
  },
  // The first records of the list leave it, or some anywhere.
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constantFrom('leave' as const, 'delete' as const),
      count: fc.integer({ min: 1, max: 35 }),
      from: fc.constantFrom(0, 0, 3, 11),
      wait,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('restore' as const), count: fc.integer({ min: 1, max: 12 }), wait }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('more' as const) }) },
  // The connection is lost; then the server sends what was missed, or cannot.
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('disconnect' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('reconnect' as const, 'miss' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

const idOf = (n: number) => n.toString(16).padStart(24, '0');

/** A live list of a server that is a model. Time passes only in `wait`. */
class Simulation {
  readonly model: ListModel;
  readonly list: LiveList<ListRecord>;
  limit: number;
  isConnected = true;
  #listener!: SubscriptionListener;
  #delivered = 0;
  #ids = 0;
  readonly #setup: Setup;
  readonly #order: ReturnType<typeof createSortOrder>;

  constructor(setup: Setup) {
    this.#setup = setup;
    this.#order = createSortOrder(setup.sort);
    this.limit = setup.limit;
    this.model = new ListModel(this.#order, FILTERS[setup.filter]);
    this.#create(setup.existing, { rank: 5, label: 'beta', isOpen: true });
    this.#delivered = this.model.sent.length;
    const hub: Pick<SubscriptionHub, 'subscribe'> = {
      subscribe: (_path, _subscription, listener) => {
        this.#listener = listener;
        queueMicrotask(() => listener.onReady());
        return () => undefined;
      },
    };
    const query: LiveListQuery = { sort: setup.sort, limit: setup.limit, include: setup.include };
    const requester = { send: (request: { query: object }) => this.#send(request.query as never) };
    this.list = createLiveList(hub, requester as unknown as Requester, '/items', query);
  }

  async #send({ limit, after }: { limit: number; after?: string }) {
    const { readMs, answerMs, maxLimit } = this.#setup;
    await new Promise((resolve) => setTimeout(resolve, readMs));
    const list = this.model.list();
    await new Promise((resolve) => setTimeout(resolve, answerMs));
    if (limit > Math.max(maxLimit, this.#setup.limit))
      throw new ApiError({ status: 400, code: 'BAD_REQUEST', message: 'limit' });
    const cursor = after === undefined ? undefined : (JSON.parse(after) as ListRecord);
    const rest = cursor === undefined ? list : list.filter((one) => this.#order.compare(one, cursor)! > 0);
    const data = rest.slice(0, limit);
    const next = rest.length > limit ? JSON.stringify(data.at(-1)) : undefined;
    return { status: 200, headers: new Headers(), data, meta: { total: list.length, next } };
  }

  /** Lets time pass, in which the server has delivered the events of all changes so far. */
  async wait(ms: number): Promise<void> {
    this.model.advance(ms + 1);
    if (this.isConnected) {
      const events = this.model.sent.slice(this.#delivered);
      this.#delivered = this.model.sent.length;
      for (const event of events) this.#listener.onEvent(event);
    }
    if (ms > 0) await vi.advanceTimersByTimeAsync(ms);
  }

  #create(count: number, given: object): void {
    for (let i = 0; i < count; i += 1) this.model.put(idOf(++this.#ids), { ...given, rank: (this.#ids * 7) % 10 });
  }

  #change(one: Exclude<Step, { kind: 'more' | 'disconnect' | 'reconnect' | 'miss' }>, i: number): void {
    const { model } = this;
    if (one.kind === 'create') this.#create(1, one.values);
    else if (one.kind === 'update') {
      const ids = [...model.records.keys()];
      if (ids.length > 0) model.put(ids[(i * 5 + one.count) % ids.length]!, one.values);
    } else if (one.kind === 'restore') {
      const id = model.deleted.keys().next().value;
      if (id !== undefined) model.restore(id);
    } else {
      const shown = model.list();
      const id = shown[Math.min(one.from, shown.length - 1)]?.id;
      if (id === undefined) return;
      if (one.kind === 'delete') model.delete(id);
      else model.put(id, { isOpen: false, rank: 0 });
    }
  }

  async run(one: Step): Promise<void> {
    switch (one.kind) {
      case 'more':
        if (!this.isConnected) return;
        this.limit += this.#setup.limit;
        await Promise.all([this.list.loadMore(), this.wait(SETTLED_MS)]);
        return;
      case 'disconnect':
        if (this.isConnected) this.#listener.onDisconnect();
        this.isConnected = false;
        return;
      case 'reconnect':
      case 'miss':
        if (this.isConnected) return;
        this.isConnected = true;
        if (one.kind === 'miss') {
          this.#delivered = this.model.sent.length;
          this.#listener.onReset('missed');
        }
        this.#listener.onReady();
        return;
      default:
        for (let i = 0; i < one.count; i += 1) {
          this.#change(one, i);
          await this.wait(one.wait);
        }
    }
  }

  /** Waits until the list has nothing left to load, and compares it with a fresh one. */
  async expectFresh(): Promise<void> {
    await this.wait(SETTLED_MS);
    if (!this.isConnected) return;
    expect(this.list.status).toBe('live');
    const fresh = this.model.list();
    expect(this.list.data).toEqual(fresh.slice(0, this.limit));
    const { total, totalEstimated } = this.list.meta;
    if (!totalEstimated) expect(total).toBe(fresh.length);
  }
}

test('after every change, a live list equals a fresh list, whatever was in it when it was opened', async () => {
  const steps = fc.array(step, { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(setup, steps, async (given, all) => {
      const simulation = new Simulation(given);
      await simulation.expectFresh();
      for (const one of all) {
        await simulation.run(one);
        await simulation.expectFresh();
      }
      await simulation.run({ kind: 'reconnect' });
      await simulation.expectFresh();
      simulation.list.close();
    }),
    { numRuns: 600 },
  );
});

test('a list that is opened while it is empty fills up again after most of its records have left', async () => {
  const simulation = new Simulation({
    ...{ filter: 'open', sort: ['rank'], limit: 4, maxLimit: 100, readMs: 5, answerMs: 5, existing: 0, include: [] },
  });
  await simulation.expectFresh();
  await simulation.run({ kind: 'create', count: 30, values: { rank: 1, label: 'beta', isOpen: true }, wait: 0 });
  await simulation.expectFresh();
  await simulation.run({ kind: 'leave', count: 20, from: 0, wait: 0 });
  await simulation.expectFresh();
  expect(simulation.list.data).toHaveLength(4);
});
