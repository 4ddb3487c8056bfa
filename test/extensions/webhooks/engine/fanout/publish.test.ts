import { type } from 'arktype';
import { Client } from 'pg';
import * as v from 'valibot';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import {
  ApiError,
  createApp,
  defineResource,
  defineUser,
  f,
  verifyWebhook,
  webhooks,
} from '../../../../../src/index.ts';
import { type Receiver, startReceiver } from '../../../../fakes/receiver.ts';
import { type Json, readContract } from '../../../../runtime/openapi/contract.ts';
import { type Person, startTestApp } from '../../../../support/app.ts';
import { ALL_DELIVERIES } from '../../../../support/webhooks/deliveries.ts';

/** The handler of the route for notes, set before the app is created. */
const ofRoute = { run: (): unknown => undefined };
const note = defineResource('note', {
  fields: { text: f.text(), owner: f.ref('user').owner() },
  policies: { read: 'owner' },
  routes: (route) => [route.post('/bad', { policy: 'authenticated' }, () => ofRoute.run())],
});
const extension = webhooks({
  retrySchedule: [],
  pollMs: 100,
  maxEndpointsPerUser: 100,
  events: {
    'invoice.paid': {
      schema: z.object({ amount: z.number(), note: z.string().trim().optional() }),
      description: 'Paid',
    },
    'invoice.sent-out': { schema: v.object({ to: v.string() }) },
    'batch.done': { schema: type({ count: 'number' }) },
    'note.shared': { schema: z.unknown() },
    'slow.checked': {
      schema: z.object({ id: z.string() }).refine(async ({ id }) => id !== 'no', { error: 'Must not be no' }),
    },
  },
});
const running = await startTestApp({ resources: [defineUser(), note], extensions: [extension] }, { roles: 'all' });
const { person, env, url } = running;
const made = () => createApp({ resources: [defineUser(), note], extensions: [extension] }, env);
// The type of the test helper does not know the APIs that extensions add.
const app = running.app as unknown as ReturnType<typeof made>;
ofRoute.run = () => app.webhooks.publish('invoice.paid', { amount: 'x' } as never);
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
const opened: Receiver[] = [];
afterAll(async () => {
  await client.end();
  await Promise.all(opened.map((one) => one.close()));
});

let ann: Person;
beforeEach(async () => {
  ann = await person('Ann');
});

async function subscribe(who: Person, events: string[], scope: 'own' | 'global' = 'own') {
  const receiver = await startReceiver();
  opened.push(receiver);
  const { status, body } = await who.call('POST', '/api/webhooks', { url: receiver.url, events, scope });
  expect(status).toBe(201);
  return Object.assign(receiver, { id: body.data.id as string, secret: body.data.secret as string });
}
/** Resolves once every event has been turned into deliveries. */
const fannedOut = () =>
  vi.waitUntil(async () => (await client.query('select from outbox')).rowCount === 0, {
    timeout: 60_000,
    interval: 20,
  });
const deliveries = async ({ id }: { id: string }) =>
  (await client.query(`select type, event_id, body from ${ALL_DELIVERIES} d where endpoint_id = $1 order by id`, [id]))
    .rows;

test('the owner’s own endpoints get the event, by name and by wildcard, global endpoints get it, and no others', async () => {
  const [bob, root] = [await person('Bob'), await person('Root', ['user', 'admin'])];
  const mine = [
    await subscribe(ann, ['invoice.paid']),
    await subscribe(ann, ['invoice.*']),
    await subscribe(ann, ['*']),
  ];
  const others = [
    await subscribe(bob, ['*']),
    await subscribe(root, ['*']),
    await subscribe(ann, ['invoice.sent-out', 'note.*']),
  ];
  const global = await subscribe(root, ['invoice.paid'], 'global');
  const { id } = await app.webhooks.publish('invoice.paid', { amount: 5, note: ' x ' }, { owner: ann.id });
  expect(id).toMatch(/^[0-9a-f]{24}$/);
  for (const receiver of [...mine, global]) {
    const [request] = await receiver.received(1);
    expect(verifyWebhook(receiver.secret, request!.headers, request!.body)).toEqual({
      type: 'invoice.paid',
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      data: { amount: 5, note: 'x' },
    });
    expect(request!.body).toMatch(/^\{"type":"invoice\.paid","timestamp":"[^"]+","data":\{"amount":5,"note":"x"\}\}$/);
  }
  await fannedOut();
  for (const receiver of others)
    expect((await deliveries(receiver)).filter((one) => one.type === 'invoice.paid')).toEqual([]);
  expect(await deliveries(mine[0]!)).toMatchObject([{ event_id: id }]);
});

test('without an owner only global endpoints get the event', async () => {
  const root = await person('Root', ['user', 'admin']);
  const [own, global] = [await subscribe(root, ['*']), await subscribe(root, ['batch.*'], 'global')];
  await app.webhooks.publish('batch.done', { count: 1 });
  await global.received(1);
  expect((await deliveries(own)).filter((one) => one.type === 'batch.done')).toEqual([]);
});

test('a disabled owner receives nothing', async () => {
  const { id } = await subscribe(ann, ['invoice.*']);
  await app.service('user').update(ann.id, { status: 'disabled' });
  await app.webhooks.publish('invoice.paid', { amount: 1 }, { owner: ann.id });
  await fannedOut();
  expect(await deliveries({ id })).toEqual([]);
});

test('the data is sent exactly as it was published, without the changes that Postgres would make to JSON', async () => {
  const receiver = await subscribe(ann, ['note.shared']);
  const data = { z: 1, a: [1e21, -0.1, null], '\u0000': '\u0000\ud800😀', deep: { b: 1, a: 2 } };
  await app.webhooks.publish('note.shared', data, { owner: ann.id });
  const [request] = await receiver.received(1);
  expect(request!.body.endsWith(`"data":${JSON.stringify(data)}}`)).toBe(true);
});

describe('in a transaction', () => {
  test('an event is sent with the changes of the transaction after the commit, and not before', async () => {
    const receiver = await subscribe(ann, ['invoice.paid', 'note.created']);
    await fannedOut();
    await app.transaction(async (tx) => {
      await tx.service('note').create({ text: 'x' }, { user: { id: ann.id } });
      await app.webhooks.publish('invoice.paid', { amount: 1 }, { owner: ann.id });
      expect((await client.query('select from outbox')).rowCount).toBe(0);
      expect((await client.query('select from webhook_events where owner_id = $1', [ann.id])).rowCount).toBe(0);
    });
    await receiver.received(2);
    expect(receiver.requests.map(({ body }) => JSON.parse(body).type).sort()).toEqual(['invoice.paid', 'note.created']);
  });

  test('an event is never sent if the transaction is rolled back', async () => {
    const receiver = await subscribe(ann, ['invoice.paid']);
    const failed = app.transaction(async () => {
      await app.webhooks.publish('invoice.paid', { amount: 1 }, { owner: ann.id });
      throw new Error('no');
    });
    await expect(failed).rejects.toThrow('no');
    await app.webhooks.publish('invoice.paid', { amount: 2 }, { owner: ann.id });
    await receiver.received(1);
    await fannedOut();
    expect((await deliveries(receiver)).map(({ body }) => JSON.parse(body).data)).toEqual([{ amount: 2 }]);
  });

  test('refused data leaves the transaction usable', async () => {
    const receiver = await subscribe(ann, ['invoice.paid']);
    await app.transaction(async () => {
      await expect(app.webhooks.publish('invoice.paid', {} as never, { owner: ann.id })).rejects.toThrow('not valid');
      await app.webhooks.publish('invoice.paid', { amount: 3 }, { owner: ann.id });
    });
    await receiver.received(1);
  });

  test('work that the function did not await is not part of the transaction', async () => {
    const receiver = await subscribe(ann, ['slow.checked']);
    let late: Promise<unknown> = Promise.resolve();
    await app.transaction(async () => {
      late = Promise.resolve().then(() => new Promise((resolve) => setImmediate(resolve)));
      late = late.then(() => app.webhooks.publish('slow.checked', { id: 'a' }, { owner: ann.id }));
    });
    await late;
    await receiver.received(1);
  });
});

describe('invalid events', () => {
  const publish = (name: string, data: unknown, options?: object) =>
    app.webhooks.publish(name as never, data as never, options);
  const circle: Record<string, unknown> = {};
  circle.own = circle;
  test.each([
    ['data of another type', 'invoice.paid', { amount: '5' }, {}, /invoice\.paid.*not valid: amount: /],
    ['data that fails an async rule', 'slow.checked', { id: 'no' }, {}, /not valid: data: Must not be no/],
    ['data that valibot refuses', 'invoice.sent-out', { to: 1 }, {}, /not valid: to: /],
    ['data that arktype refuses', 'batch.done', { count: '1' }, {}, /not valid: count: /],
    ['an undeclared event', 'invoice.lost', {}, {}, /unknown event; events declared in .*: invoice\.paid, /],
    ['an event of a resource', 'note.created', {}, {}, /unknown event/],
    ['a name that every object has', 'constructor', {}, {}, /unknown event/],
    ['a circle', 'note.shared', circle, {}, /circular/i],
    ['a value that is not JSON', 'note.shared', undefined, {}, /cannot be written as JSON/],
    [
      'more than a request may contain',
      'note.shared',
      'x'.repeat(1_048_576),
      {},
      /1048578 bytes of JSON; at most 1048576 are allowed/,
    ],
    [
      'an owner that cannot be a user id',
      'note.shared',
      {},
      { owner: 'ann@example.com' },
      /owner must be the id of a user/,
    ],
  ])(
    'publish refuses %s with an error for the calling code, and stores nothing',
    async (_, name, data, options, message) => {
      const error = await publish(name, data, options).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(Error);
      expect(error).not.toBeInstanceOf(ApiError);
      expect((error as Error).message).toMatch(message);
      expect(
        (await client.query(`select from webhook_events where name = $1 and owner_id is null`, [name])).rowCount,
      ).toBe(name === 'batch.done' ? 1 : 0);
    },
  );

  test('in a route, an error of publish is a 500 that reveals nothing to the client', async () => {
    const { status, body } = await ann.call('POST', '/api/notes/bad');
    expect([status, body.error.code, JSON.stringify(body).includes('amount')]).toEqual([500, 'INTERNAL', false]);
  });

  test.each([
    ['invoicePaid', { schema: z.any() }, '"invoicePaid": the name must look like "invoice.paid"'],
    ['a.b.c', { schema: z.any() }, 'the name must look like'],
    ['invoice.*', { schema: z.any() }, 'the name must look like'],
    ['security.breach', { schema: z.any() }, 'are reserved'],
    ['webhook.test', { schema: z.any() }, 'are reserved'],
    ['note.created', { schema: z.any() }, '"note.created": a record change already has this name'],
    ['invoice.paid', {}, '"invoice.paid": it needs a schema'],
    ['invoice.paid', null, 'it needs a schema'],
    ['invoice.paid', { schema: z.any(), description: 1 }, 'the description must be a string'],
  ])('the declaration of %s as %j is refused', (name, declared, message) => {
    const options = { events: { [name]: declared as never } };
    expect(() => createApp({ resources: [defineUser(), note], extensions: [webhooks(options)] }, env)).toThrow(message);
  });

  test('events that are not an object are refused', () => {
    const make = () => createApp({ resources: [defineUser()], extensions: [webhooks({ events: null as never })] }, env);
    expect(make).toThrow('webhooks.events: must be an object of events by name');
  });
});

test('the catalogue lists published events with their wildcards, after the events of resources', async () => {
  const { status, body } = await ann.call('POST', '/api/webhooks', {
    url: 'http://a.example',
    events: ['invoice.lost'],
  });
  expect([status, body.error.details.events]).toEqual([
    422,
    'Unknown events: "invoice.lost". Valid events: user.created, user.updated, user.deleted, user.*, note.created, note.updated, ' +
      'note.deleted, note.shared, note.*, invoice.paid, invoice.sent-out, invoice.*, batch.done, batch.*, slow.checked, slow.*, *',
  ]);
});

test('the OpenAPI document describes every event, and sent events match it', async () => {
  const contract = await readContract(url);
  const sent: Json = contract.document.webhooks;
  const records = ['user', 'note'].flatMap((name) =>
    ['created', 'updated', 'deleted'].map((action) => `${name}.${action}`),
  );
  const own = ['invoice.paid', 'invoice.sent-out', 'batch.done', 'note.shared', 'slow.checked'];
  expect(Object.keys(sent).sort()).toEqual([...records, ...own, 'webhook.test'].sort());
  expect(sent['invoice.paid'].post.summary).toBe('Paid');

  const receiver = await subscribe(ann, ['note.*', 'invoice.*']);
  const { id } = (await ann.call('POST', '/api/notes', { text: 'x' })).body.data;
  await ann.call('DELETE', `/api/notes/${id}`);
  await app.webhooks.publish('invoice.paid', { amount: 1 }, { owner: ann.id });
  await ann.call('POST', `/api/webhooks/${receiver.id}/test`);
  for (const { body, headers } of await receiver.received(4)) {
    const event = JSON.parse(body);
    const { requestBody, parameters } = sent[event.type].post;
    const { schema } = requestBody.content['application/json'];
    expect([event.type, contract.isValid(schema, event)]).toEqual([event.type, true]);
    expect(contract.isValid(schema, { ...event, type: 'other' })).toBe(false);
    expect(contract.isValid(schema, { ...event, data: 'text' })).toBe(false);
    for (const parameter of parameters) expect(headers).toHaveProperty([contract.resolve(parameter).name]);
  }
});

test('the compiler checks names and data', () => {
  const never = (): void => {
    // @ts-expect-error: no such event
    void app.webhooks.publish('invoice.lost', {});
    // @ts-expect-error: the amount is a number
    void app.webhooks.publish('invoice.paid', { amount: 'x' });
    // @ts-expect-error: valibot's types too
    void app.webhooks.publish('invoice.sent-out', { to: 1 });
    void app.webhooks.publish('batch.done', { count: 1 });
  };
  expect(never).toBeTypeOf('function');
});

test('published events are remembered as long as deliveries are kept, and then removed', async () => {
  const { id } = await app.webhooks.publish('batch.done', { count: 1 });
  const old = `${Math.floor(Date.now() / 1000 - 15 * 86_400).toString(16)}${'0'.repeat(16)}`;
  await client.query('update webhook_events set id = $2 where id = $1', [id, old]);
  const kept = await app.webhooks.publish('batch.done', { count: 2 });
  const cleaner = createApp({ resources: [defineUser(), note], extensions: [webhooks({ cleanMs: 50 })] }, env);
  await cleaner.start({ roles: ['relay'] });
  await vi.waitUntil(
    async () => (await client.query('select from webhook_events where id = $1', [old])).rowCount === 0,
    {
      timeout: 60_000,
      interval: 20,
    },
  );
  await cleaner.close();
  expect((await client.query('select from webhook_events where id = $1', [kept.id])).rowCount).toBe(1);
});
