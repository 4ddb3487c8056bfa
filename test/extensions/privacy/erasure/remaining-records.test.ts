// What an erasure leaves of the records that it keeps: defaults in required personal fields, and no references to what it deletes.
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { defineResource, defineUser, f, privacy, softDelete, webhooks } from '../../../../src/index.ts';
import { createErasurePlan } from '../../../../src/records/schema/erasure-plan.ts';
import { startReceiver } from '../../../fakes/receiver.ts';
import { startTestApp } from '../../../support/app.ts';

const open = { list: 'public', read: 'public', create: 'authenticated' } as const;
const openToAll = { ...open, create: 'public', update: 'public' } as const;
const shape = { street: f.string(), no: f.integer(), zip: f.array(f.string()) };
const thing = defineResource('thing', {
  fields: {
    epoch: f.date().required().default(0).pii(),
    day: f.date().required().default('2020-01-31').pii(),
    moment: f.date().required().default(new Date(5)).pii(),
    word: f.json().required().default('unknown').pii(),
    five: f.json().required().default(5).pii(),
    tree: f
      .json()
      .required()
      .default({ b: [1.5, { é: true }], a: null, aa: 'x"\n' })
      .pii(),
    tags: f.array(f.string()).required().default(['a b', 'c"d']).pii(),
    none: f.array(f.string()).required().default([]).pii(),
    home: f
      .object(shape)
      .required()
      .default({ zip: ['1'], street: '-', no: 3 })
      .pii(),
    shout: f.string().trim().uppercase().required().default(' gone ').pii(),
    yes: f.boolean().required().default(true).pii(),
    iban: f.string().encrypted().required().default('none').pii(),
    born: f.date().encrypted().required().default(0).pii(),
    note: f.string().pii(),
    author: f.ref('user').owner(),
  },
  onOwnerDelete: 'anonymize',
  policies: open,
  softDelete: true,
});
const personal = {
  ...{ epoch: '2001-01-01', day: '2001-01-01', moment: '2001-01-01', word: { a: 1 }, five: 6, tree: 'mine' },
  ...{ tags: ['mine'], none: ['mine'], home: { street: 'mine' }, shout: 'mine', yes: false, note: 'mine' },
  ...{ iban: 'DE02', born: '2001-01-01' },
};
const article = defineResource('article', {
  fields: { author: f.ref('user', { onDelete: 'restrict' }).owner(), title: f.string() },
  policies: { ...openToAll, create: 'authenticated' },
});
const comment = defineResource('comment', {
  fields: { article: f.ref('article', { onDelete: 'cascade' }), parent: f.ref('comment', { onDelete: 'cascade' }) },
  policies: openToAll,
});
const review = defineResource('review', {
  fields: {
    reviewer: f.ref('user', { onDelete: 'restrict' }),
    reader: f.ref('user', { onDelete: 'setNull' }),
    articles: f.refs('article', { onDelete: 'restrict' }),
  },
  policies: openToAll,
});
const { app, person, env, call } = await startTestApp(
  {
    resources: [defineUser(), thing, article, comment, review],
    extensions: [privacy(), softDelete(), webhooks({ allowPrivate: true, requireHttps: false })],
  },
  { roles: 'all', env: () => ({ SVC_ENCRYPTION_KEYS: randomBytes(32).toString('base64') }) },
);
const database = new Client({ connectionString: env.DATABASE_URL! });
await database.connect();
afterAll(() => database.end());

test('an erasure fills required personal fields with their defaults, also in deleted records and in events', async () => {
  const root = await person('Root', ['admin']);
  const ada = await person('Ada');
  const receiver = await startReceiver();
  await root.call('POST', '/api/webhooks', { url: receiver.url, events: ['thing.updated'], scope: 'global' });
  const made = await Promise.all([1, 2, 3, 4].map(() => ada.call('POST', '/api/things', personal)));
  const ids = made.map(({ body }) => body.data.id as string);
  for (const id of ids.slice(2)) await ada.call('DELETE', `/api/things/${id}`);
  const {
    id: _,
    author: __,
    createdAt: ___,
    updatedAt: ____,
    ...filled
  } = (await root.call('POST', '/api/things', {})).body.data;

  expect((await ada.call('POST', '/api/auth/me/erase', { password: 'correct horse battery' })).status).toBe(202);
  await vi.waitFor(
    async () => {
      const { body } = await root.call('GET', `/api/admin/erasures?user=${ada.id}`);
      expect(body.data[0]).toMatchObject({ status: 'finished', anonymized: { thing: 4 } });
    },
    { timeout: 60_000, interval: 50 },
  );

  for (const id of ids.slice(2)) {
    const { rows } = await database.query('select iban from things_deleted where id = $1', [id]);
    expect(rows[0].iban).toMatch(/^v1\./);
    await root.call('POST', `/api/things/${id}/restore`);
  }
  for (const id of ids) {
    const { createdAt, updatedAt, ...left } = (await call('GET', `/api/things/${id}`)).body.data;
    expect(left).toEqual({ id, ...filled });
  }

  const requests = await receiver.received(2);
  const plan = createErasurePlan(thing, false);
  for (const { body } of requests.slice(0, 2)) {
    const { data } = JSON.parse(body);
    for (const { name, replacementText: emptied } of plan.personal) {
      const { rows } = await database.query('select $1::jsonb->>$2 as told', [JSON.stringify(data), name]);
      expect([name, rows[0].told]).toEqual([name, emptied]);
    }
  }
  await receiver.close();
});

test('an erasure deletes or clears all references to what it deletes, also those that restrict deletions', async () => {
  const [ada, bob] = [await person('Ada'), await person('Bob')];
  const { id } = (await ada.call('POST', '/api/articles', { title: 'x' })).body.data;
  const comments = app.service('comment');
  const first = await comments.create({ article: id });
  const second = await comments.create({ article: id, parent: first.id });
  await comments.update(first.id, { parent: second.id });
  const kept = await app.service('review').create({ reviewer: ada.id, reader: ada.id, articles: [id] });
  const other = await app.service('review').create({ reviewer: bob.id });
  const deleted: string[] = [];
  app.on('comment.deleted', ({ record }) => void deleted.push(record.id));
  await expect(app.service('user').delete(ada.id)).rejects.toMatchObject({ code: 'CONFLICT' });
  await ada.call('POST', '/api/auth/me/erase', { password: 'correct horse battery' });
  await vi.waitFor(
    async () => expect((await app.service('user').list({ id: ada.id } as never)).data).toEqual([]),
    20_000,
  );
  expect(await app.service('review').read(kept.id)).toMatchObject({ articles: [] });
  expect(await app.service('review').read(kept.id)).not.toHaveProperty('reviewer');
  expect(await app.service('review').read(kept.id)).not.toHaveProperty('reader');
  expect(await app.service('review').read(other.id)).toMatchObject({ reviewer: bob.id });
  expect(deleted.sort()).toEqual([first.id, second.id].sort());
});
