import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { apiKeys, defineResource, defineUser, f, realtime, webhooks } from '../../../src/index.ts';
import { startReceiver } from '../../fakes/receiver.ts';
import { createClient, type Person, startTestApp } from '../../support/app.ts';
import { ready } from '../realtime/listen.ts';

const customer = defineResource('customer', {
  fields: { name: f.string().filterable().sortable() },
  policies: { list: 'authenticated', read: 'authenticated', create: 'authenticated' },
  relations: { tickets: f.reverse('ticket', 'customer') },
});
const product = defineResource('product', {
  fields: { name: f.string().filterable().sortable(), cost: f.number().visibleTo('admin').filterable().sortable() },
  policies: { list: 'public', read: 'public', create: 'admin', delete: 'admin' },
});
const ticket = defineResource('ticket', {
  fields: {
    title: f.string().required().filterable().sortable().aggregatable(),
    customer: f.ref('customer').filterable().populate(),
    product: f.ref('product', { onDelete: 'restrict' }).filterable(),
    author: f.ref('user').owner().filterable(),
  },
  policies: { list: 'authenticated', read: 'authenticated', create: 'authenticated' },
});
const { app, url, person } = await startTestApp(
  {
    resources: [defineUser(), customer, product, ticket],
    extensions: [apiKeys({ maxKeysPerUser: 50 }), realtime(), webhooks({ pollMs: 50 })],
  },
  { roles: 'all' },
);

let admin: Person;
let customerId: string;
let productId: string;
let ticketId: string;

const callers = new Map<string, Pick<Person, 'call' | 'token'>>();

/** The requests of the owner of a key with these scopes. */
async function callerWith(...scopes: string[]): Promise<Pick<Person, 'call' | 'token'>> {
  const known = callers.get(scopes.join());
  if (known !== undefined) return known;
  const { status, body } = await admin.call('POST', '/api/auth/api-keys', { name: scopes.join(), scopes });
  if (status !== 201) throw new Error(JSON.stringify(body));
  const caller = { call: createClient(url, body.data.key), token: body.data.key };
  callers.set(scopes.join(), caller);
  return caller;
}

beforeAll(async () => {
  admin = await person('admin', ['user', 'admin']);
  customerId = (await admin.call('POST', '/api/customers', { name: 'Acme' })).body.data.id;
  productId = (await admin.call('POST', '/api/products', { name: 'Bell', cost: 7 })).body.data.id;
  const values = { title: 't', customer: customerId, product: productId };
  ticketId = (await admin.call('POST', '/api/tickets', values)).body.data.id;
});

describe('a key without the scope to read a related resource', () => {
  // biome-ignore lint/suspicious/noExplicitAny: the data of responses
  test.each<[string, string, (data: any, meta: any) => unknown, unknown, unknown]>([
    ['an include', '/tickets/:ticket?include=customer', (data) => data.customer, ':customer', { name: 'Acme' }],
    ['a populated reference', '/tickets/:ticket', (data) => data.customer, ':customer', { name: 'Acme' }],
    ['an include in a list', '/tickets?include=customer', (data) => data[0].customer, ':customer', { name: 'Acme' }],
    ['a path filter', '/tickets?customer.name=Acme', (data) => data.length, 0, 1],
    ['a path filter that excludes', '/tickets?customer.name[ne]=Nobody', (data) => data.length, 0, 1],
    ['the total of a path filter', '/tickets?customer.name=Acme', (_data, meta) => meta.total, 0, 1],
    ['an aggregate of a path filter', '/tickets/aggregate?count&customer.name=Acme', (data) => data[0].count, 0, 1],
  ])('does not see its records through %s', async (_channel, path, read, without, withScope) => {
    const at = `/api${path.replace(':ticket', ticketId)}`;
    const [limited, wide] = [await callerWith('tickets:read'), await callerWith('tickets:read', 'customers:read')];
    for (const [caller, expected] of [
      [limited, without],
      [wide, withScope],
      [admin, withScope],
    ] as const) {
      const { status, body } = await caller.call('GET', at);
      expect([status, at]).toEqual([200, at]);
      const value = read(body.data, body.meta);
      if (typeof expected === 'object') expect(value).toMatchObject(expected as object);
      else expect(value).toBe(expected === ':customer' ? customerId : expected);
    }
  });

  test('sees no reverse relation and no number of its records, by include or filter', async () => {
    const [limited, wide] = [await callerWith('customers:read'), await callerWith('customers:read', 'tickets:read')];
    const get = async ({ call }: { call: Person['call'] }, path: string) => (await call('GET', path)).body.data;
    const include = `/api/customers/${customerId}?include=tickets,ticketsCount`;
    expect(await get(limited, include)).not.toHaveProperty('tickets');
    expect(await get(limited, include)).not.toHaveProperty('ticketsCount');
    expect(await get(wide, include)).toMatchObject({ tickets: { data: [{ title: 't' }] }, ticketsCount: 1 });
    for (const path of ['/api/customers?tickets[exists]=true', '/api/customers?tickets.title=t']) {
      expect(await get(limited, path)).toHaveLength(0);
      expect(await get(wide, path)).toHaveLength(1);
    }
  });

  test('cannot find out the order of its records by sorting', async () => {
    const second = (await admin.call('POST', '/api/customers', { name: 'Aaa' })).body.data.id;
    const { id } = (await admin.call('POST', '/api/tickets', { title: 'second', customer: second })).body.data;
    const order = async ({ call }: { call: Person['call'] }, sort: string) =>
      (await call('GET', `/api/tickets?sort=${sort}`)).body.data.map((one: { id: string }) => one.id);
    const [limited, wide] = [await callerWith('tickets:read'), await callerWith('read')];
    expect(await order(wide, 'customer.name')).toEqual([id, ticketId]);
    // Sorted by nothing that the key may see, both orders are those of the ids.
    expect(await order(limited, 'customer.name,title')).toEqual(await order(limited, '-customer.name,title'));
    await admin.call('DELETE', `/api/tickets/${id}`);
  });

  test('sees of it what everyone sees, even if the owner of the key sees more', async () => {
    const [limited, wide] = [await callerWith('tickets:read'), await callerWith('tickets:read', 'products:read')];
    const product = async ({ call }: { call: Person['call'] }) =>
      (await call('GET', `/api/tickets/${ticketId}?include=product`)).body.data.product;
    expect(await product(wide)).toMatchObject({ name: 'Bell', cost: 7 });
    expect(await product(limited)).toMatchObject({ name: 'Bell' });
    expect(await product(limited)).not.toHaveProperty('cost');
    const found = async ({ call }: { call: Person['call'] }, filter: string) =>
      (await call('GET', `/api/tickets?${filter}`)).body.data.length;
    expect([await found(limited, 'product.name=Bell'), await found(wide, 'product.name=Bell')]).toEqual([1, 1]);
    expect([await found(limited, 'product.cost=7'), await found(wide, 'product.cost=7')]).toEqual([0, 1]);
    expect((await limited.call('GET', '/api/tickets?sort=product.cost')).status).toBe(400);
    expect((await wide.call('GET', '/api/tickets?sort=product.cost')).status).toBe(200);
  });

  test('gets no response that was stored for an Idempotency-Key of another credential', async () => {
    const [limited, wide] = [await callerWith('tickets:write'), await callerWith('tickets:write', 'customers:read')];
    const create = async ({ call }: { call: Person['call'] }) => {
      const headers = { 'idempotency-key': 'one-key-for-all-credentials' };
      const { body } = await call('POST', '/api/tickets', { title: 'once', customer: customerId }, headers);
      return body.data;
    };
    const first = await create(admin);
    expect(first.customer).toMatchObject({ name: 'Acme' });
    expect((await create(admin)).id).toBe(first.id);
    expect((await create(wide)).customer).toMatchObject({ name: 'Acme' });
    const own = await create(limited);
    expect(own.customer).toBe(customerId);
    expect((await create(limited)).id).toBe(own.id);
    const { data } = (await admin.call('GET', '/api/tickets?title=once')).body;
    for (const { id } of data) await admin.call('DELETE', `/api/tickets/${id}`);
  });

  test('is not told by a refused deletion that its records refer to the record', async () => {
    const refusal = async (...scopes: string[]) => {
      const { status, body } = await (await callerWith(...scopes)).call('DELETE', `/api/products/${productId}`);
      return [status, body.error.message];
    };
    const general = 'Other records refer to this record, so it cannot be deleted';
    expect(await refusal('products:write')).toEqual([409, general]);
    const named = 'Records of "ticket" refer to this record, so it cannot be deleted';
    expect(await refusal('products:write', 'tickets:read')).toEqual([409, named]);
  });

  test('does not see its records through the filters of a stream, whatever other streams the user has', async () => {
    const limited = await callerWith('tickets:read', 'realtime:read');
    const own = await ready(url, 'subscribe=ticket?customer.name=Acme', { token: admin.token });
    const stream = await ready(url, 'subscribe=ticket?customer.name=Acme&subscribe=ticket?title=marker', {
      token: limited.token,
    });
    const create = async (title: string) =>
      (await admin.call('POST', '/api/tickets', { title, customer: customerId })).body.data.id as string;
    const hidden = await create('hidden');
    const marker = await create('marker');
    const text = (one: typeof own) => JSON.stringify(one.received);
    await own.wait(({ data }) => JSON.stringify(data ?? '').includes(marker));
    await stream.wait(({ data }) => JSON.stringify(data ?? '').includes(marker));
    expect(text(own)).toContain(hidden);
    expect(text(stream)).not.toContain(hidden);
  });

  test('gets the id of a populated reference in a stream, live and after a reconnect, whatever other streams the user has', async () => {
    const credentials = [
      admin,
      await callerWith('tickets:read', 'realtime:read'),
      await callerWith('tickets:read', 'customers:read', 'realtime:read'),
    ];
    const streams = await Promise.all(credentials.map(({ token }) => ready(url, 'subscribe=ticket', { token })));
    const before = streams[0]!.lastId();
    const { id } = (await admin.call('POST', '/api/tickets', { title: 'populated', customer: customerId })).body.data;
    const expected = [{ name: 'Acme' }, customerId, { name: 'Acme' }];
    const isCreation = ({ data }: { data?: unknown }) => (data as { id?: string } | undefined)?.id === id;
    for (const [i, stream] of streams.entries()) {
      const { data } = (await stream.wait(isCreation)).data as { data: { customer: unknown } };
      if (typeof expected[i] === 'string') expect(data.customer).toBe(expected[i]);
      else expect(data.customer).toMatchObject(expected[i]!);
    }
    const limited = await ready(url, 'subscribe=ticket', { token: credentials[1]!.token, after: before });
    const missed = (await limited.wait(isCreation)).data as { data: { customer: unknown } };
    expect(missed.data.customer).toBe(customerId);
  });

  test('gets the id of a populated reference in the webhooks that it created, whatever other webhooks the user has', async () => {
    const receiver = await startReceiver();
    onTestFinished(() => receiver.close());
    const creators = {
      session: admin,
      limited: await callerWith('tickets:read', 'webhooks:*'),
      wide: await callerWith('tickets:read', 'customers:read', 'webhooks:*'),
    };
    for (const [path, { call }] of Object.entries(creators)) {
      const { status } = await call('POST', '/api/webhooks', { url: `${receiver.url}/${path}`, events: ['ticket.*'] });
      expect(status).toBe(201);
    }
    const { id } = (await admin.call('POST', '/api/tickets', { title: 'sent', customer: customerId })).body.data;
    const customers = (await receiver.received(3)).map(({ path, body }) => {
      const { data } = JSON.parse(body);
      expect(data.id).toBe(id);
      return [path, typeof data.customer === 'string' ? data.customer : data.customer.name];
    });
    expect(Object.fromEntries(customers)).toEqual({
      '/hook/session': 'Acme',
      '/hook/limited': customerId,
      '/hook/wide': 'Acme',
    });
  });
});

test('a session costs no check, and code of the app is not limited', async () => {
  const { data } = await app.service('ticket').list({ 'customer.name': 'Acme' } as never);
  expect(data.length).toBeGreaterThan(0);
});
