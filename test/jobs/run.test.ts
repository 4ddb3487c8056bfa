import { once } from 'node:events';
import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { ApiError, createApp, defineJob, defineResource, defineUser, f, type JobContext } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';

/** What each run does, by the name in its input. */
const behaviors = new Map<string, (context: JobContext<{ does: string }>) => unknown>();
const started: string[] = [];
const retry = { attempts: 3, firstDelayMs: 20, maxDelayMs: 100 };
const input = z.strictObject({ does: z.string() });
const work = defineJob('work', {
  input,
  retry,
  concurrency: 20,
  run(context) {
    started.push(context.id);
    return behaviors.get(context.input.does)!(context);
  },
});
const quick = defineJob('quick', {
  input,
  retry: { ...retry, attempts: 1 },
  timeoutMs: 100,
  run(context) {
    started.push(context.id);
    return behaviors.get(context.input.does)!(context);
  },
});
const note = defineResource('note', {
  fields: { title: f.string() },
  policies: { list: 'public', create: 'authenticated' },
  routes: (route) => [
    route.post('/work', { policy: 'authenticated' }, ({ jobs, body }) =>
      jobs.enqueue(work, { does: (body as { does: string }).does }),
    ),
  ],
});
const declared = { resources: [defineUser(), note], jobs: [work, quick], settings: { relay: { sweepMs: 100 } } };
const { app, env, person } = await startTestApp(declared, { roles: 'all' });
const sql = new Client({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());

const until = <T>(look: () => T | Promise<T>) => vi.waitUntil(look, { timeout: 30_000, interval: 20 });
const finished = (id: string) =>
  until(async () => {
    const job = await app.jobs.get(id);
    return job?.finishedAt != null ? job : undefined;
  });
const running = (id: string) => until(() => started.includes(id));

/** Enqueues a job that behaves like this. */
async function enqueue(run: (context: JobContext<{ does: string }>) => unknown, job = work) {
  const does = `behavior ${behaviors.size}`;
  behaviors.set(does, run);
  return (await app.jobs.enqueue(job, { does })).id;
}
const runToEnd = async (run: (context: JobContext<{ does: string }>) => unknown, job = work) =>
  finished(await enqueue(run, job));

test('a run that throws is retried with all its attempts, and then fails with the last error', async () => {
  const attempts: number[] = [];
  const job = await runToEnd(({ attempt }) => {
    attempts.push(attempt);
    throw new Error(`attempt ${attempt}`);
  });
  expect(attempts).toEqual([1, 2, 3]);
  expect(job).toMatchObject({ status: 'failed', attempts: 3, error: 'Error: attempt 3', result: null });
});

test('a run that succeeds at a later attempt has no error', async () => {
  const job = await runToEnd(({ attempt }) => {
    if (attempt < 2) throw new Error('not yet');
    return { attempt };
  });
  expect(job).toMatchObject({ status: 'succeeded', attempts: 2, error: null, result: { attempt: 2 } });
});

const circular: Record<string, unknown> = {};
circular.self = circular;
test.each([
  ['a text', () => 'just a text', 'just a text'],
  ['undefined', () => undefined, 'Thrown: undefined'],
  ['null', () => null, 'Thrown: null'],
  ['an object', () => ({ code: 7 }), 'Thrown: {"code":7}'],
  [
    'an object that cannot be described',
    () =>
      Object.create(null, {
        toJSON: {
          get: () => {
            throw new Error('no');
          },
        },
      }),
    /cannot be described/,
  ],
  ['a text with NUL and half of a surrogate pair', () => 'a\0b\ud800c', 'ab\ufffdc'],
  [
    'an ApiError',
    () => new ApiError('VALIDATION_ERROR', undefined, { details: { title: 'Is required' } }),
    'VALIDATION_ERROR: The request is invalid; title: Is required',
  ],
])('a run that throws %s fails with a text', async (_what, create, error) => {
  const job = await runToEnd(() => {
    throw create();
  }, quick);
  expect(job).toMatchObject({
    status: 'failed',
    error: typeof error === 'string' ? error : expect.stringMatching(error),
  });
});

test('the stored error has at most 1 KB', async () => {
  const { error } = await runToEnd(() => {
    throw new Error('ä'.repeat(5000));
  }, quick);
  expect(Buffer.byteLength(error!)).toBeLessThanOrEqual(1024);
  expect(error).toMatch(/^Error: ä+…$/);
});

test.each([
  ['is too large', () => 'x'.repeat(70_000), /The result was not stored.*65536/],
  ['contains itself', () => circular, /The result was not stored.*JSON/],
  ['is a BigInt', () => 1n, /The result was not stored.*JSON/],
  ['contains NUL', () => ({ a: '\0' }), /The result was not stored.*NUL/],
])('a run whose result %s has succeeded, because its work is done', async (_what, create, error) => {
  const before = started.length;
  const job = await runToEnd(create);
  expect(job).toMatchObject({ status: 'succeeded', result: null, error: expect.stringMatching(error) });
  expect(started.length).toBe(before + 1);
});

test('a run is aborted at its timeout, which counts as a failed attempt', async () => {
  let reason: unknown;
  const job = await runToEnd(async ({ signal }) => {
    await once(signal, 'abort');
    reason = signal.reason;
    return 'too late';
  }, quick);
  expect(job).toMatchObject({
    status: 'failed',
    error: 'JobTimeoutError: The run took longer than 100 ms',
    result: null,
  });
  expect(reason).toMatchObject({ name: 'JobTimeoutError' });
});

test('a run that ignores its signal blocks no slot, and neither its result nor its progress is stored later', async () => {
  const { promise: blocked, resolve: unblock } = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const ids = await Promise.all(
    Array.from({ length: 6 }, () =>
      enqueue(async ({ progress }) => {
        await blocked;
        progress(100);
        ended.resolve();
        return 'late';
      }, quick),
    ),
  );
  const failed = await Promise.all(ids.map(finished));
  expect(new Set(failed.map(({ status }) => status))).toEqual(new Set(['failed']));
  expect(await runToEnd(() => 'free', quick)).toMatchObject({ status: 'succeeded', result: 'free' });
  unblock();
  await ended.promise;
  expect(await runToEnd(() => 'still free', quick)).toMatchObject({ status: 'succeeded' });
  expect(await Promise.all(ids.map((id) => app.jobs.get(id)))).toEqual(failed);
});

test('progress is stored in order, the last report with the end of the run, and none after it', async () => {
  let report: (done: number) => void = () => undefined;
  const { promise: goOn, resolve } = Promise.withResolvers<void>();
  const id = await enqueue(async ({ progress }) => {
    report = progress;
    progress(1, 10, 'first');
    await goOn;
    for (let done = 2; done <= 9; done++) progress(done, 10);
  });
  expect(await until(async () => (await app.jobs.get(id))?.progress)).toEqual({ done: 1, total: 10, note: 'first' });
  resolve();
  expect((await finished(id)).progress).toEqual({ done: 9, total: 10 });
  report(10);
  expect((await app.jobs.get(id))!.progress).toEqual({ done: 9, total: 10 });
});

test.each([[-1], [Number.NaN], [1, Number.POSITIVE_INFINITY], [1, 2, 'x'.repeat(201)], [1, 2, '\0']])(
  'progress(%s, %s, %s) is an error of the run',
  async (...args) => {
    const job = await runToEnd(({ progress }) => progress(...(args as [number])), quick);
    expect(job).toMatchObject({ status: 'failed', error: expect.stringMatching(/^TypeError: progress/) });
  },
);

test('a waiting job that is cancelled never runs, and can be retried', async () => {
  behaviors.set('cancelled', () => 'ran');
  const { id } = await app.jobs.enqueue(work, { does: 'cancelled' }, { runAt: Date.now() + 3_600_000 });
  expect(await app.jobs.cancel(id)).toMatchObject({ status: 'cancelled', finishedAt: expect.any(String) });
  expect(await app.jobs.cancel(id)).toMatchObject({ status: 'cancelled' });
  expect(started).not.toContain(id);
  // The entry for the later time is still in Redis, and does not hold up the new one.
  expect(await app.jobs.retry(id)).toMatchObject({ status: 'waiting', attempts: 0 });
  expect(await finished(id)).toMatchObject({ status: 'succeeded', result: 'ran' });
});

test('the signal of a running job that is cancelled is aborted, in whichever process it runs, and it is not retried', async () => {
  const second = createApp(declared, { ...env, ...{ NODE_ENV: 'test' } });
  let aborted = 0;
  const id = await enqueue(async ({ signal }) => {
    await once(signal, 'abort');
    aborted += 1;
    throw new Error('aborted');
  });
  await running(id);
  expect(await second.jobs.cancel(id)).toMatchObject({ status: 'cancelled' });
  await second.close();
  await until(() => aborted === 1);
  expect(await app.jobs.get(id)).toMatchObject({ status: 'cancelled', attempts: 1, error: null });
});

test('a job is either cancelled or succeeded when both happen at the same moment', async () => {
  const gates: (() => void)[] = [];
  const ids = await Promise.all(
    Array.from({ length: 10 }, () =>
      enqueue(async () => {
        await new Promise<void>((resolve) => gates.push(resolve));
        return 'done';
      }),
    ),
  );
  await until(() => gates.length === 10);
  for (const open of gates) open();
  const cancelled = await Promise.allSettled(ids.map((id) => app.jobs.cancel(id)));
  for (const [i, id] of ids.entries()) {
    const job = await finished(id);
    const outcome = cancelled[i]!;
    if (outcome.status === 'fulfilled') expect(job).toMatchObject({ status: 'cancelled', result: null });
    else expect([job.status, outcome.reason.code]).toEqual(['succeeded', 'CONFLICT']);
  }
});

test('only failed and cancelled jobs can be retried, and only open ones cancelled', async () => {
  const { id } = await runToEnd(() => 'done');
  await expect(app.jobs.retry(id)).rejects.toMatchObject({
    code: 'CONFLICT',
    message: 'The job has succeeded, so it cannot be retried. Enqueue it again instead',
  });
  await expect(app.jobs.cancel(id)).rejects.toMatchObject({ code: 'CONFLICT' });
  for (const unknown of ['0'.repeat(24), 'x', "'"]) {
    await expect(app.jobs.retry(unknown)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(app.jobs.cancel(unknown)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  }
  let fails = true;
  const failed = await runToEnd(() => {
    if (fails) throw new Error('broken');
    return 'repaired';
  }, quick);
  expect(failed.status).toBe('failed');
  fails = false;
  await app.jobs.retry(failed.id);
  expect(await finished(failed.id)).toMatchObject({
    status: 'succeeded',
    result: 'repaired',
    attempts: 1,
    error: null,
  });
});

test('input that no longer fits the declaration fails at once, and stays retryable', async () => {
  behaviors.set('fits', () => 'fits');
  const { id } = await app.jobs.enqueue(work, { does: 'fits' }, { runAt: Date.now() + 3_600_000 });
  await sql.query(`update background_jobs set input = '{"former": 1}', run_at = now() where id = $1`, [id]);
  const job = await finished(id);
  expect(job).toMatchObject({ status: 'failed', attempts: 1 });
  expect(job.error).toMatch(
    /^PermanentFailure: The input does not fit the declaration of the job: input\.does: Is required; input\.former/,
  );
  await sql.query(`update background_jobs set input = '{"does": "fits"}' where id = $1`, [id]);
  await app.jobs.retry(id);
  expect(await finished(id)).toMatchObject({ status: 'succeeded' });
});

test('changes of a run are recorded for the user and the request that enqueued it', async () => {
  const ada = await person('Ada');
  const events: { user: string | undefined; requestId: string | undefined }[] = [];
  app.on('note.created', ({ user, requestId }) => events.push({ user: user?.id, requestId }));
  behaviors.set('create', async ({ service, user }) => {
    await service('note').create({ title: 'by a job' });
    return user?.id ?? null;
  });
  const { body } = await ada.call('POST', '/api/notes/work', { does: 'create' }, { 'x-request-id': 'from-ada' });
  expect(await finished(body.data.id)).toMatchObject({ result: ada.id, user: ada.id, requestId: 'from-ada' });
  expect(events).toEqual([{ user: ada.id, requestId: 'from-ada' }]);
});

test('a job whose user was deleted or disabled meanwhile runs without a user', async () => {
  for (const change of ['delete', 'disable']) {
    const ada = await person('Ada');
    const { promise: goOn, resolve } = Promise.withResolvers<void>();
    behaviors.set('wait', async ({ user, attempt }) => {
      await goOn;
      if (attempt === 1) throw new Error('once more');
      return user?.id ?? 'no user';
    });
    const { body } = await ada.call('POST', '/api/notes/work', { does: 'wait' });
    const { id } = body.data;
    await running(id);
    if (change === 'delete') await app.service('user').delete(ada.id);
    else await app.service('user').update(ada.id, { status: 'disabled' } as never);
    resolve();
    expect(await finished(id)).toMatchObject({ status: 'succeeded', result: 'no user' });
  }
});

test('a run can change records in a transaction and enqueue further jobs in it', async () => {
  const job = await runToEnd(async ({ transaction }) => {
    behaviors.set('next', () => 'next');
    return transaction(async (tx) => {
      await tx.service('note').create({ title: 'both' });
      return (await tx.jobs.enqueue(work, { does: 'next' })).id;
    });
  });
  expect(await finished(job.result as string)).toMatchObject({ status: 'succeeded', result: 'next' });
});
