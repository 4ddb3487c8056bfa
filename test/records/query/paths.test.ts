import { beforeAll, describe, expect, test } from 'vitest';
import type { ResourceGateway } from '../../../src/declare/host.ts';
import type { Services } from '../../../src/declare/service.ts';
import { defineExtension, defineResource, defineUser, f } from '../../../src/index.ts';
import { type Person, startTestApp } from '../../support/app.ts';

const organisation = defineResource('organisation', {
  fields: { name: f.string().required().filterable().sortable(), plan: f.enum(['free', 'paid']).filterable() },
  relations: { members: f.reverse('membership', 'organisation'), tickets: f.reverse('ticket', 'organisation') },
  policies: { list: 'public', read: 'public' },
});
const membership = defineResource('membership', {
  fields: {
    organisation: f.ref('organisation').required().filterable(),
    user: f.ref('user').required().filterable(),
    role: f.enum(['member', 'manager']).default('member').filterable(),
  },
  policies: { list: 'admin', read: 'admin' },
});
const tag = defineResource('tag', {
  fields: { label: f.string().filterable() },
  relations: { tickets: f.reverse('ticket', 'tags') },
  policies: { list: 'public', read: 'public' },
});
const ticket = defineResource('ticket', {
  fields: {
    title: f.string().required().filterable().sortable(),
    status: f.enum(['open', 'closed']).default('open').filterable().sortable(),
    notes: f.string().visibleTo('admin').filterable(),
    organisation: f.ref('organisation').required().filterable(),
    approver: f.ref('user').filterable().visibleTo('admin'),
    opened: f.date(),
    opener: f.ref('user').owner(),
    parent: f.ref('ticket').filterable(),
    tags: f.array(f.ref('tag')).filterable(),
  },
  relations: { comments: f.reverse('comment', 'ticket') },
  policies: { list: 'authenticated', read: 'authenticated', create: 'authenticated' },
  scope: ({ user }) => (user?.roles?.includes('admin') ? undefined : { 'organisation.members.user': user?.id ?? null }),
});
const comment = defineResource('comment', {
  fields: {
    body: f.string().required().filterable().sortable(),
    ticket: f.ref('ticket').required().filterable(),
    author: f.ref('user').owner(),
  },
  policies: {
    list: ({ user }) => user !== undefined && { 'ticket.organisation.members.user': user.id },
    read: ({ user }) => user !== undefined && { 'ticket.organisation.members.user': user.id },
    update: ({ user }) =>
      user !== undefined && {
        'ticket.organisation.members.user': user.id,
        'ticket.organisation.members.role': 'manager',
      },
    delete: 'admin',
  },
});
// A scope by a query of another resource.
const invoice = defineResource('invoice', {
  fields: { number: f.string().required(), organisation: f.ref('organisation').required().filterable() },
  policies: { list: 'authenticated', read: 'authenticated' },
  scope: ({ user, service }) => ({
    organisation: { in: service('membership').query({ user: user?.id ?? null }, 'organisation') },
  }),
});

const gateways = new Map<string, ResourceGateway>();
const collectGateways = defineExtension({
  name: 'gateways',
  setup(host) {
    for (const gateway of host.resources) gateways.set(gateway.name, gateway);
    return {};
  },
});
const {
  app,
  person,
  call: anonymous,
} = await startTestApp({
  resources: [defineUser(), organisation, membership, tag, ticket, comment, invoice],
  extensions: [collectGateways],
});

const ids: Record<string, string> = {};
let [ann, ben, admin] = [] as unknown as [Person, Person, Person];

async function create(resource: string, name: string, values: Record<string, unknown>): Promise<string> {
  const service = app.service as unknown as Services;
  const { id } = await service(resource).create(values);
  ids[name] = id;
  return id;
}

beforeAll(async () => {
  [ann, ben, admin] = [await person('ann'), await person('ben'), await person('boss', ['admin'])];
  for (const name of ['acme', 'bolt'])
    await create('organisation', name, { name, plan: name === 'acme' ? 'paid' : 'free' });
  await create('membership', 'annAcme', { organisation: ids.acme, user: ann.id });
  await create('membership', 'benBolt', { organisation: ids.bolt, user: ben.id, role: 'manager' });
  await create('membership', 'annBolt', { organisation: ids.bolt, user: ann.id, role: 'member' });
  for (const label of ['red', 'blue']) await create('tag', label, { label });
  await create('ticket', 'a1', {
    title: 'a1',
    organisation: ids.acme,
    notes: 'secret',
    tags: [ids.red],
    opener: ann.id,
  });
  await create('ticket', 'a2', { title: 'a2', organisation: ids.acme, status: 'closed', parent: ids.a1 });
  await create('ticket', 'b1', { title: 'b1', organisation: ids.bolt, tags: [ids.red, ids.blue], approver: ben.id });
  await create('comment', 'ca1', { body: 'on a1', ticket: ids.a1 });
  await create('comment', 'cb1', { body: 'on b1', ticket: ids.b1 });
  for (const name of ['acme', 'bolt']) await create('invoice', `i-${name}`, { number: name, organisation: ids[name] });
});

async function titles({ call }: Pick<Person, 'call'>, path: string, field = 'title'): Promise<string[]> {
  const { status, body } = await call('GET', path);
  expect(body, path).toMatchObject({ data: expect.anything() });
  expect(status).toBe(200);
  expect(body.meta.total).toBe(body.data.length);
  return body.data.map((record: Record<string, string>) => record[field]).sort();
}

describe('a scope that follows references', () => {
  test('limits lists, reads and counts to the records that it reaches', async () => {
    expect(await titles(ann, '/api/tickets')).toEqual(['a1', 'a2', 'b1']);
    expect(await titles(ben, '/api/tickets')).toEqual(['b1']);
    expect((await ben.call('GET', `/api/tickets/${ids.b1}`)).status).toBe(200);
    expect((await ben.call('GET', `/api/tickets/${ids.a1}`)).status).toBe(404);
    expect(await app.service('ticket').count({}, { user: { id: ben.id, roles: ['user'] } })).toBe(1);
  });

  test('limits updates and deletes in the statement that changes the record', async () => {
    expect((await ben.call('PATCH', `/api/tickets/${ids.a1}`, { title: 'x' })).status).toBe(404);
    expect((await ben.call('DELETE', `/api/tickets/${ids.a1}`)).status).toBe(404);
    expect((await ann.call('PATCH', `/api/tickets/${ids.a1}`, { title: 'a1' })).status).toBe(200);
  });

  test('hides the record that another record would expand', async () => {
    const { body } = await ann.call('GET', `/api/comments/${ids.ca1}?include=ticket`);
    expect(body.data.ticket).toMatchObject({ title: 'a1' });
  });

  test('decides about records in memory with the same result as about stored ones', async () => {
    const gateway = gateways.get('ticket')!;
    const records = await gateway.load([ids.a1!, ids.a2!, ids.b1!]);
    const readable = await Promise.all(
      records.map(async (record) => [record.title, await gateway.readableBy(record, { user: { id: ben.id } })]),
    );
    expect(Object.fromEntries(readable)).toEqual({ a1: false, a2: false, b1: true });
  });
});

describe('a scope by a query', () => {
  test('selects by the results of the query, without a limit', async () => {
    expect(await titles(ben, '/api/invoices', 'number')).toEqual(['bolt']);
    expect(await titles(ann, '/api/invoices', 'number')).toEqual(['acme', 'bolt']);
    const gateway = gateways.get('invoice')!;
    const records = await gateway.load([ids['i-acme']!, ids['i-bolt']!]);
    const inScope = await Promise.all(records.map((record) => gateway.inScope(record, { user: { id: ben.id } })));
    expect(inScope.filter(Boolean)).toHaveLength(1);
  });

  test('is also a filter of code', async () => {
    const query = app.service('ticket').query({ status: 'closed' }, 'organisation');
    const { data } = await app.service('organisation').list({ id: { in: query } });
    expect(data.map(({ name }) => name)).toEqual(['acme']);
    expect(() => app.service('ticket').query({ nothing: 1 })).toThrow(/Unknown field "nothing"/);
    expect(() => app.service('ticket').query({}, 'nothing' as never)).toThrow(/"nothing" of "ticket"/);
    const counts = app.service('ticket').query({}, 'opened');
    await expect(app.service('organisation').list({ id: { in: counts } })).rejects.toThrow(
      /types of the fields differ/,
    );
  });
});

describe('a policy that returns a filter', () => {
  test('narrows lists and allows reads', async () => {
    expect(await titles(ben, '/api/comments', 'body')).toEqual(['on b1']);
    expect((await ben.call('GET', `/api/comments/${ids.ca1}`)).status).toBe(404);
    expect((await anonymous('GET', '/api/comments')).status).toBe(401);
  });

  test('requires that comparisons with the same path are met by the same related record', async () => {
    expect((await ben.call('PATCH', `/api/comments/${ids.cb1}`, { body: 'on b1' })).status).toBe(200);
    // Ann is a member of bolt, and bolt has a manager, but Ann is not that manager.
    expect((await ann.call('PATCH', `/api/comments/${ids.cb1}`, { body: 'x' })).status).toBe(403);
  });
});

describe('a list filter that follows relations', () => {
  test('compares fields of referenced records', async () => {
    expect(await titles(ann, '/api/tickets?organisation.plan=paid')).toEqual(['a1', 'a2']);
    expect(await titles(ann, '/api/tickets?organisation.name[in]=bolt,none')).toEqual(['b1']);
    expect(await titles(ann, '/api/tickets?parent.status=open')).toEqual(['a2']);
    expect(await titles(ann, '/api/tickets?tags.label=blue')).toEqual(['b1']);
    expect(await titles(ann, '/api/tags?tickets.title=a1', 'label')).toEqual(['red']);
    expect(await titles(ann, '/api/comments?ticket.organisation.plan=free', 'body')).toEqual(['on b1']);
  });

  test('tests whether related records exist that the viewer may see', async () => {
    expect(await titles(ann, '/api/tickets?comments[exists]=true')).toEqual(['a1', 'b1']);
    expect(await titles(ann, '/api/tickets?comments[exists]=false')).toEqual(['a2']);
    expect(await titles(ben, '/api/organisations?tickets[exists]=true', 'name')).toEqual(['bolt']);
    expect(await titles(ben, '/api/organisations?tickets[exists]=false', 'name')).toEqual(['acme']);
  });

  test('reveals nothing about records, fields and references that the viewer may not see', async () => {
    // Ben sees no ticket of acme, so they do not count as related either.
    expect(await titles(ben, '/api/organisations?tickets.title=a1', 'name')).toEqual([]);
    expect(await titles(ben, '/api/tags?tickets.title=a1', 'label')).toEqual([]);
    // The notes are only visible to administrators.
    expect(await titles(ann, '/api/comments?ticket.notes=secret', 'body')).toEqual([]);
    expect(await titles(admin, '/api/organisations?tickets.notes=secret', 'name')).toEqual(['acme']);
    // So is the approver of a ticket.
    expect(await titles(ann, `/api/tickets?approver.email=${encodeURIComponent(ben.email)}`)).toEqual([]);
    // Memberships are for administrators.
    expect(await titles(ann, '/api/organisations?members.role=manager', 'name')).toEqual([]);
    expect(await titles(admin, '/api/organisations?members.role=manager', 'name')).toEqual(['bolt']);
  });

  test('is refused if a relation or field of the path cannot be used', async () => {
    const paths = [
      'organisation.nothing=1',
      'nothing.name=1',
      'opener.name=ann',
      'organisation.members=1',
      'organisation.=1',
      '.organisation=1',
      'organisation..name=1',
      'organisation.name[like]=a',
      'title.length=2',
      '__proto__.name=1',
      'organisation.constructor=1',
      'parent.parent.parent.parent.parent.title=a',
      'organisation.members.user.password=x',
      'comments[exists]=maybe',
    ];
    for (const path of paths) {
      const { status, body } = await ann.call('GET', `/api/tickets?${path}`);
      expect([path, status, body.error.code]).toEqual([path, 400, 'BAD_REQUEST']);
    }
  });

  test('works for code by the same paths', async () => {
    const { data } = await app.service('comment').list({ 'ticket.organisation.name': 'acme' });
    expect(data).toHaveLength(1);
    const open = await app
      .service('ticket')
      .count({ 'tags.label': { in: ['red'] }, 'organisation.members.user': ann.id });
    expect(open).toBe(2);
  });
});

describe('a sort by a field of a referenced record', () => {
  const order = async ({ call }: Pick<Person, 'call'>, path: string, field = 'title') => {
    const { body } = await call('GET', path);
    return body.data.map((record: Record<string, string>) => record[field]);
  };

  test('orders the list, with records without a reference like those without a value', async () => {
    expect(await order(ann, '/api/tickets?sort=-organisation.name,title')).toEqual(['b1', 'a1', 'a2']);
    expect(await order(ann, '/api/tickets?sort=parent.status,title')).toEqual(['a2', 'a1', 'b1']);
    expect(await order(ann, '/api/comments?sort=-ticket.organisation.name', 'body')).toEqual(['on b1', 'on a1']);
    const { data } = await app.service('ticket').list({ sort: 'organisation.name,-title' });
    expect(data.map(({ title }) => title)).toEqual(['a2', 'a1', 'b1']);
  });

  test('pages through the list by number and by cursor', async () => {
    const path = '/api/tickets?sort=parent.status,organisation.name,-title&limit=1';
    const whole = await order(ann, path.replace('limit=1', 'limit=10'));
    expect(whole).toEqual(['a2', 'a1', 'b1']);
    const pages = await Promise.all([1, 2, 3].map((page) => order(ann, `${path}&page=${page}`)));
    expect(pages.flat()).toEqual(whole);
    const found: string[] = [];
    for (let after = ''; ; ) {
      const { body } = await ann.call('GET', `${path}&count=none${after}`);
      found.push(...body.data.map(({ title }: { title: string }) => title));
      if (body.meta.next === null) break;
      after = `&after=${encodeURIComponent(body.meta.next)}`;
    }
    expect(found).toEqual(whole);
    const all: unknown[] = [];
    for await (const one of app.service('ticket').each({ sort: 'organisation.name,-title' })) all.push(one.title);
    expect(all).toEqual(['a2', 'a1', 'b1']);
  });

  test('reveals nothing about records that the viewer may not see, and is refused for hidden fields', async () => {
    // Ben sees the ticket b1 only, so the parent of another ticket has no status for Ben.
    for (const sort of [
      'approver.email',
      'tags.label',
      'opener.email',
      'parent.notes',
      'comments.body',
      'a.b',
      'organisation.',
    ])
      expect([sort, (await ann.call('GET', `/api/tickets?sort=${sort}`)).status]).toEqual([sort, 400]);
    const open = (await ann.call('GET', '/api/tickets?sort=parent.parent.parent.parent.parent.status')).body;
    expect(open.error.message).toMatch(/at most 4 references/);
  });
});
