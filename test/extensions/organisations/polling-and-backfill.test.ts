// Polled webhook endpoints and backfills of organisations.
import { beforeEach, expect, test, vi } from 'vitest';
import {
  apiKeys,
  type createApp,
  defineResource,
  defineUser,
  f,
  organisations,
  tenant,
  webhooks,
} from '../../../src/index.ts';
import { createClient, type Person, startTestApp } from '../../support/app.ts';

const ticket = defineResource('ticket', {
  fields: {
    organisation: tenant(),
    title: f.string().required().filterable(),
    price: f.number().visibleTo('org:owner'),
  },
  policies: { update: 'org:member' },
});
const options = {
  resources: [defineUser(), ticket],
  extensions: [organisations(), apiKeys(), webhooks({ keepEventsDays: 7, pollMs: 50, maxPollsPerUser: 1 })],
  settings: { relay: { sweepMs: 50, pollMs: 50 } },
} as const;
const running = await startTestApp(options, { roles: 'all' });
const { url, person } = running;
const app = running.app as unknown as ReturnType<typeof createApp<typeof options.resources, typeof options.extensions>>;
const WAIT = { timeout: 60_000, interval: 20 };

interface Club {
  id: string;
  owner: Person;
  admin: Person;
  membership: string;
}
let count = 0;
async function createClub(founder?: Person): Promise<Club> {
  const [owner, admin] = [founder ?? (await person('owner')), await person('admin')];
  const slug = `club-${++count}`;
  const { id } = await app.organisations.create({ name: slug, slug }, owner.id);
  const membership = await app.organisations.addMember(id, admin.id, 'admin');
  return { id, owner, admin, membership: membership.id };
}
/** A client of a person whose requests work in an organisation. */
const within =
  ({ token }: Pick<Person, 'token'>, { id }: Pick<Club, 'id'>) =>
  (method: string, path: string, body?: unknown) =>
    createClient(url, token)(method, path, body, { 'x-organisation': id });

let club: Club;
let other: Club;
beforeEach(async () => {
  club = await createClub();
  other = await createClub(club.owner);
});

async function createPolled(more: object = {}): Promise<string> {
  const input = { delivery: 'poll', events: ['ticket.*'], ...more };
  const { status, body } = await within(club.admin, club)('POST', '/api/webhooks', input);
  expect([status, body.error]).toEqual([201, undefined]);
  return `/api/webhooks/${body.data.id}`;
}
async function createTicket(of: Club, values: object): Promise<string> {
  const { status, body } = await within(of.owner, of)('POST', '/api/tickets', values);
  expect([status, body.error]).toEqual([201, undefined]);
  return body.data.id;
}
const changeTicket = (id: string, values: object) => within(club.owner, club)('PATCH', `/api/tickets/${id}`, values);
/** Polls until there are as many messages. */
const pollUntil = (call: Person['call'], path: string, messages: number) =>
  vi.waitUntil(async () => {
    const { status, body } = await call('GET', `${path}/poll`);
    expect([status, body.error]).toEqual([200, undefined]);
    return body.data.length >= messages ? body : undefined;
  }, WAIT);
const dataOf = ({ data }: { data: { body: string }[] }) => data.map(({ body }) => JSON.parse(body).data);

test('a polled endpoint of an organisation returns its records, as its role may read them, to managers and keys', async () => {
  const path = await createPolled();
  await createTicket(other, { title: 'of another club' });
  await createTicket(club, { title: 'lamp', price: 12 });
  const found = await pollUntil(club.owner.call, path, 1);
  expect(dataOf(found)).toEqual([expect.objectContaining({ title: 'lamp', organisation: club.id })]);
  expect(dataOf(found)[0]).not.toHaveProperty('price');

  const keys = `/api/organisations/${club.id}/api-keys`;
  const { body: made } = await club.admin.call('POST', keys, { name: 'k', scopes: ['*'], as: 'org:admin' });
  const key = createClient(url, made.data.key);
  expect(dataOf((await key('GET', `${path}/poll`)).body)).toEqual(dataOf(found));
  expect((await key('POST', `${path}/ack`, { cursor: found.meta.next })).body.data).toEqual({ acknowledged: 1 });
  expect((await key('GET', `${path}/poll`)).body.data).toEqual([]);
  expect((await other.admin.call('GET', `${path}/poll`)).status).toBe(404);
  const { body: statistics } = await club.admin.call('GET', `${path}/statistics`);
  expect(statistics.data.last24Hours).toMatchObject({ deliveries: 1, successRate: 1, attempts: 1 });
});

test('a poll that waits ends with 404, without messages, when its user is no longer a member', async () => {
  const path = await createPolled();
  // The second waiting poll of a user is refused, whichever that is.
  const poll = async () => {
    for (;;) {
      const response = await club.admin.call('GET', `${path}/poll?wait=60`);
      if (response.status !== 429) return response;
    }
  };
  const pending = poll();
  const isWaiting = async () => (await club.admin.call('GET', `${path}/poll?wait=1`)).status === 429;
  await vi.waitUntil(isWaiting, WAIT);
  await app.organisations.removeMember(club.id, club.membership);
  await createTicket(club, { title: 'lamp' });
  const { status, body } = await pending;
  expect([status, body.data]).toEqual([404, undefined]);
  expect(dataOf(await pollUntil(club.owner.call, path, 1))).toMatchObject([{ title: 'lamp' }]);
});

test('a poll that waits returns nothing, and fails nothing, after the endpoint got a role that its user lacks', async () => {
  const path = await createPolled();
  const pending = club.admin.call('GET', `${path}/poll?wait=60`);
  expect((await club.owner.call('PATCH', path, { as: 'org:owner' })).status).toBe(200);
  await createTicket(club, { title: 'lamp', price: 12 });
  expect((await pending).status).toBe(403);
  expect(dataOf(await pollUntil(club.owner.call, path, 1))).toMatchObject([{ title: 'lamp', price: 12 }]);
});

test('each member has polls of their own, so that none can use up those of the others', async () => {
  const path = await createPolled();
  const pending = club.admin.call('GET', `${path}/poll?wait=60`);
  const second = club.admin.call('GET', `${path}/poll?wait=60`);
  expect((await Promise.race([pending, second])).status).toBe(429);
  const ofOwner = club.owner.call('GET', `${path}/poll?wait=60`);
  await createTicket(club, { title: 'lamp' });
  expect((await ofOwner).status).toBe(200);
  expect([(await pending).status, (await second).status].sort()).toEqual([200, 429]);
});

test('a backfill sends an endpoint of an organisation only its events, as its role may read them and its filter says', async () => {
  const since = new Date(Date.now() - 60_000).toISOString();
  const lamp = await createTicket(club, { title: 'lamp', price: 12 });
  const others = await createTicket(other, { title: 'of another club' });
  await changeTicket(lamp, { title: 'bell' });
  await changeTicket(lamp, { price: 13 });
  await within(other.owner, other)('PATCH', `/api/tickets/${others}`, { title: 'changed' });
  const path = await createPolled({ events: ['ticket.updated'], filter: { 'ticket.updated': { changed: ['title'] } } });
  const started = await club.admin.call('POST', `${path}/backfill`, { since });
  expect([started.status, started.body.error]).toEqual([202, undefined]);
  await vi.waitUntil(async () => {
    const { body } = await club.owner.call('GET', `${path}/backfills/${started.body.data.id}`);
    return body.data.status === 'finished';
  }, WAIT);
  const found = await pollUntil(club.owner.call, path, 1);
  expect(dataOf(found)).toEqual([expect.objectContaining({ id: lamp, title: 'bell' })]);
  expect(dataOf(found)[0]).not.toHaveProperty('price');
  expect(found.data[0].headers).toMatchObject({ 'webhook-backfill': 'true' });
  expect((await other.admin.call('POST', `${path}/backfill`, { since })).status).toBe(404);
});
