// Batches against other clients that change the same records between the checks and the writes.
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { BLOCKED_BY_ME, waitUntilBlockedBy } from '../../support/database/blocked-by.ts';

const policies = { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' } as const;
const team = defineResource('team', { fields: { name: f.string() }, policies });
const player = defineResource('player', {
  fields: {
    code: f.string().unique().filterable(),
    team: f.ref('team', { onDelete: 'cascade' }).filterable(),
    text: f.text().max(1_000_000),
  },
  policies,
});
const roster = defineResource('roster', {
  fields: { code: f.string().unique(), teams: f.refs('team') },
  policies,
});
const hooked = defineResource('hooked', {
  fields: { code: f.string().unique() },
  policies,
  hooks: { beforeCreate: () => undefined },
});
/** Batches of two items, each of which holds its first value before it takes the second. */
const BATCHES = 4;
const holding = Promise.withResolvers<void>();
const hooksOf = new Map<string, number>();
const retries = { running: 0, most: 0 };
const crossed = defineResource('crossed', {
  fields: { code: f.string().unique(), batch: f.string() },
  policies,
  hooks: {
    async beforeCreate({ batch: own }) {
      const count = (hooksOf.get(own!) ?? 0) + 1;
      hooksOf.set(own!, count);
      if ([...hooksOf.values()].every((hooks) => hooks >= 2) && hooksOf.size === BATCHES) holding.resolve();
      if (count === 2) await holding.promise;
      if (count <= 2) return;
      retries.running += 1;
      retries.most = Math.max(retries.most, retries.running);
      // On a busy machine, a transaction takes longer than the pause before it is retried.
      await setTimeout(200);
      retries.running -= 1;
    },
  },
});
const { app, call, env } = await startTestApp(
  { resources: [defineUser(), team, player, roster, hooked, crossed] },
  {
    // Deadlocks are found sooner.
    env: ({ DATABASE_URL }) => ({
      DATABASE_URL: `${DATABASE_URL}?options=${encodeURIComponent('-c deadlock_timeout=50')}`,
    }),
  },
);
const teams = app.service(team);
const players = app.service(player);
const other = new pg.Client(env.DATABASE_URL);
await other.connect();
afterAll(() => other.end());

/** Runs work whose write waits while another client deletes a team; the deletion is committed first. */
async function whileTeamIsDeleted<T>(id: string, work: () => Promise<T>): Promise<T> {
  await other.query('begin');
  await other.query('delete from teams where id = $1', [id]);
  const working = work();
  await waitUntilBlockedBy(other);
  await other.query('commit');
  return working;
}

const batch = (path: string, operations: readonly object[], mode: string) =>
  call('POST', `/api/${path}/batch`, { mode, operations });
const create = (data: object) => ({ op: 'create', data });

test('an atomic batch whose reference is deleted between its check and its write fails with the error of the operation', async () => {
  const [kept, gone] = await teams.createMany([{}, {}]);
  const operations = [create({ team: kept!.id }), create({ team: gone!.id })];
  const { status, body } = await whileTeamIsDeleted(gone!.id, () => batch('players', operations, 'atomic'));
  expect([status, body.error.code, body.error.details]).toEqual([
    422,
    'VALIDATION_ERROR',
    { 'operations.1.team': 'No such team' },
  ]);
  expect(await players.count({ team: kept!.id })).toBe(0);
});

test('in a batch without atomicity, only the operation whose reference was deleted in the meantime fails', async () => {
  const [kept, gone] = await teams.createMany([{}, {}]);
  const moved = await players.create({ team: kept!.id });
  const operations = [
    create({ team: kept!.id }),
    create({ team: gone!.id }),
    { op: 'update', id: moved.id, data: { team: gone!.id } },
    { op: 'upsert', by: 'code', data: { code: 'late', team: gone!.id } },
  ];
  const { body } = await whileTeamIsDeleted(gone!.id, () => batch('players', operations, 'perItem'));
  expect(body.data.map(({ status }: { status: number }) => status)).toEqual([201, 422, 422, 422]);
  for (const one of body.data.slice(1)) expect(one.error.details).toEqual({ team: 'No such team' });
  expect(await players.count({ team: kept!.id })).toBe(2);
});

test('createMany, upsert and updateMany report a reference that was deleted in the meantime', async () => {
  const writes = [
    [(id: string) => players.createMany([{ team: id }]), '0.team'],
    [(id: string) => players.upsert('code', { code: 'new', team: id }), 'team'],
    [
      async (id: string) => {
        await players.createMany([{ code: 'moving' }]);
        return players.updateMany({ code: 'moving' }, { team: id });
      },
      '0.team',
    ],
  ] as const;
  for (const [write, name] of writes) {
    const { id } = await teams.create({});
    await expect(whileTeamIsDeleted(id, (): Promise<unknown> => write(id))).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { [name]: 'No such team' },
    });
  }
});

test('of atomic batches that take the same unique values in opposite orders, one succeeds and the others get a conflict', async () => {
  for (let round = 0; round < 4; round++) {
    const codes = Array.from({ length: 6 }, (_, i) => `o${round}-${i}`);
    const responses = await Promise.all(
      Array.from({ length: 6 }, (_, i) => {
        const own = (i % 2 === 0 ? codes : codes.toReversed()).map((code) => create({ code, text: `${i}` }));
        return batch('players', own, 'atomic');
      }),
    );
    const statuses = responses.map(({ status }) => status);
    expect(statuses.filter((status) => status !== 409)).toEqual([200]);
    expect(await players.count({ code: { in: codes } })).toBe(6);
  }
});

test('operations that run alone take the same unique values in opposite orders without a 500', async () => {
  for (const path of ['hookeds', 'rosters'])
    for (let round = 0; round < 3; round++) {
      const codes = Array.from({ length: 4 }, (_, i) => `a${round}-${i}`);
      const responses = await Promise.all(
        Array.from({ length: 4 }, (_, i) =>
          batch(
            path,
            (i % 2 === 0 ? codes : codes.toReversed()).map((code) => create({ code })),
            'atomic',
          ),
        ),
      );
      const statuses = responses.map(({ status }) => status);
      expect(statuses.filter((status) => status !== 409)).toEqual([200]);
    }
});

test('batches that were retried after a conflict run one after the other, so that they do not conflict again', async () => {
  const responses = await Promise.all(
    [...['ab', 'ba'], ...['cd', 'dc']].map((codes) =>
      batch(
        'crosseds',
        [...codes].map((code) => create({ code, batch: codes })),
        'atomic',
      ),
    ),
  );
  expect(responses.map(({ status }) => status).toSorted()).toEqual([200, 200, 409, 409]);
  expect(retries.most).toBe(1);
});

test('transactions that take the same unique values in opposite orders are committed, or fail with 409 or 503', async () => {
  const codes = ['t1', 't2', 't3', 't4'];
  const results = await Promise.all(
    Array.from({ length: 4 }, (_, i) =>
      app
        .transaction(async (tx) => {
          for (const code of i % 2 === 0 ? codes : codes.toReversed()) await tx.service('player').create({ code });
          return 'committed';
        })
        .catch((error: { code: string }) => error.code),
    ),
  );
  for (const result of results) expect(['committed', 'CONFLICT', 'UNAVAILABLE']).toContain(result);
  expect(results.filter((result) => result === 'committed').length).toBe(await players.count({ code: 't1' }));
});

test('batches without atomicity in opposite orders store each unique value once, and report the other as a conflict', async () => {
  const codes = Array.from({ length: 300 }, (_, i) => `i${i}`);
  const outcomes = await Promise.all(
    [codes, codes.toReversed()].map((own) =>
      batch(
        'players',
        own.map((code) => create({ code })),
        'perItem',
      ),
    ),
  );
  const statuses = outcomes.flatMap(({ body }) => body.data.map(({ status }: { status: number }) => status));
  expect(statuses.filter((status) => status === 201)).toHaveLength(300);
  expect(statuses.filter((status) => status === 409)).toHaveLength(300);
});

test('if the connection is lost, a batch without atomicity reports the records that it stored before', async () => {
  await other.query('begin');
  await other.query(`insert into players (id, code) values ($1, 'held')`, ['d'.repeat(24)]);
  // The first two operations fill a statement of their own.
  const text = 'x'.repeat(600_000);
  const operations = [create({ code: 'big1', text }), create({ code: 'big2', text }), create({ code: 'held' })];
  const sending = batch('players', operations, 'perItem');
  await waitUntilBlockedBy(other);
  await other.query(`select pg_terminate_backend(pid) from (${BLOCKED_BY_ME}) blocked`);
  await other.query('rollback');
  const { body } = await sending;
  expect(body.data.map(({ status }: { status: number }) => status)).toEqual([201, 201, 503]);
  expect(await players.count({ code: { in: ['big1', 'big2', 'held'] } })).toBe(2);
});
