// Webhook endpoints that belong to an organisation: who manages them, and what they receive.
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import type { Services } from '../../../src/declare/service.ts';
import {
  apiKeys,
  type createApp,
  defineResource,
  defineUser,
  f,
  newId,
  organisations,
  tenant,
  webhooks,
} from '../../../src/index.ts';
import { type Receiver, startReceiver } from '../../fakes/receiver.ts';
import { createClient, type Person, startTestApp } from '../../support/app.ts';

const ticket = defineResource('ticket', {
  fields: {
    organisation: tenant(),
    title: f.string().required().filterable(),
    price: f.number().visibleTo('org:owner'),
    topic: f.ref('topic').populate(),
    author: f.ref('user').owner(),
  },
  policies: { update: 'owner | org:admin', delete: 'org:admin' },
});
const invoice = defineResource('invoice', {
  fields: { organisation: tenant(), number: f.string().required().filterable() },
  policies: { list: 'org:admin', read: 'org:admin', create: 'org:admin' },
});
const topic = defineResource('topic', { fields: { name: f.string() }, policies: { read: 'authenticated' } });
const article = defineResource('article', { fields: { text: f.string() }, policies: { read: 'public' } });
const options = {
  resources: [defineUser(), ticket, invoice, topic, article],
  extensions: [
    organisations(),
    apiKeys(),
    webhooks({
      portal: true,
      allowPrivate: true,
      requireHttps: false,
      maxEndpointsPerOrganisation: 3,
      events: { 'club.audited': { schema: z.object({ grade: z.string() }) } },
    }),
  ],
  settings: { relay: { sweepMs: 50, pollMs: 50 } },
} as const;
const running = await startTestApp(options, { roles: 'all' });
const { url, person } = running;
const app = running.app as unknown as ReturnType<typeof createApp<typeof options.resources, typeof options.extensions>>;
const service = app.service as unknown as Services;
const receiver: Receiver = await startReceiver();
afterAll(() => receiver.close());

interface Club {
  id: string;
  slug: string;
  owner: Person;
  admin: Person;
  member: Person;
}
let count = 0;
async function createClub(founder?: Person): Promise<Club> {
  const [owner, admin, member] = [founder ?? (await person('owner')), await person('admin'), await person('member')];
  const slug = `club-${++count}`;
  const { id } = await app.organisations.create({ name: slug, slug }, owner.id);
  await app.organisations.addMember(id, admin.id, 'admin');
  await app.organisations.addMember(id, member.id, 'member');
  return { id, slug, owner, admin, member };
}
let club: Club;
let other: Club;
beforeAll(async () => {
  club = await createClub();
  other = await createClub(club.owner);
});

/** Waits until so many connections wait for a lock of a client's transaction, or for each other behind it. */
async function waitUntilWaiting(client: Client, count: number): Promise<void> {
  const text = `
    with recursive waiting(pid) as (
      select pg_backend_pid()
      union select l.pid from pg_locks l join waiting w on w.pid = any(pg_blocking_pids(l.pid)) where not l.granted
    ) select count(*)::int - 1 as n from waiting`;
  await vi.waitUntil(async () => (await client.query(text)).rows[0].n >= count, { timeout: 60_000 });
}
/** A client of a person whose requests work in an organisation. */
const within =
  ({ token }: Pick<Person, 'token'>, organisation: string) =>
  (method: string, path: string, body?: unknown) =>
    createClient(url, token)(method, path, body, { 'x-organisation': organisation });
const input = (more: object = {}) => ({ url: receiver.url, events: ['*'], ...more });

async function subscribe(to: Club, more: object = {}, who: Person = to.admin) {
  const { status, body } = await within(who, to.slug)('POST', '/api/webhooks', input(more));
  expect([status, body.error]).toEqual([201, undefined]);
  onTestFinished(async () => {
    await within(to.owner, to.slug)('DELETE', `/api/webhooks/${body.data.id}`);
  });
  return body.data as { id: string; organisation: string; as: string };
}
/** Resolves with the bodies of an endpoint's deliveries as soon as a condition holds for one of them. */
async function deliveriesOf(of: Club, id: string, until: (data: string) => boolean): Promise<string[]> {
  return vi.waitFor(async () => {
    const { body } = await of.owner.call('GET', `/api/webhooks/${id}/deliveries?limit=100`);
    const payloads = body.data.map(({ payload }: { payload: string | null }) => String(payload));
    expect(payloads.some(until)).toBe(true);
    return payloads;
  });
}
const createTicket = (of: Club, values: object = {}) =>
  service('ticket').create({ title: newId(), organisation: of.id, ...values });

describe('an endpoint of an organisation', () => {
  test('belongs to the organisation in which the request works, by header or by the choice of the session', async () => {
    const made = await subscribe(club);
    expect(made).toMatchObject({ organisation: club.id, as: 'org:admin', scope: 'own' });
    const personal = await club.admin.call('POST', '/api/webhooks', input());
    expect(personal.body.data).not.toHaveProperty('organisation');

    const ids = async (call: Person['call']) =>
      (await call('GET', '/api/webhooks')).body.data.map(({ id }: { id: string }) => id);
    expect(await ids(club.admin.call)).toEqual([personal.body.data.id]);
    expect(await ids(within(club.admin, club.id))).toEqual([made.id]);
    const session = await person('chooser');
    await app.organisations.addMember(club.id, session.id, 'admin');
    await session.call('POST', '/api/auth/organisation', { organisation: club.id });
    expect(await ids(session.call)).toEqual([made.id]);
    const chosen = await session.call('POST', '/api/webhooks', input());
    expect(chosen.body.data).toMatchObject({ organisation: club.id });
    await session.call('DELETE', `/api/webhooks/${chosen.body.data.id}`);
    await club.admin.call('DELETE', `/api/webhooks/${personal.body.data.id}`);
  });

  test('receives only the records of the organisation, although its creator manages another one', async () => {
    const made = await subscribe(club, {}, club.owner);
    const foreign = await createTicket(other);
    await service('article').create({ text: 'public' });
    await other.owner.call('PATCH', `/api/organisations/${other.id}`, { name: 'Renamed' });
    const own = await createTicket(club);
    await club.owner.call('PATCH', `/api/organisations/${club.id}`, { name: 'Renamed club' });
    const newcomer = await person('newcomer');
    await app.organisations.addMember(club.id, newcomer.id, 'member');
    const sent = await deliveriesOf(club, made.id, (text) => text.includes(newcomer.id));
    expect(sent.some((text) => text.includes(own.id))).toBe(true);
    await deliveriesOf(club, made.id, (text) => text.includes('Renamed club'));
    expect(sent.map((text) => JSON.parse(text).type).toSorted()).toEqual(
      expect.arrayContaining(['membership.created', 'ticket.created']),
    );
    expect(sent.join()).not.toContain(other.id);
    expect(sent.join()).not.toContain(foreign.id);
    expect(sent.join()).not.toContain('article');
  });

  test('receives what a member with its role may read, and the records of others as a signed-out caller sees them', async () => {
    const [asMember, asAdmin, asOwner] = [
      await subscribe(club, { as: 'org:member' }, club.owner),
      await subscribe(club, {}, club.owner),
      await subscribe(club, { as: 'org:owner' }, club.owner),
    ];
    const secret = await service('topic').create({ name: 'only for signed-in users' });
    const bill = await service('invoice').create({ number: '1', organisation: club.id });
    const last = await createTicket(club, { price: 7, topic: secret.id });
    const isLast = (text: string) => text.includes(last.id);
    const [byMember, byAdmin, byOwner] = await Promise.all(
      [asMember, asAdmin, asOwner].map(({ id }) => deliveriesOf(club, id, isLast)),
    );
    expect(byMember!.join()).not.toContain(bill.id);
    expect(byAdmin!.join()).toContain(bill.id);
    expect(byAdmin!.join()).not.toContain('price');
    expect(JSON.parse(byOwner!.find(isLast)!).data).toMatchObject({ price: 7, topic: secret.id });
    expect([byMember, byAdmin, byOwner].join()).not.toContain('only for signed-in');
    // The body of each delivery that the member could not read is hidden from no one who manages the endpoint, and is never sent to it.
    expect(byMember!.some(isLast)).toBe(true);
  });

  test('has filters, which see what its role sees', async () => {
    const filter = { 'ticket.created': { title: 'wanted' } };
    const made = await subscribe(club, { events: ['ticket.created'], filter });
    await createTicket(other, { title: 'wanted' });
    await createTicket(club, { title: 'unwanted' });
    const wanted = await createTicket(club, { title: 'wanted' });
    const last = await createTicket(club, { title: 'wanted' });
    const sent = await deliveriesOf(club, made.id, (text) => text.includes(last.id));
    expect(sent.map((text) => JSON.parse(text).data.id).toSorted()).toEqual([wanted.id, last.id].toSorted());
    const listed = (await within(club.admin, club.id)('GET', '/api/webhooks')).body.data;
    expect(listed).toMatchObject([{ id: made.id, filter, filterError: null }]);
    const tested = await club.owner.call('POST', `/api/webhooks/${made.id}/filter/test`);
    expect(tested.body.data.map(({ result }: { result: string }) => result)).toEqual(['match', 'match']);
  });

  test('gets events that the app publishes for the organisation', async () => {
    const made = await subscribe(club, { events: ['club.audited'] });
    const elsewhere = await subscribe(other, { events: ['club.*'] }, other.owner);
    await app.webhooks.publish('club.audited', { grade: 'A' }, { organisation: club.id });
    await app.webhooks.publish('club.audited', { grade: 'B' }, { organisation: other.id });
    expect(await deliveriesOf(club, made.id, (text) => text.includes('"A"'))).toHaveLength(1);
    expect(await deliveriesOf(other, elsewhere.id, (text) => text.includes('"B"'))).toHaveLength(1);
    const wrong = { owner: club.owner.id, organisation: club.id };
    await expect(app.webhooks.publish('club.audited', { grade: 'C' }, wrong)).rejects.toThrow('not both');
    await expect(app.webhooks.publish('club.audited', { grade: 'C' }, { organisation: 'x' })).rejects.toThrow('id');
  });

  test('survives the user who created it, and dies with the organisation', async () => {
    const home = await createClub();
    const made = await subscribe(home);
    const [personal] = [await home.admin.call('POST', '/api/webhooks', input())];
    await service('user').delete(home.admin.id);
    const after = await createTicket(home);
    await deliveriesOf(home, made.id, (text) => text.includes(after.id));
    expect((await home.owner.call('GET', `/api/webhooks/${made.id}`)).body.data).toMatchObject({ enabled: true });
    expect(personal.status).toBe(201);

    await app.organisations.delete(home.id);
    expect((await home.owner.call('GET', `/api/webhooks/${made.id}`)).status).toBe(404);
    expect((await within(home.owner, home.id)('GET', '/api/webhooks')).status).toBe(404);
    const before = receiver.requests.length;
    await service('ticket').create({ title: 'late', organisation: home.id });
    const witness = await subscribe(club);
    const last = await createTicket(club);
    await deliveriesOf(club, witness.id, (text) => text.includes(last.id));
    expect(JSON.stringify(receiver.requests.slice(before))).not.toContain(home.id);
  });

  test('is limited in number, also when managers create at once', async () => {
    const home = await createClub();
    const made = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        within(i % 2 === 0 ? home.admin : home.owner, home.id)('POST', '/api/webhooks', input()),
      ),
    );
    expect(made.map(({ status }) => status).toSorted()).toEqual([201, 201, 201, 409, 409, 409, 409, 409]);
    expect(made.find(({ status }) => status === 409)!.body.error).toMatchObject({
      code: 'LIMIT_REACHED',
      message: 'An organisation can have at most 3 webhooks',
    });
    expect((await home.admin.call('POST', '/api/webhooks', input())).status).toBe(201);
  });
});

describe('managers', () => {
  test('share the endpoints: another one reads, changes, tests and explains, and rotates the secret', async () => {
    const made = await subscribe(club, {}, club.owner);
    const path = `/api/webhooks/${made.id}`;
    const { call } = club.admin;
    const record = await createTicket(club);
    const [sent] = await deliveriesOf(club, made.id, (text) => text.includes(record.id));
    expect(sent).toBeDefined();
    const log = await call('GET', `${path}/deliveries`);
    const delivery = log.body.data.find(({ payload }: { payload: string }) => payload.includes(record.id));
    expect((await call('POST', `${path}/deliveries/${delivery.id}/retry`)).status).toBe(200);
    expect((await call('POST', `${path}/test`)).body.data).toMatchObject({ type: 'webhook.test', status: 'succeeded' });
    expect((await call('GET', `${path}/explain?event=${delivery.id}`)).body.data).toMatchObject({
      reason: 'delivered',
    });
    expect((await call('POST', `${path}/rotate-secret`)).body.data.secret).toMatch(/^whsec_/);
    const changed = await call('PATCH', path, { description: 'books', as: 'org:member' });
    expect(changed.body.data).toMatchObject({ description: 'books', as: 'org:member', organisation: club.id });
  });

  test('are members with the role; others learn nothing, and no request reaches endpoints of another organisation', async () => {
    const made = await subscribe(club);
    const path = `/api/webhooks/${made.id}`;
    const stranger = await person('stranger');
    const unknown = await stranger.call('GET', `/api/webhooks/${newId()}`);
    expect(unknown.status).toBe(404);
    for (const who of [other.admin, stranger]) expect((await who.call('GET', path)).status).toBe(404);
    const answers = [];
    for (const organisation of [club.id, newId(), 'no-such-club', ''])
      answers.push(await within(stranger, organisation)('GET', '/api/webhooks'));
    for (const { status, body } of answers)
      expect([status, body.error.message]).toEqual([
        404,
        'There is no such organisation, or you are not a member of it',
      ]);
    for (const [method, route] of [
      ['GET', path],
      ['PATCH', path],
      ['DELETE', path],
      ['GET', `${path}/deliveries`],
      ['POST', `${path}/test`],
      ['POST', `${path}/rotate-secret`],
    ] as const) {
      const answer = await club.member.call(method, route, method === 'PATCH' ? { description: 'x' } : undefined);
      expect([answer.status, answer.body.error.message]).toEqual([
        403,
        'This needs the role "admin" in the organisation',
      ]);
    }
    expect((await within(club.member, club.id)('GET', '/api/webhooks')).status).toBe(403);
    expect((await within(club.member, club.id)('POST', '/api/webhooks', input())).status).toBe(403);
    // The owner manages both, but a request that names one organisation does not reach the endpoints of the other.
    expect((await within(club.owner, other.slug)('GET', path)).status).toBe(404);
    expect((await within(club.owner, club.slug)('GET', path)).status).toBe(200);
    const own = await club.owner.call('POST', '/api/webhooks', input());
    expect((await within(club.owner, club.slug)('GET', `/api/webhooks/${own.body.data.id}`)).status).toBe(404);
    await club.owner.call('DELETE', `/api/webhooks/${own.body.data.id}`);
  });

  test('give an endpoint at most their own role, and do not reach endpoints with more power', async () => {
    const made = await subscribe(club, { as: 'org:owner' }, club.owner);
    const path = `/api/webhooks/${made.id}`;
    for (const [method, route] of [
      ['GET', path],
      ['PATCH', path],
      ['GET', `${path}/deliveries`],
      ['DELETE', path],
    ] as const) {
      const answer = await club.admin.call(method, route, method === 'PATCH' ? { url: receiver.url } : undefined);
      expect([answer.status, answer.body.error.message]).toEqual([
        403,
        'This needs the role "owner" in the organisation',
      ]);
    }
    expect((await within(club.admin, club.id)('GET', '/api/webhooks')).body.data).toEqual([]);
    const ask = (as: unknown) => within(club.admin, club.id)('POST', '/api/webhooks', input({ as }));
    for (const as of ['org:owner', 'org:unknown', 'admin', 'owner', 'org:', '__proto__'])
      expect((await ask(as)).body.error.details).toEqual({ as: 'Must be one of: org:admin, org:member' });
    const mine = await subscribe(club);
    const raised = await club.admin.call('PATCH', `/api/webhooks/${mine.id}`, { as: 'org:owner' });
    expect(raised.body.error.details).toEqual({ as: 'Must be one of: org:admin, org:member' });
  });

  test('cannot change an endpoint that gets more power than they have at the same moment', async () => {
    const made = await subscribe(club);
    const path = `/api/webhooks/${made.id}`;
    const client = new Client({ connectionString: running.env.DATABASE_URL });
    await client.connect();
    onTestFinished(() => client.end());
    await client.query('begin');
    await client.query('select from organisations where id = $1 for update', [club.id]);
    const raising = club.owner.call('PATCH', path, { as: 'org:owner' });
    await waitUntilWaiting(client, 1);
    const [changing, rotating] = [
      club.admin.call('PATCH', path, { url: `${receiver.url}taken` }),
      club.admin.call('POST', `${path}/rotate-secret`),
    ];
    await waitUntilWaiting(client, 3);
    await client.query('commit');
    expect((await raising).status).toBe(200);
    expect([(await changing).status, (await rotating).status]).toEqual([403, 403]);
    expect((await club.owner.call('GET', path)).body.data).toMatchObject({ as: 'org:owner', url: receiver.url });
  });

  test('may be API keys of the organisation, with their role and scopes', async () => {
    const keyOf = async (as: string, scopes: string[]) => {
      const given = { name: 'k', scopes, as };
      const made = await club.owner.call('POST', `/api/organisations/${club.id}/api-keys`, given);
      return createClient(url, made.body.data.key);
    };
    const [admin, member, narrow] = [
      await keyOf('org:admin', ['*']),
      await keyOf('org:member', ['*']),
      await keyOf('org:admin', ['webhooks:write', 'webhooks:read']),
    ];
    const made = await admin('POST', '/api/webhooks', input({ events: ['ticket.created'] }));
    expect(made.body.data).toMatchObject({ organisation: club.id, as: 'org:admin', apiKeyId: expect.any(String) });
    const record = await createTicket(club);
    await deliveriesOf(club, made.body.data.id, (text) => text.includes(record.id));
    expect((await admin('POST', '/api/webhooks', input({ as: 'org:owner' }))).status).toBe(422);
    for (const call of [member, narrow]) {
      expect((await call('POST', '/api/webhooks', input({ events: ['ticket.created'] }))).status).toBe(403);
      expect((await call('PATCH', `/api/webhooks/${made.body.data.id}`, { description: 'x' })).status).toBe(403);
    }
    expect((await admin('DELETE', `/api/webhooks/${made.body.data.id}`)).status).toBe(204);
  });

  test('get e-mails about the endpoints that they may manage, which name the organisation', async () => {
    const home = await createClub();
    await subscribe(home);
    await subscribe(home, { as: 'org:owner' }, home.owner);
    const sentTo = async (who: Person) =>
      (await running.app.captured.mails()).filter(({ to, subject }) => to === who.email && subject.includes(home.slug));
    await vi.waitFor(async () => expect(await sentTo(home.owner)).toHaveLength(2));
    expect(await sentTo(home.admin)).toHaveLength(1);
    expect(await sentTo(home.member)).toEqual([]);
  });

  test('see only events that their organisation can get', async () => {
    const names = async (call: Person['call']) =>
      (await call('GET', '/api/webhooks/events')).body.data.map(({ name }: { name: string }) => name);
    expect(await names(club.admin.call)).toContain('article.created');
    const own = await names(within(club.admin, club.id));
    expect(own).toEqual(expect.arrayContaining(['ticket.created', 'club.audited', 'membership.created']));
    expect(own).not.toContain('article.created');
  });

  test('lose the endpoints with their role', async () => {
    const home = await createClub();
    const made = await subscribe(home);
    const memberships = await Array.fromAsync(app.organisations.members(home.id));
    const { id } = memberships.find(({ user }) => user === home.admin.id)!;
    await app.organisations.changeRole(home.id, id, 'member');
    expect((await home.admin.call('PATCH', `/api/webhooks/${made.id}`, { enabled: false })).status).toBe(403);
    await app.organisations.removeMember(home.id, id);
    expect((await home.admin.call('GET', `/api/webhooks/${made.id}`)).status).toBe(404);
  });

  test('get clear errors for what only other endpoints can have', async () => {
    const create = (more: object) => within(club.admin, club.id)('POST', '/api/webhooks', input(more));
    expect((await create({ events: ['article.created', 'ticket.*', 'user.*'] })).body.error.details).toEqual({
      events: 'Must be events of records of organisations, which these are not: article.created, user.*',
    });
    expect((await create({ scope: 'global' })).body.error.details).toEqual({
      scope: 'Must be "own": the webhook of an organisation receives only its records',
    });
    const personal = await club.admin.call('POST', '/api/webhooks', input({ as: 'org:admin' }));
    expect(personal.body.error.details).toEqual({
      as: 'Must be left out for the webhook of a user; send the header X-Organisation for one of an organisation',
    });
    const made = await subscribe(club);
    const changed = await club.admin.call('PATCH', `/api/webhooks/${made.id}`, { events: ['article.*'] });
    expect(changed.body.error.details).toHaveProperty('events');
  });
});

describe('a link to the portal of an organisation', () => {
  const clientOf = (link: { url: string }) => createClient(url, new URL(link.url).hash.replace('#token=', ''));

  test('reaches the endpoints of the organisation with its role, and ends with the organisation', async () => {
    const home = await createClub();
    const made = await subscribe(home);
    const call = clientOf(await app.webhooks.portalLink({ organisation: home.id }));
    expect((await call('GET', '/api/webhooks')).body.data).toMatchObject([{ id: made.id }]);
    const roles = { all: ['org:admin', 'org:member'], default: 'org:admin' };
    const { body } = await call('GET', '/api/webhooks/portal');
    expect(body.data.organisation).toEqual({ name: home.slug, as: 'org:admin', roles });
    const changed = await call('PATCH', `/api/webhooks/${made.id}`, { description: 'x', as: 'org:member' });
    expect([changed.status, changed.body.data.as]).toEqual([200, 'org:member']);
    const created = await call('POST', '/api/webhooks', input());
    expect(created.body.data).toMatchObject({ organisation: home.id, as: 'org:admin' });
    expect((await call('POST', '/api/webhooks', input({ as: 'org:owner' }))).status).toBe(422);
    const foreign = await subscribe(club);
    expect((await call('GET', `/api/webhooks/${foreign.id}`)).status).toBe(404);
    expect((await call('GET', '/api/tickets')).status).toBe(403);
    await app.organisations.delete(home.id);
    expect((await call('GET', '/api/webhooks')).status).toBe(401);
  });

  test('of a user does not reach the endpoints of organisations that the user manages', async () => {
    const made = await subscribe(club);
    const call = clientOf(await app.webhooks.portalLink(club.owner.id));
    const path = `/api/webhooks/${made.id}`;
    for (const [method, route] of [
      ['GET', path],
      ['DELETE', path],
      ['GET', `${path}/deliveries`],
      ['POST', `${path}/rotate-secret`],
    ] as const)
      expect((await call(method, route)).status).toBe(404);
    expect((await call('GET', '/api/webhooks', undefined, { 'x-organisation': club.id })).status).toBe(404);
    expect((await call('POST', '/api/webhooks', input(), { 'x-organisation': club.id })).status).toBe(404);
    expect((await call('GET', '/api/webhooks')).body.data).toEqual([]);
  });

  test('is refused for roles that do not manage, unknown organisations and members without the role', async () => {
    const link = (given: object) => app.webhooks.portalLink(given as { organisation: string });
    await expect(link({ organisation: club.id, as: 'org:member' })).rejects.toThrow('as must be a role that manages');
    await expect(link({ organisation: newId() })).rejects.toThrow('there is no organisation');
    await expect(link({ organisation: 'x' })).rejects.toThrow('there is no organisation');
  });
});
