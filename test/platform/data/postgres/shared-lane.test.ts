// How many statements travel together, without a database: each connection holds the statements until the test answers them.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { PooledConnection, Statement } from '../../../../src/platform/data/postgres/connection.ts';
import type { ConnectionPool } from '../../../../src/platform/data/postgres/connection-pool.ts';
import { SharedLane } from '../../../../src/platform/data/postgres/shared-lane.ts';

const MIB = 1024 * 1024;
const DEPTH = { always: 4, fitting: 32, bytes: 32 * MIB };

// The lane measures how soon results arrive.
beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

interface SentStatement {
  text: string;
  answer(): Promise<void>;
}

/** A lane whose statements wait for an answer. @param connections the number of its connections */
function createLane(connections = 1) {
  const sent: SentStatement[][] = [];
  const create = (): PooledConnection => {
    const statements: SentStatement[] = [];
    sent.push(statements);
    const connection = {
      pending: 0,
      maxPending: Number.POSITIVE_INFINITY,
      isCorked: false,
      lost: undefined,
      cork: () => undefined,
      run({ text }: Statement) {
        connection.pending += 1;
        const { promise, resolve } = Promise.withResolvers<unknown[][]>();
        const answer = async () => {
          connection.pending -= 1;
          statements.splice(statements.indexOf(own), 1);
          resolve([[text]]);
          await new Promise(setImmediate);
        };
        const own = { text, answer };
        statements.push(own);
        return promise;
      },
    };
    return connection as unknown as PooledConnection;
  };
  const pool = {
    lane: () => ({ name: 'lists', min: 1, max: connections, timeoutMs: 5000 }),
    tryAcquire: () => (sent.length < connections ? create() : undefined),
    acquire: () => new Promise(() => undefined),
    keepable: () => connections,
    release: () => undefined,
    onShortage: () => undefined,
  } as unknown as ConnectionPool;
  const lane = new SharedLane(pool, 'lists', { depth: DEPTH, maxWaitMs: 60_000 });
  const query = (text: string, maxBytes?: number) => lane.query({ text, values: [], maxBytes });
  /** Sends statements whose results arrive after this many ms. */
  const run = async (count: number, ms: number) => {
    for (let i = 0; i < count; i++) {
      const result = query('earlier', 0);
      vi.advanceTimersByTime(ms);
      await sent.flat()[0]!.answer();
      await result;
    }
  };
  return { lane, sent, query, run };
}

test('four lists of unknown size are sent, and the next one with the first result', async () => {
  const { lane, sent, query } = createLane();
  const results = Array.from({ length: 6 }, (_, i) => query(`${i}`));
  expect(sent[0]!.map(({ text }) => text)).toEqual(['0', '1', '2', '3']);
  expect(lane.stats().waiting).toBe(2);
  await sent[0]![0]!.answer();
  expect(sent[0]!.map(({ text }) => text)).toEqual(['1', '2', '3', '4']);
  while (sent[0]!.length > 0) await sent[0]![0]!.answer();
  expect(await Promise.all(results)).toEqual(Array.from({ length: 6 }, (_, i) => [[`${i}`]]));
});

test('a lane begins with four statements, sends one more after each quick result, and four again after a slow one', async () => {
  const { sent, query, run } = createLane();
  await run(3, 10);
  for (let i = 0; i < 20; i++) void query('page', 0);
  expect(sent[0]).toHaveLength(7);
  vi.advanceTimersByTime(1000);
  await sent[0]![0]!.answer();
  while (sent[0]!.length > 3) await sent[0]![0]!.answer();
  expect(sent[0]).toHaveLength(3);
});

test('lists that are known to be small are sent up to 32 at once', async () => {
  const { sent, query, run } = createLane();
  await run(40, 1);
  for (let i = 0; i < 40; i++) void query('page', MIB / 4);
  expect(sent[0]).toHaveLength(32);
});

test('counts need no room for bytes', async () => {
  const { sent, query, run } = createLane();
  await run(40, 1);
  for (let i = 0; i < 16; i++) void query('page', 2 * MIB);
  for (let i = 0; i < 4; i++) void query('count', 0);
  expect(sent[0]).toHaveLength(20);
});

test('all connections together hold at most the bytes of the lane, beyond four statements on each', async () => {
  const { sent, query, run } = createLane(2);
  await run(40, 1);
  for (let i = 0; i < 60; i++) void query('page', 2 * MIB);
  expect(sent.flat()).toHaveLength(16);
  await sent[0]![0]!.answer();
  expect(sent.flat()).toHaveLength(16);
});

test('a list that does not fit waits, and those behind it do not pass it', async () => {
  const { sent, query, run } = createLane();
  await run(40, 1);
  for (let i = 0; i < 5; i++) void query('small', MIB);
  void query('unknown');
  void query('small', MIB);
  expect(sent[0]!.map(({ text }) => text)).toEqual(Array(5).fill('small'));
  await sent[0]![0]!.answer();
  expect(sent[0]).toHaveLength(4);
  await sent[0]![0]!.answer();
  expect(sent[0]!.map(({ text }) => text)).toEqual([...Array(3).fill('small'), 'unknown', 'small']);
});
