// Which rows are known to be committed, while transactions commit in another order than they began.
import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { defineUser } from '../../../../src/index.ts';
import { Settled, SNAPSHOT } from '../../../../src/platform/data/postgres/settled.ts';
import { startTestApp } from '../../../support/app.ts';

const { env } = await startTestApp({ resources: [defineUser()] }, { roles: [] });
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
afterAll(() => client.end());

/** Passes a position with a statement that writes. */
async function note(settled: Settled, position: number): Promise<number> {
  const { passed } = settled;
  const { rows } = await client.query<{ snapshot: string }>(`select ${SNAPSHOT} as snapshot, pg_current_xact_id()`);
  settled.noteSnapshot(passed, rows[0]!.snapshot);
  settled.notePassed(position);
  return settled.position;
}

/** Opens a transaction that has written something. Returns the function that commits it. */
async function beginWriting(): Promise<() => Promise<unknown>> {
  const writer = new Client({ connectionString: env.DATABASE_URL });
  await writer.connect();
  onTestFinished(() => writer.end());
  await writer.query('begin');
  await writer.query('select pg_current_xact_id()');
  return () => writer.query('commit');
}

/** Other tests write as well, so the position follows only when their transactions have ended. */
const waitForPosition = (settled: Settled, position: number) =>
  vi.waitUntil(async () => (await note(settled, position)) >= position, { timeout: 30_000, interval: 5 });

test('the position follows once all transactions have ended that were open there', async () => {
  const settled = new Settled();
  await waitForPosition(settled, 1);
  const commit = await beginWriting();
  // These may still take up a position that was noted before the transaction began.
  for (let position = 2; position < 10; position++) await note(settled, position);
  const reached = settled.position;
  expect(reached).toBeLessThanOrEqual(1);
  for (let position = 10; position < 30; position++) expect(await note(settled, position)).toBe(reached);
  await commit();
  await waitForPosition(settled, 30);
});

test('a transaction that stays open for more than a minute is not waited for', async () => {
  const settled = new Settled();
  await waitForPosition(settled, 1);
  await beginWriting();
  for (let position = 2; position < 5; position++) await note(settled, position);
  expect(settled.position).toBeLessThanOrEqual(1);
  let now = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  onTestFinished(() => void vi.restoreAllMocks());
  for (let position = 10; position < 12; position++) {
    now += 61_000;
    await note(settled, position);
  }
  expect(settled.position).toBeGreaterThan(1);
});

test('a time is settled only after the moment at which its rows may still get their transactions', () => {
  const settled = new Settled();
  settled.notePassedTime(5000);
  settled.noteSnapshot(settled.passed, '10 10');
  settled.noteSnapshot(settled.passed, '10 10');
  expect(settled.position).toBeLessThan(5000);
  expect(settled.position).toBeGreaterThan(4000);
});

test('after the clock was set back, no time is settled until later ones were passed', () => {
  const settled = new Settled();
  for (const ms of [5000, 6000]) {
    settled.notePassedTime(ms);
    settled.noteSnapshot(settled.passed, '10 10');
  }
  expect(settled.position).toBeGreaterThan(0);
  settled.notePassedTime(3000);
  expect([settled.passed, settled.position]).toEqual([Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]);
  for (const ms of [3100, 3200]) {
    settled.notePassedTime(ms);
    settled.noteSnapshot(settled.passed, '10 10');
  }
  expect(settled.position).toBeLessThan(3200);
  expect(settled.position).toBeGreaterThan(2000);
});
