import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { ApiError, defineJob, defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const runs: { id: string; input: unknown; user: string | undefined; attempt: number }[] = [];
const greet = defineJob('greet', {
  input: z.strictObject({ name: z.string().min(1), times: z.coerce.number().int().default(1) }),
  run: ({ id, input, user, attempt }) => {
    runs.push({ id, input, user: user?.id, attempt });
    return { greeted: input.name };
  },
});
const plain = defineJob('plain', { run: ({ input }) => input });
const big = defineJob('big', { input: z.unknown(), run: () => undefined });

const ticket = defineResource('ticket', {
  fields: { title: f.string().required(), author: f.ref('user').owner() },
  policies: { create: 'authenticated', read: 'public', list: 'public', update: 'owner' },
  hooks: {
    async beforeCreate({ title }, { jobs }) {
      await jobs.enqueue(greet, { name: `before ${title}` });
      if (title === 'refused') throw new ApiError('CONFLICT', 'No');
    },
    afterCreate: ({ title }, { jobs }) => jobs.enqueue(greet, { name: `after ${title}` }),
  },
  routes: (route) => [
    route.post('/together', async ({ jobs, transaction, body }) => {
      await transaction(async (tx) => {
        await tx.jobs.enqueue(greet, { name: 'tx' });
        await jobs.enqueue(greet, { name: 'ctx' });
        if ((body as { fail?: boolean }).fail) throw new ApiError('CONFLICT', 'No');
      });
      return { ok: true };
    }),
  ],
});

const { app, env, person } = await startTestApp(
  {
    resources: [defineUser(), ticket],
    jobs: [greet, plain, big],
    settings: { relay: { sweepMs: 200 } },
  },
  { roles: 'all' },
);
const sql = new Client({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());

const until = <T>(look: () => T | Promise<T>) => vi.waitUntil(look, { timeout: 30_000, interval: 20 });
const finished = (id: string) =>
  until(async () => {
    const job = await app.jobs.get(id);
    return job?.finishedAt != null ? job : undefined;
  });
const namesOf = async () => {
  const { rows } = await sql.query(
    `select input->>'name' as name from background_jobs where name = 'greet' order by id`,
  );
  return rows.map(({ name }) => name as string);
};

test('a job runs with the output of its schema, and its result is stored', async () => {
  const { id, created } = await app.jobs.enqueue(greet, { name: 'Ada', times: '3' });
  expect(created).toBe(true);
  expect(await finished(id)).toMatchObject({
    id,
    job: 'greet',
    status: 'succeeded',
    input: { name: 'Ada', times: '3' },
    result: { greeted: 'Ada' },
    error: null,
    attempts: 1,
    user: null,
    schedule: null,
    uniqueKey: null,
  });
  expect(runs.find((run) => run.id === id)?.input).toEqual({ name: 'Ada', times: 3 });
});

test('a job without a schema has no input', async () => {
  const { id } = await app.jobs.enqueue(plain);
  expect(await finished(id)).toMatchObject({ status: 'succeeded', input: null, result: null });
  await expect(app.jobs.enqueue('plain', { x: 1 })).rejects.toMatchObject({
    code: 'VALIDATION_ERROR',
    details: { input: 'This job has no input' },
  });
});

test('a job that is not declared is refused by name', async () => {
  await expect(app.jobs.enqueue('gret', {})).rejects.toThrow(
    'there is no job "gret" in createApp({ jobs }). Did you mean "greet"?',
  );
});

test('invalid input is refused with a message per field', async () => {
  const refused = (input: unknown) =>
    app.jobs.enqueue('greet', input).then(
      () => undefined,
      (error: ApiError) => [error.status, error.code, error.details],
    );
  expect(await refused({ name: '', extra: 1 })).toEqual([
    422,
    'VALIDATION_ERROR',
    { 'input.name': expect.any(String), 'input.extra': 'Unknown field' },
  ]);
  expect(await refused({})).toEqual([422, 'VALIDATION_ERROR', { 'input.name': 'Is required' }]);
  expect(await refused(undefined)).toEqual([422, 'VALIDATION_ERROR', { input: 'Must be an object' }]);
});

const circular: { self?: unknown } = {};
circular.self = circular;
const deep = JSON.parse(`${'['.repeat(40)}${']'.repeat(40)}`);
test.each([
  ['more than 64 KB', 'x'.repeat(65 * 1024), /at most 65536 bytes/],
  ['NUL', { text: 'a\0b' }, /NUL/],
  ['NUL in a key', { 'a\0b': 1 }, /NUL/],
  ['half of a surrogate pair', { list: ['\ud800'] }, /broken characters/],
  ['a BigInt', { n: 1n }, /Must be JSON/],
  ['an object that contains itself', circular, /Must be JSON/],
  ['a function', () => 1, /Must be JSON/],
  ['deep nesting', deep, /nested at most/],
])('input with %s is refused', async (_what, input, message) => {
  await expect(app.jobs.enqueue(big, input)).rejects.toMatchObject({
    code: 'VALIDATION_ERROR',
    details: { input: expect.stringMatching(message) },
  });
});

test('input with escaped characters is stored unchanged', async () => {
  const input = { text: 'tab\t, \u0001, \\u0000, 😀' };
  const { id } = await app.jobs.enqueue(big, input);
  expect((await app.jobs.get(id))?.input).toEqual(input);
});

test.each([
  [{ runAt: 'soon' }, { runAt: expect.stringContaining('Must be a time') }],
  [{ runAt: '2027-02-30T00:00:00Z' }, { runAt: expect.stringContaining('Must be a time') }],
  [{ runAt: Number.NaN }, { runAt: expect.stringContaining('Must be a time') }],
  [{ runAt: new Date(Number.NaN) }, { runAt: expect.stringContaining('Must be a time') }],
  [{ runAt: Number.POSITIVE_INFINITY }, { runAt: expect.stringContaining('Must be a time') }],
  [{ runAt: '2999-01-01' }, { runAt: 'Must be at most 10 years ahead' }],
  [{ runAt: -1 }, { runAt: 'Must not be before 1970' }],
  [{ uniqueKey: '' }, { uniqueKey: 'Must be a text' }],
  [{ uniqueKey: 'a\0' }, { uniqueKey: expect.stringContaining('NUL') }],
  [{ uniqueKey: 'k'.repeat(201) }, { uniqueKey: 'Must be at most 200 characters' }],
  [{ delay: 5 }, { delay: 'Unknown option' }],
])('the options %o are refused', async (options, details) => {
  await expect(app.jobs.enqueue('plain', undefined, options as object)).rejects.toMatchObject({ details });
});

test('a job with runAt waits for that time, which its run gets as scheduledAt', async () => {
  const runAt = new Date(Date.now() + 1500);
  const { id } = await app.jobs.enqueue(plain, undefined, { runAt });
  expect(await app.jobs.get(id)).toMatchObject({ status: 'waiting', scheduledAt: runAt.toISOString() });
  const { startedAt } = await finished(id);
  expect(Date.parse(startedAt!)).toBeGreaterThanOrEqual(runAt.getTime() - 50);
});

test('jobs of a before hook are stored with the record or not at all; those of an after hook follow it', async () => {
  const ada = await person('Ada');
  expect((await ada.call('POST', '/api/tickets', { title: 'refused' })).status).toBe(409);
  expect(await namesOf()).not.toContain('before refused');
  const { body } = await ada.call('POST', '/api/tickets', { title: 'kept' });
  expect(await namesOf()).toEqual(expect.arrayContaining(['before kept', 'after kept']));
  // The user of the request is recorded, and the run gets the user.
  await app.jobs.list({ job: greet });
  const own = await until(() => runs.filter(({ user }) => user === ada.id).length === 2);
  expect(own).toBe(true);
  await expect(
    app.transaction(async (tx) => {
      await tx.service('ticket').create({ title: 'rolled back' });
      throw new Error('rolled back');
    }),
  ).rejects.toThrow('rolled back');
  expect((await namesOf()).filter((name) => name.includes('rolled back'))).toEqual([]);
  expect(body.data.title).toBe('kept');
});

test('jobs of a transaction are stored and run after the commit, or not at all', async () => {
  const ada = await person('Ada');
  const before = (await namesOf()).length;
  expect((await ada.call('POST', '/api/tickets/together', { fail: true })).status).toBe(409);
  expect((await namesOf()).length).toBe(before);
  expect((await ada.call('POST', '/api/tickets/together', {})).status).toBe(200);
  expect((await namesOf()).slice(before).sort()).toEqual(['ctx', 'tx']);
  let inside: string | undefined;
  await app.transaction(async () => {
    inside = (await app.jobs.enqueue(greet, { name: 'inside' })).id;
    expect((await sql.query('select from background_jobs where id = $1', [inside])).rowCount).toBe(0);
    // The transaction sees its own job.
    expect(await app.jobs.get(inside)).toMatchObject({ status: 'waiting' });
  });
  expect(await finished(inside!)).toMatchObject({ status: 'succeeded' });
});

test('of 50 concurrent enqueues with one key, one creates a job, and the others return its id', async () => {
  const options = { uniqueKey: 'all', runAt: Date.now() + 60_000 };
  const enqueued = await Promise.all(Array.from({ length: 50 }, () => app.jobs.enqueue(plain, undefined, options)));
  expect(enqueued.filter(({ created }) => created)).toHaveLength(1);
  expect(new Set(enqueued.map(({ id }) => id)).size).toBe(1);
  // The key belongs to one kind of job, and is free again after the end of the job.
  expect(await app.jobs.enqueue(big, 1, { uniqueKey: 'all' })).toMatchObject({ created: true });
  await app.jobs.cancel(enqueued[0]!.id);
  const next = await app.jobs.enqueue(plain, undefined, options);
  expect(next).toMatchObject({ created: true });
  await expect(app.jobs.retry(enqueued[0]!.id)).rejects.toMatchObject({ code: 'CONFLICT' });
  await app.jobs.cancel(next.id);
});

test('a key that an open transaction uses is waited for, and free again after its rollback', async () => {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const { promise: closing, resolve: close } = Promise.withResolvers<void>();
  const rolledBack = app
    .transaction(async (tx) => {
      await tx.jobs.enqueue(plain, undefined, { uniqueKey: 'tx' });
      open();
      await closing;
      throw new Error('rolled back');
    })
    .catch(() => undefined);
  await opened;
  const waiting = app.jobs.enqueue(plain, undefined, { uniqueKey: 'tx' });
  close();
  await rolledBack;
  expect(await waiting).toMatchObject({ created: true });
});

test('a list is paged, filtered and validated', async () => {
  const first = await app.jobs.list({ job: plain, limit: 2 });
  expect(first.data).toHaveLength(2);
  const second = await app.jobs.list({ job: 'plain', limit: 2, after: first.next! });
  expect(second.data[0]!.id < first.data[1]!.id).toBe(true);
  expect((await app.jobs.list({ status: 'cancelled' })).data.every(({ status }) => status === 'cancelled')).toBe(true);
  await expect(app.jobs.list({ limit: 0, status: 'lost' as never, after: 'x' })).rejects.toMatchObject({
    details: { limit: expect.any(String), status: expect.any(String), after: expect.any(String) },
  });
  for (const job of [{}, null, 5, { name: 5 }, 'a\0'])
    await expect(app.jobs.list({ job: job as never })).rejects.toMatchObject({
      details: { job: 'Must be a job or its name' },
    });
  expect(await app.jobs.get('nonsense')).toBeUndefined();
});

test.each([
  [['plain', undefined, null], { options: 'Must be an object: { runAt, uniqueKey }' }],
  [['plain', undefined, 'soon'], { options: 'Must be an object: { runAt, uniqueKey }' }],
  [['plain', undefined, [1]], { options: 'Must be an object: { runAt, uniqueKey }' }],
  [['plain', undefined, new Date()], { options: 'Must be an object: { runAt, uniqueKey }' }],
  [['plain', undefined, { runAt: null }], { runAt: expect.stringContaining('Must be a time') }],
  [['plain', undefined, { uniqueKey: null }], { uniqueKey: 'Must be a text' }],
  [['plain', undefined, { uniqueKey: 5 }], { uniqueKey: 'Must be a text' }],
  [['plain', null], { input: 'This job has no input' }],
  [['greet', null], { input: 'Must be an object' }],
  [['plain', undefined, { runAt: Symbol('x') }], { runAt: expect.stringContaining('Must be a time') }],
  [['plain', undefined, { toString: 1 }], { toString: 'Unknown option' }],
] as [unknown[], object][])('wrong arguments of plain JavaScript are refused by name: %o', async (args, details) => {
  const enqueue = app.jobs.enqueue as (...args: unknown[]) => Promise<unknown>;
  await expect(enqueue(...args)).rejects.toMatchObject({ code: 'VALIDATION_ERROR', details });
});

test.each([
  [undefined, 'undefined'],
  [null, 'null'],
  [5, 'a number'],
  [{}, 'an object without a name'],
  [{ name: 5 }, 'an object without a name'],
  [Symbol('greet'), 'a symbol'],
  [() => 1, 'a function'],
])('a first argument that is no job is refused: %s', async (job, type) => {
  await expect(app.jobs.enqueue(job as string)).rejects.toThrow(
    `jobs.enqueue(job, input, options): job must be a declaration or its name, not ${type}`,
  );
});

test.each([undefined, null, 5, {}, ['665f1c0a9b1e8a0012345678'], '', 'x'.repeat(24)])(
  'an id that is none belongs to no job: %o',
  async (id) => {
    expect(await app.jobs.get(id as string)).toBeUndefined();
    await expect(app.jobs.cancel(id as string)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(app.jobs.retry(id as string)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  },
);

test.each([
  [null, { filter: 'Must be an object: { job, status, limit, after }' }],
  ['failed', { filter: 'Must be an object: { job, status, limit, after }' }],
  [[], { filter: 'Must be an object: { job, status, limit, after }' }],
  [{ job: null }, { job: 'Must be a job or its name' }],
  [{ status: null }, { status: expect.stringContaining('Must be one of') }],
  [{ limit: '20' }, { limit: expect.stringContaining('whole number') }],
  [{ after: null }, { after: 'Must be the `next` of a page' }],
  [{ state: 'failed' }, { state: 'Unknown option' }],
])('a wrong filter of plain JavaScript is refused by name: %o', async (filter, details) => {
  await expect(app.jobs.list(filter as object)).rejects.toMatchObject({ code: 'VALIDATION_ERROR', details });
});
