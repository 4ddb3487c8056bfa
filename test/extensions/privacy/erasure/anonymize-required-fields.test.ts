import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { defineResource, defineUser, f, privacy, softDelete, webhooks } from '../../../../src/index.ts';
import { createErasurePlan } from '../../../../src/records/schema/erasure-plan.ts';
import { startReceiver } from '../../../fakes/receiver.ts';
import { startTestApp } from '../../../support/app.ts';

const open = { list: 'public', read: 'public', create: 'authenticated' } as const;
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

const { person, env, call } = await startTestApp(
  {
    resources: [defineUser(), thing],
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
