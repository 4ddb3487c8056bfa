import { isDeepStrictEqual } from 'node:util';
import { Redis } from 'ioredis';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import type { LiveListMeta } from '../../../packages/client/src/realtime/list-snapshot.ts';
import type { LiveListQuery } from '../../../packages/client/src/realtime/list-source.ts';
import type { LiveList } from '../../../packages/client/src/realtime/live-list.ts';
import { ApiError, defineResource, defineUser, f, realtime, softDelete } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';
import { isFuzzing, scaleRuns } from '../../support/vitest/fuzz-runs.ts';
import { createTestRealtime } from './session.ts';

const CHANGES = scaleRuns(2500);
const BURST = 250;
/** A failure names it. */
const SEED = isFuzzing ? Date.now() : 20_261_126;

const LABELS = ['alpha', 'Beta', 'beta', 'Zoë', 'zoo', '10', '9', '-1.5', '𝄞 clef', '\uffee', 'b-a', 'ba', 'é', ''];

const item = defineResource('item', {
  fields: {
    label: f.string().sortable().searchable(),
    rank: f.integer().sortable().filterable(),
    price: f.decimal().sortable(),
    weight: f.number().sortable(),
    due: f.date().sortable(),
    done: f.boolean().sortable().filterable(),
    state: f.enum(['open', 'Closed', 'waiting']).default('open').filterable().sortable(),
    parent: f.ref('item').filterable(),
  },
  policies: { list: 'public', read: 'public' },
  softDelete: true,
  batch: true,
});

const { app, call, env, url } = await startTestApp(
  {
    resources: [defineUser(), item],
    extensions: [realtime({ heartbeatSeconds: 5, windowEvents: 200, windowSeconds: 10 }), softDelete()],
    settings: { rateLimit: { enabled: false } },
  },
  { roles: ['web', 'relay'] },
);
const items = app.service(item);
const redis = new Redis(env.REDIS_URL!);
afterAll(() => redis.quit());

/** A generator of pseudo-random numbers (mulberry32), so that a failure can be repeated. */
function createRandom(seed: number) {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (most: number) => Math.floor(next() * most);
  return {
    below,
    pick: <T>(list: readonly T[]): T => list[below(list.length)]!,
    chance: (share: number) => next() < share,
  };
}

/** Waits for a change of a record that the other writer may have deleted. */
const orGone = (change: Promise<unknown>) =>
  change.catch((error) => {
    if (!(error instanceof ApiError && error.code === 'NOT_FOUND')) throw error;
  });

const QUERIES: LiveListQuery[] = [
  { limit: 20 },
  { where: { state: 'open' }, sort: ['label'], limit: 20 },
  { where: { rank: { gte: 3 } }, sort: ['-price', 'label'], limit: 10 },
  { sort: ['done', '-due', 'rank'], limit: 30 },
  { where: { state: ['open', 'waiting'] }, sort: ['-state', '-weight', '-label'], limit: 15, count: 'none' },
  { q: '', where: { rank: 5 }, sort: ['due'], limit: 100 },
  { sort: '-updatedAt', limit: 5, fields: ['label', 'rank'] },
  { where: { done: true }, sort: ['-label'], limit: 12, include: ['parent'] },
  { sort: ['parent.label', 'rank'], limit: 8 },
  { q: 'bet', sort: ['rank', '-label'], limit: 10 },
];

test(
  'after thousands of random changes, in bursts with lost connections in between, each live list equals a fresh list',
  async () => {
    const proxy = await startTcpProxy(new URL(url));
    onTestFinished(() => proxy.close());
    const session = createTestRealtime(proxy.url);
    const lists = QUERIES.map((query) => session.realtime.liveList<Record<string, unknown>>('/items', query));
    onTestFinished(() => {
      for (const list of lists) list.close();
    });
    const random = createRandom(SEED);
    let alive: string[] = [];
    let deleted: string[] = [];
    let changes = 0;

    const randomValues = (isUpdate: boolean) => {
      const { below, pick, chance } = random;
      const all: Record<string, unknown> = {
        label: pick(LABELS),
        rank: below(7),
        price: `${below(40) - 20}.${1 + below(8)}`,
        weight: (below(2000) - 1000) / 7,
        due: new Date(1_700_000_000_000 + below(20) * 86_400_000).toISOString(),
        done: chance(0.5),
        state: pick(['open', 'Closed', 'waiting']),
        parent: alive.length > 0 ? pick(alive) : null,
      };
      const names = Object.keys(all).filter(() => chance(isUpdate ? 0.3 : 0.8));
      return Object.fromEntries(names.map((name) => [name, chance(0.15) && name !== 'state' ? null : all[name]]));
    };

    /** The changes of one writer, each batch in one transaction. */
    async function write(count: number): Promise<void> {
      for (let left = count; left > 0; ) {
        const size = Math.min(left, 1 + random.below(12));
        left -= size;
        changes += size;
        const kind = random.below(10);
        if (kind < 4 || alive.length < 30) {
          const created = await Promise.all(
            random.chance(0.5)
              ? [items.createMany(Array.from({ length: size }, () => randomValues(false)) as never)]
              : Array.from({ length: size }, () => items.create(randomValues(false) as never)),
          );
          alive.push(...created.flat().map(({ id }) => id));
        } else if (kind < 8) {
          // In one transaction, or each change by itself.
          // Sorted, so that two transactions do not wait for each other.
          const ids = [...new Set(Array.from({ length: size }, () => random.pick(alive)))].sort();
          const updates = ids.map((id) => [id, randomValues(true)] as const);
          if (random.chance(0.5))
            await app.transaction(async (tx) => {
              for (const [id, values] of updates) await orGone(tx.service(item).update(id, values as never));
            });
          else await Promise.all(updates.map(([id, values]) => orGone(items.update(id, values as never))));
        } else if (kind < 9 || deleted.length === 0) {
          const ids = new Set(Array.from({ length: size }, () => random.pick(alive)));
          alive = alive.filter((id) => !ids.has(id));
          deleted.push(...ids);
          await Promise.all([...ids].map((id) => orGone(items.delete(id))));
        } else {
          const ids = deleted.slice(0, size);
          deleted = deleted.slice(size);
          alive.push(...ids);
          await Promise.all(ids.map((id) => orGone(items.restore(id))));
        }
      }
    }

    async function freshList({
      where = {},
      sort = '-createdAt',
      limit = 20,
      include,
      fields,
      q,
      count,
    }: LiveListQuery) {
      const parameters = new URLSearchParams({ sort: [sort].flat().join(), limit: String(limit) });
      for (const [field, value] of Object.entries(where)) {
        const operators = typeof value === 'object' && !Array.isArray(value) ? Object.entries(value ?? {}) : [];
        if (operators.length === 0) parameters.set(Array.isArray(value) ? `${field}[in]` : field, String(value));
        for (const [operator, operand] of operators) parameters.set(`${field}[${operator}]`, String(operand));
      }
      for (const [name, value] of Object.entries({ include, fields, q, count }))
        if (value !== undefined) parameters.set(name, [value].flat().join());
      return (await call('GET', `/api/items?${parameters}`)).body;
    }

    /** The records without what they include: changes of included records are not followed. */
    const withoutIncluded = (records: readonly Record<string, unknown>[]) =>
      records.map(({ parent, ...record }) => ({
        ...record,
        parent: (parent as { id?: string } | undefined)?.id ?? parent,
      }));

    async function expectEqual(list: LiveList<Record<string, unknown>>, query: LiveListQuery): Promise<void> {
      const fresh = await freshList(query);
      const expected = withoutIncluded(fresh.data);
      const isTotalEqual = ({ total, totalEstimated }: LiveListMeta) => totalEstimated || total === fresh.meta.total;
      const isEqual = () =>
        list.status === 'live' && isTotalEqual(list.meta) && isDeepStrictEqual(withoutIncluded(list.data), expected);
      await vi.waitUntil(isEqual, { timeout: 30_000, interval: 20 }).catch(() => {
        expect({
          query,
          changes,
          seed: SEED,
          status: list.status,
          error: list.error,
          data: withoutIncluded(list.data),
          total: list.meta.total,
        }).toEqual({
          ...{ query, changes, seed: SEED, status: 'live', error: undefined, data: expected, total: fresh.meta.total },
        });
      });
    }

    for (let burst = 0; changes < CHANGES; burst++) {
      const disturbance = burst % 6;
      if (disturbance < 2) proxy.shut();
      // Two writers change records at the same time.
      await Promise.all([write(BURST / 2), write(BURST / 2)]);
      // Without its stream in Redis, the server cannot send what was missed.
      if (disturbance === 0) await redis.del(`${env.REDIS_PREFIX}:realtime`);
      if (disturbance < 2) proxy.reopen();
      await Promise.all(QUERIES.map((query, i) => expectEqual(lists[i]!, query)));
    }
    // Lists whose order the client can compute follow the events, instead of being loaded after each burst of changes.
    const loads = session.requested.filter((address) => address.includes('sort=-createdAt&'));
    expect(loads.length).toBeLessThan((2 * CHANGES) / BURST);
  },
  scaleRuns(600_000),
);
