import { expect, test } from 'vitest';
import { defineResource, defineUser, f, type OrganisationsApi, organisations, tenant } from '../../../src/index.ts';
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
