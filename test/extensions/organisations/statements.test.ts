import { Client } from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  defineResource,
  defineUser,
  f,
  type OrganisationsApi,
  organisations,
  tenant,
  webhooks,
} from '../../../src/index.ts';
import { createClient, startTestApp } from '../../support/app.ts';
import { countStatements } from '../../support/database/sent-statements.ts';

const fields = { title: f.string().required().filterable(), board: f.ref('board').filterable() };
const roleField = () => f.string().visibleTo('org:owner').writableBy('org:owner');
const plain = defineResource('plain', { fields, policies: { create: 'authenticated', update: 'authenticated' } });
const board = defineResource('board', { fields: { organisation: tenant(), name: f.string() } });
const note = defineResource('note', {
  fields: { organisation: tenant(), text: f.string(), first: roleField(), second: roleField() },
});
const card = defineResource('card', { fields: { ...fields, organisation: tenant() } });

// Without relay and workers, which send statements of their own.
const { app, url, person } = await startTestApp({
  resources: [defineUser(), plain, board, card, note],
  extensions: [organisations()],
});

test('membership costs no statement: records of organisations take as many as other records', async () => {
  const owner = await person('owner');
  const { organisations: api } = app as typeof app & { organisations: OrganisationsApi };
  const team = await api.create({ name: 'Team', slug: 'team' }, owner.id);
  const within = createClient(url, owner.token);
  const inside: typeof within = (method, path, body) => within(method, path, body, { 'x-organisation': 'team' });
  const onBoard = { board: (await owner.call('POST', '/api/boards', { name: 'b' })).body.data.id };
  const sent = countStatements();
  async function count(call: typeof within, method: string, path: string, body?: unknown): Promise<number> {
    sent.count();
    expect((await call(method, path, body)).status, `${method} ${path}`).toBeLessThan(300);
    return sent.count();
  }
  const ids = new Map<string, string>();
  for (const name of ['plains', 'cards'])
    ids.set(name, (await owner.call('POST', `/api/${name}`, { title: 't' })).body.data.id);
  for (const call of [owner.call, inside]) {
    // The first request that names an organisation looks it up.
    await call('GET', '/api/cards');
    for (const [method, rest] of [
      ['GET', ''],
      ['GET', '?title=t&sort=-createdAt'],
      ['GET', '/:id'],
    ] as const) {
      const at = (name: string) => `/api/${name}${rest.replace(':id', ids.get(name)!)}`;
      expect(await count(call, method, at('cards')), rest).toBe(await count(call, method, at('plains')));
    }
    // The session, the look-up of the membership and the insert; with a reference, the look-up of its record.
    expect(await count(call, 'POST', '/api/cards', { title: 'u' })).toBe(3);
    expect(await count(call, 'POST', '/api/cards', { title: 'u', ...onBoard })).toBe(4);
    // The session and the update. With references, the record is read first, to know its organisation.
    expect(await count(call, 'PATCH', `/api/boards/${onBoard.board}`, { name: 'v' })).toBe(2);
    expect(await count(call, 'PATCH', `/api/cards/${ids.get('cards')}`, { title: 'v' })).toBe(3);
  }
  expect(team.slug).toBe('team');
  sent.stop();
});

test('roles that decide about fields cost one statement for a list, whatever its length and the number of fields', async () => {
  const [owner, member] = [await person('owner'), await person('member')];
  const { organisations: api } = app as typeof app & { organisations: OrganisationsApi };
  const { id } = await api.create({ name: 'Notes', slug: 'notes' }, owner.id);
  await api.addMember(id, member.id);
  const sent = countStatements();
  const count = async (call: typeof owner.call, path: string) => {
    sent.count();
    expect((await call('GET', path)).status).toBe(200);
    return sent.count();
  };
  const without = await count(member.call, '/api/notes?count=none');
  for (let i = 0; i < 40; i++)
    await app.service('note').create({ text: 't', first: '1', second: '2', organisation: id });
  for (const { call } of [owner, member])
    for (const limit of [1, 40]) expect(await count(call, `/api/notes?count=none&limit=${limit}`)).toBe(without + 1);
  // Fields that are not part of the response cost nothing.
  expect(await count(owner.call, '/api/notes?count=none&fields=text')).toBe(without);
  sent.stop();
});

/** Creates users, each with an endpoint for the events of tickets. */
async function subscribe(client: Client, count: number, prefix: string): Promise<void> {
  const id = `$1 || lpad(to_hex(i), 23, '0')`;
  const each = `from generate_series(1, $2::int) i`;
  await client.query(
    `insert into users (id, name, email, password, roles, status)
     select ${id}, 'n', $1 || i || '@example.com', 'x', '{user}', 'active' ${each}`,
    [prefix, count],
  );
  await client.query(
    `insert into webhook_endpoints (id, owner_id, url, events, scope, secret)
     select ${id}, ${id}, 'http://127.0.0.1:9/', '{ticket.created}', 'own', 'x' ${each}`,
    [prefix, count],
  );
}

test('the members among all subscribers are looked up in one statement, and only they get a delivery', async () => {
  const ticket = defineResource('ticket', { fields: { organisation: tenant(), title: f.string() } });
  // No worker runs, so created deliveries do not change.
  const { app, person, env } = await startTestApp(
    { resources: [defineUser(), ticket], extensions: [organisations(), webhooks({ pollMs: 100 })] },
    { roles: ['web', 'relay'] },
  );
  const client = new Client({ connectionString: env.DATABASE_URL });
  await client.connect();
  onTestFinished(() => client.end());
  const owner = await person('owner');
  const { organisations: api } = app as typeof app & { organisations: OrganisationsApi };
  const team = (await api.create({ name: 'Team' }, owner.id)).id;
  const [MEMBERS, OTHERS] = [60, 60];
  await subscribe(client, MEMBERS, 'a');
  await subscribe(client, OTHERS, 'b');
  await client.query(
    `insert into memberships (id, organisation, "user", role, created_at, updated_at)
     select 'c' || substr(id, 2), $1, id, 'member', now(), now() from users where id like 'a%' and name = 'n'`,
    [team],
  );
  const count = async (from: string) => (await client.query(`select count(*)::int as n from ${from}`)).rows[0].n;
  const handled = () => vi.waitUntil(async () => (await count('outbox')) === 0, { timeout: 30_000, interval: 20 });
  await handled();
  const sent = countStatements();
  await app.service('ticket').create({ title: 't', organisation: team } as never);
  await handled();
  const lookUps = sent.count('"memberships"');
  sent.stop();
  expect(await count('webhook_deliveries')).toBe(MEMBERS);
  expect(await count(`webhook_deliveries where endpoint_id like 'b%'`)).toBe(0);
  expect(lookUps).toBe(1);
});
