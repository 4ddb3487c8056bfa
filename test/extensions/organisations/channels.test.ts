import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createClient } from '../../../packages/client/src/index.ts';
import type { Services } from '../../../src/declare/service.ts';
import { startReceiver } from '../../fakes/receiver.ts';
import type { Person } from '../../support/app.ts';
import { exportOf } from '../privacy/export/app.ts';
import { listen, ready } from '../realtime/listen.ts';
import { startOrganisationApp } from './setup.ts';

const { app, api, url, env, person, organisation, addMember, within } = await startOrganisationApp();
const service = app.service as unknown as Services;
let owner: Person;
let team: { id: string; slug: string };

beforeAll(async () => {
  owner = await person('owner');
  team = await organisation(owner, 'channels');
});

const createTicket = (values: object = {}) =>
  service('ticket').create({ title: 't', organisation: team.id, ...values });

describe('a member who is removed', () => {
  test('gets no further event on an open stream', async () => {
    const member = await person('member');
    const membership = await addMember(team, member);
    const stream = await ready(url, 'subscribe=ticket', { token: member.token });
    const witness = await ready(url, 'subscribe=ticket', { token: owner.token });
    const first = await createTicket();
    await stream.wait(({ data }) => data?.data?.id === first.id || JSON.stringify(data ?? '').includes(first.id));
    await api.removeMember(team.id, membership);
    const second = await createTicket();
    await witness.wait(({ data }) => JSON.stringify(data ?? '').includes(second.id));
    // A record that everyone may see comes after the one that the member must not see.
    const bookmark = await member.call('POST', '/api/bookmarks', { ticket: first.id });
    expect(bookmark.status).toBe(201);
    expect(JSON.stringify(stream.received)).not.toContain(second.id);
  });

  test('gets no delivery that was waiting for another attempt', async () => {
    const member = await person('member');
    const membership = await addMember(team, member);
    const receiver = await startReceiver();
    receiver.answer(500);
    const endpoint = await member.call('POST', '/api/webhooks', { url: receiver.url, events: ['ticket.created'] });
    await createTicket();
    await receiver.received(1);
    await api.removeMember(team.id, membership);
    receiver.answer(204);
    const deliveries = `/api/webhooks/${endpoint.body.data.id}/deliveries`;
    const { body } = await member.call('GET', deliveries);
    await member.call('POST', `${deliveries}/${body.data[0].id}/retry`);
    await createTicket();
    await vi.waitFor(async () => {
      const after = await member.call('GET', deliveries);
      expect(JSON.stringify(after.body)).not.toContain(team.id);
    });
    expect(receiver.requests).toHaveLength(1);
    await receiver.close();
  });
});

describe('a stream', () => {
  test('that names an organisation carries only its records, beside a stream of the same user with all', async () => {
    const other = await organisation(owner, 'second-channel');
    const { token } = owner;
    const [all, narrow, wide] = await Promise.all([
      ready(url, 'subscribe=ticket', { token }),
      ready(url, 'subscribe=ticket', { token, headers: { 'X-Organisation': team.slug } }),
      ready(url, 'subscribe=ticket', { token, headers: { 'X-Organisation': other.slug } }),
    ]);
    const here = await createTicket();
    const there = await createTicket({ organisation: other.id });
    const last = await createTicket();
    const idsIn = ({ received }: typeof all) =>
      received.flatMap(({ data }) => [here.id, there.id, last.id].filter((id) => data?.data?.id === id));
    await vi.waitFor(() => expect(idsIn(all)).toEqual([here.id, there.id, last.id]));
    await vi.waitFor(() => expect(idsIn(narrow)).toEqual([here.id, last.id]));
    await vi.waitFor(() => expect(idsIn(wide)).toEqual([there.id]));
  });

  test('of a client that works in an organisation keeps its live lists equal to its lists', async () => {
    const other = await organisation(owner, 'fourth-channel');
    const client = createClient({ url, organisation: other.slug, token: owner.token });
    const list = client.resource('tickets').liveList();
    onTestFinished(() => list.close());
    await vi.waitFor(() => expect(list.status).toBe('live'));
    await createTicket();
    const { id } = await createTicket({ organisation: other.id });
    await vi.waitFor(() => expect(list.data?.map((one) => one.id)).toEqual([id]));
  });

  test('still carries only the records of the organisation that it named after its user has changed', async () => {
    const member = await person('renamed');
    const other = await organisation(member, 'third-channel');
    await addMember(team, member);
    const { token } = member;
    const narrow = await ready(url, 'subscribe=ticket', { token, headers: { 'X-Organisation': other.id } });
    await service('user').update(member.id, { name: 'Renamed' });
    const wide = await ready(url, 'subscribe=ticket', { token });
    const foreign = await createTicket();
    await wide.wait(({ data }) => data?.data?.id === foreign.id);
    const own = await createTicket({ organisation: other.id });
    await narrow.wait(({ data }) => data?.data?.id === own.id);
    expect(JSON.stringify(narrow.received)).not.toContain(foreign.id);
  });

  test('that names an organisation of which the user is no member gets 404, as a list does', async () => {
    const stranger = await person('stranger');
    const how = { token: stranger.token, headers: { 'X-Organisation': team.slug } };
    expect((await listen(url, 'subscribe=ticket', how)).status).toBe(404);
    const list = await stranger.call('GET', '/api/tickets', undefined, { 'X-Organisation': team.slug });
    expect(list.status).toBe(404);
  });
});

test('a stream with a ticket refuses the header X-Organisation, which it would not obey, and keeps the ticket', async () => {
  const { data } = (await owner.call('POST', '/api/realtime/ticket')).body;
  const query = `subscribe=ticket&ticket=${data.ticket}`;
  for (const name of [team.slug, team.id, 'unknown', ''])
    expect((await listen(url, query, { headers: { 'X-Organisation': name } })).status).toBe(400);
  const stream = await ready(url, query);
  const { id } = await createTicket();
  await stream.wait((one) => one.data?.data?.id === id);
});

describe('an audit entry', () => {
  test('of an organisation is readable only by admins of the app who are members', async () => {
    const [insider, outsider] = [
      await person('insider', ['user', 'admin']),
      await person('outsider', ['user', 'admin']),
    ];
    await addMember(team, insider);
    const { id } = await service('project').create({ name: 'audited', organisation: team.id });
    await vi.waitFor(async () => {
      const { body } = await insider.call('GET', `/api/admin/audit?record=${id}`);
      expect(body.data[0].details).toEqual({ organisation: team.id });
    });
    expect(JSON.stringify((await outsider.call('GET', `/api/admin/audit?record=${id}`)).body)).not.toContain('audited');
  });
});

describe('a deleted organisation', () => {
  test('is gone for everyone at once, and its records are deleted, also those that were deleted before', async () => {
    const boss = await person('boss');
    const org = await organisation(boss);
    const member = await person('member');
    await addMember(org, member, 'admin');
    const project = await service('project').create({ name: 'p', organisation: org.id });
    const gone = await service('project').create({ name: 'gone', organisation: org.id });
    await service('project').delete(gone.id);
    for (let i = 0; i < 230; i++)
      await service('ticket').create({ title: `t${i}`, organisation: org.id, project: project.id });
    const kept = await createTicket();
    expect((await member.call('DELETE', `/api/organisations/${org.id}`)).status).toBe(403);
    expect((await boss.call('DELETE', `/api/organisations/${org.id}`)).status).toBe(204);
    expect((await member.call('GET', '/api/tickets')).body.meta.total).toBe(0);
    expect((await boss.call('GET', `/api/organisations/${org.id}`)).status).toBe(404);
    // The slug is free, and the new organisation has nothing of the former one.
    const again = await organisation(member, org.slug);
    expect((await within(member, again.slug)('GET', '/api/tickets?count=exact')).body.meta.total).toBe(0);
    const { Client } = await import('pg');
    const sql = new Client({ connectionString: env.DATABASE_URL! });
    await sql.connect();
    const count = async (text: string) => Number((await sql.query(text, [org.id])).rows[0].count);
    await vi.waitFor(
      async () => {
        expect(await count('select count(*) from tickets where organisation = $1')).toBe(0);
        expect(await count('select count(*) from projects where organisation = $1')).toBe(0);
        expect(await count('select count(*) from memberships where organisation = $1')).toBe(0);
        const archives = await sql.query(
          `select table_name from information_schema.columns where column_name = 'organisation' and table_name like '%project%'`,
        );
        expect(archives.rows.length).toBe(2);
        for (const { table_name } of archives.rows)
          expect(await count(`select count(*) from "${table_name}" where organisation = $1`)).toBe(0);
      },
      { timeout: 30_000, interval: 50 },
    );
    await sql.end();
    expect(await service('ticket').read(kept.id)).toMatchObject({ organisation: team.id });
  });
});

async function countAuditEntries(person: Person, resource: string): Promise<number> {
  const { Client } = await import('pg');
  const sql = new Client({ connectionString: env.DATABASE_URL! });
  await sql.connect();
  const text = 'select count(*)::int from audit_entries where user_id = $1 and resource = $2';
  const { rows } = await sql.query(text, [person.id, resource]);
  await sql.end();
  return rows[0].count;
}

test('a data export contains the records of the user in their present organisations, and nothing else of them', async () => {
  const [member, left] = [await person('member'), await organisation(owner)];
  await addMember(team, member);
  const former = await addMember(left, member);
  const create = async (title: string, organisation: string) =>
    (await member.call('POST', '/api/tickets', { title, organisation })).body.data.id as string;
  const [own, behind] = [await create('mine', team.id), await create('left behind', left.id)];
  const project = async (organisation: string) =>
    (await member.call('POST', '/api/projects', { name: `p ${organisation}`, organisation })).body.data.id as string;
  const deleted = await project(left.id);
  await member.call('DELETE', `/api/projects/${deleted}`);
  await project(team.id);
  const watched = await service('project').create({ name: 'watched', organisation: left.id, watchers: [former] });
  await createTicket({ title: 'of another member' });
  await vi.waitUntil(async () => (await countAuditEntries(member, 'project')) === 3, { timeout: 60_000 });
  await api.removeMember(left.id, former);
  await member.call('POST', '/api/auth/me/export');
  const files = await exportOf(member, { url });
  const text = JSON.stringify(files);
  expect(text).toContain(own);
  expect(text).not.toContain('of another member');
  expect(text).not.toContain(left.slug);
  expect(text).not.toContain(behind);
  expect(text).not.toContain('left behind');
  expect(text).not.toContain(deleted);
  expect(text).not.toContain(watched.id);
  // The user's own actions remain, without the records.
  const entries = files['account/audit-entries.ndjson'] as { resource: string }[];
  expect(entries.filter(({ resource }) => resource === 'project')).toMatchObject([
    { record: null, changes: null, details: null },
    { record: null, changes: null, details: null },
    { record: expect.any(String), changes: { name: {} }, details: { organisation: team.id } },
  ]);
  expect(JSON.stringify(files['records/memberships.ndjson'] ?? text)).toContain(team.id);
});

test('requests that run while a session switches its organisation see one of them, never both', async () => {
  const member = await person('member');
  const other = await organisation(owner);
  for (const one of [team, other]) await addMember(one, member);
  await service('ticket').create({ title: 't', organisation: other.id });
  await createTicket();
  await member.call('POST', '/api/auth/organisation', { organisation: team.id });
  const answers = await Promise.all(
    Array.from({ length: 20 }, async (_, i) => {
      await member.call('POST', '/api/auth/organisation', { organisation: [team.id, other.id][i % 2] });
      return member.call('GET', '/api/tickets?limit=100');
    }),
  );
  for (const { body } of answers) {
    const seen = new Set(body.data.map((one: { organisation: string }) => one.organisation));
    expect(seen.size).toBe(1);
  }
});

test('a member of a deleted organisation creates no further record in it, before and after its memberships are gone', async () => {
  const member = await person('member');
  const [gone, kept] = [await organisation(member), await organisation(member)];
  await api.delete(gone.id);
  const { status, body } = await member.call('POST', '/api/tickets', { title: 'x' });
  expect([status, body.data?.organisation]).toEqual([201, kept.id]);
  expect((await member.call('POST', '/api/tickets', { title: 'x', organisation: gone.id })).status).toBe(422);
  expect((await within(member, gone.id)('POST', '/api/tickets', { title: 'x' })).status).toBe(404);
});
