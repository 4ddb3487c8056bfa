import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { defineResource, defineUser, f } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';

const patient = defineResource('patient', {
  fields: {
    name: f.string().required(),
    iban: f.string().encrypted(),
    other: f.string().encrypted(),
    count: f.integer().encrypted(),
    notes: f.array(f.object({ text: f.text() })).encrypted(),
    due: f.date().encrypted(),
    data: f.json().encrypted(),
    pin: f.string().encrypted().writeOnly(),
  },
  policies: { list: 'public', read: 'public', create: 'public', update: 'public' },
});
const { call, app, env } = await startTestApp(
  { resources: [defineUser(), patient] },
  { env: () => ({ SVC_ENCRYPTION_KEYS: randomBytes(32).toString('base64') }) },
);
const database = new Client({ connectionString: env.DATABASE_URL! });
await database.connect();
afterAll(() => database.end());

const values = {
  name: 'Ann',
  iban: 'CH93 0076 2011 6238 5295 7',
  other: 'CH93 0076 2011 6238 5295 7',
  count: 42,
  notes: [{ text: 'a\n💚' }],
  due: '2026-01-01T00:00:00.000Z',
  data: { a: [null, 1] },
};
const { id } = (await call('POST', '/api/patients', { ...values, pin: '1234' })).body.data;
const row = async (of: string) => (await database.query('select * from patients where id = $1', [of])).rows[0];

test('encrypted fields of every type come back as they went in, on every door', async () => {
  expect((await call('GET', `/api/patients/${id}`)).body.data).toMatchObject(values);
  expect((await call('GET', '/api/patients')).body.data[0]).toMatchObject(values);
  expect(await app.service('patient').read(id)).toMatchObject({ ...values, pin: '1234' });
  expect((await call('PATCH', `/api/patients/${id}`, { count: 43 })).body.data).toMatchObject({ ...values, count: 43 });
  await call('PATCH', `/api/patients/${id}`, { count: 42 });
});

test('the table and the outbox hold ciphertext only, and equal values look different', async () => {
  const stored = await row(id);
  for (const name of ['iban', 'other', 'count', 'notes', 'due', 'data', 'pin'])
    expect(stored[name]).toMatch(/^v1\.[0-9a-f]{8}\./);
  expect(stored.iban).not.toBe(stored.other);
  const { rows } = await database.query('select payload::text as text from outbox');
  for (const { text } of rows) expect(text).not.toMatch(/CH93|1234|💚/);
});

test.each(['another record', 'another field'])(
  'a ciphertext copied to %s does not decrypt there: 500 that tells neither text',
  async (where) => {
    const target = (await call('POST', '/api/patients', { name: 'Ben', iban: 'x' })).body.data.id;
    const { iban } = await row(id);
    if (where === 'another record') await database.query('update patients set iban = $2 where id = $1', [target, iban]);
    else await database.query('update patients set other = iban where id = $1', [target]);
    const { status, body } = await call('GET', `/api/patients/${target}`);
    expect(status).toBe(500);
    expect(JSON.stringify(body)).not.toMatch(/CH93|v1\./);
    await app
      .service('patient')
      .delete(target)
      .catch(() => undefined);
    await database.query('delete from patients where id = $1', [target]);
  },
);

test('null clears an encrypted field', async () => {
  expect((await call('PATCH', `/api/patients/${id}`, { iban: null })).body.data).not.toHaveProperty('iban');
  expect((await row(id)).iban).toBeNull();
});
