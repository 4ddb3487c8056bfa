import pg from 'pg';
import { expect, test, vi } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const open = { list: 'public', read: 'public' } as const;
const topic = defineResource('topic', { fields: { name: f.string(), note: f.string().hidden() }, policies: open });
const post = defineResource('post', {
  fields: {
    title: f.string(),
    draft: f.string().visibleTo('admin'),
    author: f.ref('user').populate(),
    topics: f.array(f.ref('topic')).populate(),
  },
  policies: open,
  routes: (route) => [
    route.get('/scored', { policy: 'public' }, async ({ service }) => {
      const { data } = await service('post').list({ sort: 'createdAt' });
      const topics = (await service('topic').list({ sort: 'createdAt' })).data;
      return {
        scored: data.map((doc, score) => ({ doc, score })),
        mixed: [data[0], 'text', null, topics[0], [data[1]], new Date(0)],
        byTitle: Object.fromEntries(data.map((doc) => [doc.title, { doc }])),
        twice: [data[0], data[0]],
        odd: JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}'),
      };
    }),
  ],
});

const { app, call, person } = await startTestApp({ resources: [defineUser(), topic, post] });
const [ann, admin] = [await person('Ann'), await person('Root', ['user', 'admin'])];
const topics: string[] = [];
for (const name of ['a', 'b']) topics.push((await app.service('topic').create({ name, note: 'hidden' })).id);
for (let i = 0; i < 12; i++) {
  await app.service('post').create({ title: `t${i}`, draft: 'd', author: ann.id, topics });
}

test('records anywhere in a response are serialized for the caller, and all other values stay unchanged', async () => {
  const { data } = (await call('GET', '/api/posts/scored')).body;
  const serializedNote = (title: string) => ({
    id: expect.any(String),
    title,
    author: expect.objectContaining({ id: ann.id, name: 'Ann' }),
    topics: [expect.objectContaining({ name: 'a' }), expect.objectContaining({ name: 'b' })],
    createdAt: expect.any(String),
    updatedAt: expect.any(String),
  });
  expect(data.scored).toHaveLength(12);
  for (const [score, one] of data.scored.entries()) expect(one).toEqual({ doc: serializedNote(`t${score}`), score });
  const topicShown = { id: topics[0], name: 'a', createdAt: expect.any(String), updatedAt: expect.any(String) };
  expect(data.mixed).toEqual([
    serializedNote('t0'),
    'text',
    null,
    topicShown,
    [serializedNote('t1')],
    '1970-01-01T00:00:00.000Z',
  ]);
  expect(data.byTitle.t11).toEqual({ doc: serializedNote('t11') });
  expect(data.twice).toEqual([serializedNote('t0'), serializedNote('t0')]);
  expect(JSON.stringify(data.odd)).toBe('{"__proto__":{"polluted":true},"constructor":1}');
  expect((await admin.call('GET', '/api/posts/scored')).body.data.scored[0].doc.draft).toBe('d');
});

test('the records of a response cost one query per reference field, wherever they occur', async () => {
  const sent = vi.spyOn(pg.Client.prototype, 'query');
  expect((await call('GET', '/api/posts/scored')).status).toBe(200);
  const texts = sent.mock.calls.map(([statement]) => (statement as unknown as { text?: string }).text ?? '');
  sent.mockRestore();
  const tables = texts.flatMap((text) =>
    text.includes('"id" = any(') ? (/from "(\w+)" where/.exec(text)?.[1] ?? []) : [],
  );
  expect(tables.sort()).toEqual(['topics', 'users']);
});
