import { beforeAll, describe, expect, test } from 'vitest';
import type { Services } from '../../../src/declare/service.ts';
import type { Person } from '../../support/app.ts';
import { startOrganisationApp } from './setup.ts';

const { app, api, person, organisation, addMember, within } = await startOrganisationApp();
const service = app.service as unknown as Services;
let user: Person;
let stranger: Person;
let own: { id: string; slug: string };
let foreign: { id: string; slug: string };
let ownTicket: string;
let foreignTicket: string;

beforeAll(async () => {
  [user, stranger] = [await person('user'), await person('stranger')];
  [own, foreign] = [await organisation(user), await organisation(stranger)];
  ownTicket = (await service('ticket').create({ title: 'own', organisation: own.id })).id;
  foreignTicket = (await service('ticket').create({ title: 'foreign', organisation: foreign.id })).id;
});

const update = (id: string) => ({ operations: [{ op: 'update', id, data: { title: 'x' } }] });

describe('a request that names an organisation of which the caller is not a member', () => {
  test.each<[string, string, string, ((id: string) => unknown) | undefined]>([
    ['a list', 'GET', '/tickets', undefined],
    ['a search', 'GET', '/tickets?q=foreign', undefined],
    ['a count', 'GET', '/tickets?count=exact&limit=1', undefined],
    ['a read', 'GET', '/tickets/:id', undefined],
    ['an include', 'GET', '/bookmarks?include=ticket', undefined],
    ['an aggregate', 'GET', '/tickets/aggregate?group=state&count', undefined],
    ['the list of memberships', 'GET', '/memberships', undefined],
    ['a create', 'POST', '/tickets', () => ({ title: 'x' })],
    ['an update', 'PATCH', '/tickets/:id', () => ({ title: 'x' })],
    ['a deletion', 'DELETE', '/tickets/:id', undefined],
    ['a custom route', 'POST', '/tickets/:id/close', undefined],
    ['an atomic batch', 'POST', '/tickets/batch', update],
    ['a batch of creates', 'POST', '/tickets/batch', () => ({ operations: [{ op: 'create', data: { title: 'x' } }] })],
    ['a batch per item', 'POST', '/tickets/batch', (id) => ({ ...update(id), mode: 'perItem' })],
  ])('gets the same response as for one that does not exist: %s', async (_channel, method, path, bodyOf) => {
    for (const id of [foreignTicket, ownTicket]) {
      const responses = [];
      for (const header of [foreign.id, foreign.slug, 'f'.repeat(24), 'no-such-team']) {
        const { status, body } = await within(user, header)(method, `/api${path.replace(':id', id)}`, bodyOf?.(id));
        if (body?.error !== undefined) delete body.error.requestId;
        responses.push(JSON.stringify([status, body]));
      }
      expect(new Set(responses).size, responses.join('\n')).toBe(1);
      expect(responses[0]).not.toContain(foreign.id);
    }
    for (const [id, title] of [
      [ownTicket, 'own'],
      [foreignTicket, 'foreign'],
    ] as const)
      expect(await service('ticket').read(id)).toMatchObject({ title, state: 'open' });
  });
});

test('requests that run while the user is removed see the records or none, and nothing afterwards', async () => {
  const leaving = await person('leaving');
  const membership = await addMember(foreign, leaving);
  const list = () => within(leaving, foreign.slug)('GET', '/api/tickets');
  expect((await list()).body.data).toHaveLength(1);
  const [, ...answers] = await Promise.all([
    api.removeMember(foreign.id, membership),
    ...Array.from({ length: 20 }, list),
  ]);
  for (const { status, body } of answers) {
    if (status === 404) continue;
    expect(status).toBe(200);
    expect(body.data.length).toBeLessThanOrEqual(1);
  }
  expect((await list()).status).toBe(404);
  const create = { title: 'x', organisation: foreign.id };
  expect((await leaving.call('POST', '/api/tickets', create)).status).toBe(422);
});

test('an API key of an organisation does not reach others, whatever header or body it sends', async () => {
  const both = await person('both');
  for (const one of [own, foreign]) await addMember(one, both, 'admin');
  const created = await within(both, own.id)('POST', '/api/auth/api-keys', { name: 'k', scopes: ['*'] });
  const token = created.body.data.key as string;
  const key = { token };
  expect((await within(key, foreign.slug)('GET', '/api/tickets')).status).toBe(404);
  expect((await within(key, own.slug)('GET', `/api/tickets/${foreignTicket}`)).status).toBe(404);
  expect((await within(key, own.slug)('POST', '/api/tickets', { title: 'x', organisation: foreign.id })).status).toBe(
    422,
  );
  expect((await within(key, own.slug)('GET', `/api/organisations/${foreign.id}/members`)).status).toBe(404);
});
