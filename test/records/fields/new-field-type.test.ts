// A field type is a single object: all features work with a type that only this test defines.
import { Client } from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { Field } from '../../../src/declare/field.ts';
import { createApp, defineResource, defineUser, f, privacy } from '../../../src/index.ts';
import { type ColumnType, createStoredValueConverter } from '../../../src/records/fields/column-type.ts';
import { type FieldType, ORDER_COMPARISONS } from '../../../src/records/fields/field-type.ts';
import { createErasurePlan } from '../../../src/records/schema/erasure-plan.ts';
import { exportOf } from '../../extensions/privacy/export/app.ts';
import { startTestApp } from '../../support/app.ts';
import { createMigrationProject } from '../../support/database/migration-project.ts';

const TIME = /^([01]?\d|2[0-3]):([0-5]\d)$/;

const minutesOf = (time: string) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
const timeOf = (minutes: number) =>
  `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;
const canonical = (value: unknown) =>
  typeof value === 'string' && TIME.test(value) ? value.padStart(5, '0') : undefined;

/** Converts a time of day to minutes since midnight. */
const MINUTES: ColumnType = {
  sql: 'smallint',
  noun: 'a time of day',
  jsonSchema: { type: 'string' },
  number: true,
  convertToStored: createStoredValueConverter(
    (value) => typeof value === 'string',
    (value) => canonical(value) !== undefined,
    'Must be a time of day',
  ),
  lossyCast: (column, from) =>
    from === 'bigint'
      ? { loss: 'hours beyond a day would be lost', example: `(${column} % 1440)::smallint` }
      : undefined,
};

/** Times of day: `"9:05"` in a body, `"09:05"` in records, minutes in the database. */
const timeType: FieldType = {
  kind: 'time',
  column: MINUTES,
  schema: () =>
    z
      .string({ error: 'Must be a time of day' })
      .regex(TIME, { error: 'Must be a time of day' })
      .transform((text) => text.padStart(5, '0')),
  jsonSchema: () => ({ type: 'string', format: 'time-of-day' }),
  jsonType: 'string',
  modifiers: ['unique', 'index', 'filterable', 'sortable', 'encrypted'],
  operators: ORDER_COMPARISONS,
  comparisons: () => ORDER_COMPARISONS,
  indexMethod: () => 'btree',
  indexedBytes: () => 2,
  comparable: canonical,
  fromQuery: canonical,
  toColumn: (value) => minutesOf(value as string),
  fromColumn: (value) => timeOf(value as number),
  fromJson: (value) => timeOf(value as number),
  freeText: true,
};
const time = () => new Field<string>({ type: timeType });

let scope: object | undefined;
const visit = defineResource('visit', {
  fields: {
    at: time().filterable().sortable(),
    breaks: f.array(time()).filterable(),
    usual: time().required().default('8:00'),
    person: f.ref('user').owner(),
  },
  policies: { list: 'public', read: 'public', create: 'public' },
  onOwnerDelete: 'anonymize',
  personalFields: ['at', 'usual'],
  scope: () => scope as never,
});
const { call, env, app } = await startTestApp({ resources: [defineUser(), visit], extensions: [privacy()] });
const database = new Client({ connectionString: env.DATABASE_URL! });
await database.connect();
afterAll(() => database.end());
const times = ['9:05', '0:00', '23:59', '12:30', '10:00'];
const events: unknown[] = [];
app.on('visit.created', ({ record }) => void events.push(record.at));
for (const at of times) await call('POST', '/api/visits', { at, breaks: [at] });
const sorted = ['00:00', '09:05', '10:00', '12:30', '23:59'];
const found = async (query: string) =>
  (await call('GET', `/api/visits?sort=at&${query}`)).body.data.map((record: { at: string }) => record.at);

describe('a field type that only this test defines', () => {
  test('is validated, and converted between records and its column', async () => {
    expect(await found('')).toEqual(sorted);
    const { rows } = await database.query('select at, breaks, usual from visits order by at limit 2');
    expect(rows).toEqual([
      { at: 0, breaks: [0], usual: 480 },
      { at: 545, breaks: [545], usual: 480 },
    ]);
    const { status, body } = await call('POST', '/api/visits', { at: '25:00' });
    expect([status, body.error.details]).toEqual([422, { at: 'Must be a time of day' }]);
    expect(events).toEqual(times.map((at) => at.padStart(5, '0')));
  });

  test('can be filtered by clients and by scope filters', async () => {
    expect(await found('at[gt]=9:05')).toEqual(['10:00', '12:30', '23:59']);
    expect(await found('at[in]=9:05,12:30')).toEqual(['09:05', '12:30']);
    expect(await found('breaks=9:05')).toEqual(['09:05']);
    expect((await call('GET', '/api/visits?at=noon')).status).toBe(400);
    scope = { at: { lte: '10:00' } };
    expect(await found('')).toEqual(['00:00', '09:05', '10:00']);
    scope = undefined;
  });

  test('can be sorted and paged by cursor', async () => {
    const all: string[] = [];
    let next = '';
    do {
      const { body } = await call('GET', `/api/visits?sort=-at&limit=2${next}`);
      all.push(...body.data.map((record: { at: string }) => record.at));
      next = body.meta.next ? `&after=${body.meta.next}` : '';
    } while (next !== '');
    expect(all).toEqual(sorted.toReversed());
  });

  test('is described in the OpenAPI document', async () => {
    const { body } = await call('GET', '/api/openapi.json');
    expect(body.components.schemas.Visit.properties.at).toMatchObject({ type: 'string', format: 'time-of-day' });
  });

  test('is stored in events as in records', async () => {
    const { rows } = await database.query(`select payload from outbox where name = 'visit.created' limit 1`);
    expect(rows[0].payload.record).toMatchObject({ at: 545, usual: 480 });
  });

  test('is reset to its default by an erasure, and counts as personal data like free text in the user resource', () => {
    const left = Object.fromEntries(
      createErasurePlan(visit, false).personal.map(({ name, replacement: left }) => [name, left]),
    );
    expect(left).toEqual({ at: null, usual: '08:00' });
    const user = defineUser({ fields: { reachable: time() } });
    expect(createErasurePlan(user, true).personal.map(({ name }) => name)).toContain('reachable');
  });

  test('is checked at its declaration', () => {
    const wrong = defineResource('wrong', { fields: { at: time().min(1) } });
    expect(() => createApp({ resources: [defineUser(), wrong] }, env)).toThrow('min() does nothing on a time field');
  });
});

test('the values of such a type are exported with the data of their owner, and erased with the account', async () => {
  const running = await startTestApp({ resources: [defineUser(), visit], extensions: [privacy()] }, { roles: 'all' });
  const [ada, admin] = [await running.person('Ada'), await running.person('Cay', ['user', 'admin'])];
  const created = await ada.call('POST', '/api/visits', { at: '9:05', breaks: ['12:30'], usual: '7:00' });
  expect(created.status).toBe(201);
  const { id } = created.body.data;

  const files = await exportOf(ada, running);
  const values = { at: '09:05', breaks: ['12:30'], usual: '07:00' };
  expect(files['records/visits.ndjson']).toEqual([
    { id, ...values, person: ada.id, createdAt: expect.any(String), updatedAt: expect.any(String) },
  ]);

  const erase = await ada.call('POST', '/api/auth/me/erase', { password: 'correct horse battery' });
  expect(erase.status).toBe(202);
  const path = `/api/admin/erasures/${erase.body.data.id}`;
  await expect.poll(async () => (await admin.call('GET', path)).body.data.status, { timeout: 60_000 }).toBe('finished');
  const { body } = await running.call('GET', `/api/visits/${id}`);
  expect(body.data).toEqual({
    ...{ id, breaks: ['12:30'], usual: '08:00' },
    createdAt: expect.any(String),
    updatedAt: expect.any(String),
  });
});

test('migrations add a column of such a type, fill it, and convert other columns according to the type', async () => {
  const project = await createMigrationProject();
  const shape = (fields: Record<string, Field<never>>) => defineResource('visit', { fields });
  const before = shape({ minutes: f.integer() as never });
  await project.change([before]);
  await project
    .app(before)
    .service('visit')
    .create({ minutes: 1500 } as never);
  const after = shape({ minutes: time() as never, usual: time().default('8:00') as never });
  const { ok, lines } = await project.generate([after]);
  expect(ok).toBe(false);
  expect(lines.join('\n')).toContain('hours beyond a day would be lost');
  await project.change([after], '--using', 'visits.minutes=(minutes % 1440)::smallint');
  const { data } = await project.app(after).service('visit').list();
  expect(data).toEqual([expect.objectContaining({ minutes: '01:00', usual: '08:00' })]);
  expect((await project.generate([after], '--check')).ok).toBe(true);
});
