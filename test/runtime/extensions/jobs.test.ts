import { expect, test, vi } from 'vitest';
import type { ExtensionHost } from '../../../src/extension/index.ts';
import { defineExtension, defineUser } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { getStartupError } from '../../support/startup-error.ts';

/** An extension with one job, which records its input. */
function worker(name: string, job: string, ran: string[]) {
  const held: { jobs?: ExtensionHost['jobs'] } = {};
  const extension = defineExtension({
    name,
    setup(host) {
      held.jobs = host.jobs;
      return { jobs: { [job]: { run: async (id) => void ran.push(`${name} ${job} ${id}`) } } };
    },
  });
  return { extension, add: (ids: string[]) => held.jobs!.add(job, ids) };
}

test('two extensions never run each other’s jobs, whatever they and their jobs are called', async () => {
  const ran: string[] = [];
  const one = worker('mail', 'sync-now', ran);
  const two = worker('mail-sync', 'now', ran);
  // The queue for large audiences is called push-audiences.
  const three = worker('push', 'audiences', ran);
  await startTestApp(
    { resources: [defineUser()], extensions: [one, two, three].map(({ extension }) => extension) },
    { roles: 'all' },
  );
  const ids = Array.from({ length: 10 }, (_, i) => `row-${i}`);
  for (const { add } of [one, two, three]) await add(ids);
  await vi.waitUntil(() => ran.length >= 30, { timeout: 60_000 });
  const expected = ['mail sync-now', 'mail-sync now', 'push audiences'].flatMap((job) =>
    ids.map((id) => `${job} ${id}`),
  );
  expect(ran.toSorted()).toEqual(expected.toSorted());
});

test('a job id may be any text (integers, colons, empty); the same text twice is one job, two texts are two jobs', async () => {
  const ran: string[] = [];
  const { extension, add } = worker('mail', 'send', ran);
  await startTestApp({ resources: [defineUser()], extensions: [extension] }, { roles: 'all' });
  const ids = ['123', '0', '', 'a:b', 'a:b:c', 'a%3Ab', 'a b', 'é\u0000', 'x'.repeat(5000)];
  await add([...ids, ...ids]);
  await vi.waitUntil(() => ran.length >= ids.length, { timeout: 60_000 });
  expect(ran.toSorted()).toEqual(ids.map((id) => `mail send ${id}`).toSorted());
});

const run = async () => undefined;

test('jobs whose names no queue accepts, or that no process would run, are refused with all errors at once', () => {
  const jobs = {
    'j:k': { run },
    'a/b': { run },
    '': { run },
    fine: { run, role: 'web', concurrency: 1, attempts: 1 },
    lost: { run, role: 'nobody', concurrency: 0, attempts: 1.5 },
    idle: {},
    none: null,
  };
  const extensions = [
    defineExtension({ name: 'mail', setup: () => ({ jobs: jobs as never }) }),
    defineExtension({ name: 'a:b', setup: () => ({ jobs: { send: { run } } }) }),
  ];
  const named = 'its name is part of a queue name, which must not contain : or /. Rename it';
  expect(
    getStartupError({ resources: [defineUser()], extensions })
      .split('\n')
      .slice(1),
  ).toEqual([
    `  - extension "mail": job "j:k": ${named}`,
    `  - extension "mail": job "a/b": ${named}`,
    `  - extension "mail": job "": ${named}`,
    '  - extension "mail": job "lost": role: "nobody" is not a role. Roles: web, relay, webhook-worker, push-worker, job-worker',
    '  - extension "mail": job "lost": concurrency: must be a whole number from 1',
    '  - extension "mail": job "lost": attempts: must be a whole number from 1',
    '  - extension "mail": job "idle": needs a function run(id)',
    '  - extension "mail": job "none": needs a function run(id)',
    '  - extension "a:b": its name is part of queue names, which must not contain : or /. Rename it',
  ]);
});

test('an extension without jobs may have any name', () => {
  expect(getStartupError({ resources: [defineUser()], extensions: [{ name: 'a:b', setup: () => ({}) }] })).toBe('');
});
