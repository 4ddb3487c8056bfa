import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createApp } from '../../../../src/index.ts';
import { declarations, startOperationsApp } from './operations-app.ts';

const { env, redis, read, writeState, removeState } = await startOperationsApp();

test('every process is listed with its roles, versions and load, and is gone when it stops', async () => {
  const own = await vi.waitUntil(async () =>
    (await read('/processes')).processes.find((one: { pid: number }) => one.pid === process.pid),
  );
  expect(own).toMatchObject({
    roles: ['web', 'relay', 'webhook-worker', 'push-worker', 'job-worker'],
    appVersion: 'release-7',
    version: expect.stringMatching(/^\d/),
    memory: { rss: expect.any(Number) },
    eventLoop: { maxMs: expect.any(Number) },
    facts: {
      connections: { max: expect.any(Number) },
      streams: { open: 0, subscriptions: 0 },
      queues: expect.any(Array),
    },
  });
  const worker = createApp(declarations, { ...env, APP_VERSION: 'release-8' });
  await worker.start({ roles: ['job-worker'] });
  const rolesOf = async () =>
    (await read('/processes')).processes.map(({ roles }: { roles: string[] }) => roles.join());
  await expect.poll(rolesOf, { timeout: 5000 }).toContain('job-worker');
  const { concerns } = await vi.waitUntil(async () => {
    const overview = await read('/overview');
    return overview.concerns.length > 0 && overview;
  });
  expect(concerns).toContainEqual(expect.objectContaining({ message: 'Processes run 2 different versions' }));
  await worker.close();
  await expect.poll(rolesOf, { timeout: 5000 }).not.toContain('job-worker');
});

test('a process that was killed is no longer listed after its last heartbeat has expired', async () => {
  await writeState('killed', JSON.stringify({ roles: ['relay'] }), undefined, Date.now() - 60_000);
  const ids = (await read('/processes')).processes.map(({ id }: { id: string }) => id);
  expect(ids).not.toContain('killed');
});

const requests = { inFlight: 1, intervalSeconds: 10, points: [], bounds: [0.1], buckets: [0, 0] };
const HUGE = { length: 4_294_967_295 };

test.each<[what: string, state: string, slow?: string]>([
  ['with lists of any length', JSON.stringify({ facts: { requests: { ...requests, points: HUGE } } })],
  [
    'with buckets that are no list',
    JSON.stringify({ facts: { requests: { ...requests, bounds: HUGE, buckets: HUGE } } }),
  ],
  ['with too many points', JSON.stringify({ facts: { requests: { ...requests, points: Array(5000).fill({}) } } })],
  ['with numbers that are none', '{"facts":{"requests":{"inFlight":"1","points":[],"bounds":[],"buckets":[1e999]}}}'],
  ['without requests', '{"roles":["web"],"facts":{"requests":null}}'],
  ['without parts of the requests', '{"facts":{"requests":{}}}'],
  ['with a role that is a number', '{"roles":5,"host":{},"pid":"x","memory":[],"cpu":{}}'],
  ['without facts', '{"facts":null}'],
  ['with a start that is no time', '{"startedAt":5}'],
  ['with a list in the place of facts', '{"facts":[],"eventLoop":5}'],
  [
    'with queues that are none',
    '{"facts":{"queues":[{},null,{"name":"mail","running":0,"concurrency":1,"failures":[{}]}]}}',
  ],
  ['with queues that are no list', '{"facts":{"queues":{"length":4294967295},"streams":5,"connections":"x"}}'],
  ['with slow entries that lack their fields', '{}', '{"newest":[{}],"slowest":5,"statements":[{"text":5}]}'],
  ['with slow entries that are no object', '{}', 'null'],
])('the state of a process %s breaks no page and hides no other process', async (_what, state, slow) => {
  const foreign = randomUUID();
  await writeState(foreign, state, slow);
  onTestFinished(() => removeState(foreign));
  const list = await vi.waitUntil(async () => {
    const answer = await read('/processes');
    return answer.processes.some(({ id }: { id: string }) => id === foreign) && answer;
  });
  expect(list.problem).toBeNull();
  expect(list.processes.map(({ pid }: { pid: number }) => pid)).toContain(process.pid);
  const { concerns } = await read('/overview');
  expect(concerns.filter(({ level }: { level: string }) => level === 'error')).toEqual([]);
  for (const path of ['/queues', '/slow']) await read(path);
});

test.each<[what: string, state: string, seenAt?: number | string]>([
  ['that is not JSON', '{'],
  ['that is null', 'null'],
  ['that was written at no time', '{}', '+inf'],
])('a state %s is not listed, and hides no other process', async (_what, state, seenAt) => {
  await writeState('foreign', state, undefined, seenAt);
  const newest = randomUUID();
  await writeState(newest, '{}');
  onTestFinished(() => removeState('foreign', newest));
  const ids = await vi.waitUntil(async () => {
    const found = (await read('/processes')).processes.map(({ id }: { id: string }) => id);
    return found.includes(newest) && found;
  });
  expect(ids).not.toContain('foreign');
});

test('names that no queue can have are not listed as queues', async () => {
  const keys = `${env.REDIS_PREFIX}:{processes}`;
  await redis.zadd(`${keys}:queues`, Date.now(), '', Date.now(), 'a:b', Date.now(), 'of-another-version');
  const names = async () => (await read('/queues')).map(({ name }: { name: string }) => name);
  await expect.poll(names, { timeout: 5000 }).toContain('of-another-version');
  expect(await names()).not.toContain('a:b');
  expect(await names()).not.toContain('');
});
