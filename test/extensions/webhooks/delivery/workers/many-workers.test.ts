import { afterAll, expect, test, vi } from 'vitest';
import { createApp, defineResource, defineUser, f, webhooks } from '../../../../../src/index.ts';
import { startReceiver } from '../../../../fakes/receiver.ts';
import { startTestApp } from '../../../../support/app.ts';

const PRODUCERS = 20;
const CONSUMERS = 20;
const EACH = 100;
const note = defineResource('note', {
  fields: { text: f.text(), owner: f.ref('user').owner() },
  policies: { read: 'owner' },
});
const declared = {
  resources: [defineUser(), note],
  extensions: [webhooks({ concurrency: CONSUMERS / 2, pollMs: 200 })],
} as const;
const { app, env, person } = await startTestApp(declared, { roles: ['web', 'relay'] });
const workers = [createApp(declared, env), createApp(declared, env)];
const receiver = await startReceiver();
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.close()));
  await receiver.close();
});

test('with 20 producers, 20 consumers and 2,000 deliveries, each is sent once, and no worker waits for others to finish', {
  timeout: 240_000,
}, async () => {
  const people = await Promise.all(Array.from({ length: PRODUCERS }, (_, i) => person(`Person${i}`)));
  await Promise.all(
    people.map(({ id, call }) =>
      call('POST', '/api/webhooks', { url: `${receiver.url}/${id}`, events: ['note.created'] }),
    ),
  );
  // The first half waits before any worker sends; the second half is created while they send.
  const produce = async ({ id }: { id: string }, service: typeof app.service) => {
    for (let i = 0; i < EACH / 2; i++) await service('note').create({ text: `${i}`, owner: id });
  };
  await Promise.all(people.map((one) => app.transaction(({ service }) => produce(one, service as typeof app.service))));
  await Promise.all(workers.map((worker) => worker.start({ roles: ['webhook-worker', 'relay'] })));
  await Promise.all(people.map((one) => produce(one, app.service)));
  const total = PRODUCERS * EACH;
  await vi.waitUntil(() => receiver.requests.length >= total, { timeout: 90_000, interval: 100 });

  const records = receiver.requests.map(({ body }) => JSON.parse(body).data.id as string);
  expect(new Set(records).size).toBe(total);
  expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(total);
  expect(records).toHaveLength(total);
  const byPerson = Map.groupBy(receiver.requests, ({ path }) => path);
  expect([...byPerson.values()].map((list) => list.length)).toEqual(Array(PRODUCERS).fill(EACH));
  const firsts = [...byPerson.values()].map((list) => receiver.requests.indexOf(list[0]!));
  expect(Math.max(...firsts)).toBeLessThan(total * 0.75);
});
