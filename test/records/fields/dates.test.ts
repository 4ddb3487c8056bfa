import { expect, test } from 'vitest';
import { defineResource, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const visit = defineResource('visit', {
  fields: {
    at: f.date().min('2000-01-01').filterable().sortable(),
    all: f.array(f.date()),
    stay: f.object({ from: f.date().required() }),
    made: f.date().default(() => new Date('2026-03-01')),
    sealed: f.date().encrypted(),
  },
  policies: { list: 'public' },
  hooks: {
    beforeUpdate: (changes) => ({ ...changes, made: new Date('2026-04-01') }),
  },
});
const { app, call } = await startTestApp({ resources: [visit] });
const visits = app.service('visit');

test('code can pass a Date for any date value', async () => {
  const [day, text] = [new Date('2026-01-02T03:04:05.678Z'), '2026-01-02T03:04:05.678Z'];
  const made = await visits.create({ at: day, all: [day, text], stay: { from: day }, sealed: day });
  const whole = { at: text, all: [text, text], stay: { from: text }, made: '2026-03-01T00:00:00.000Z', sealed: text };
  expect(await visits.read(made.id)).toMatchObject(whole);
  expect(made.sealed).toBe(text);
  expect(await visits.count({ at: day })).toBe(1);
  const changed = await visits.update(made.id, { at: new Date('2026-02-01') });
  expect(changed).toMatchObject({ at: '2026-02-01T00:00:00.000Z', made: '2026-04-01T00:00:00.000Z' });
});

test.each([
  [new Date(Number.NaN), 'Must be a date: an ISO 8601 string or epoch milliseconds'],
  [new Date(8.64e15), 'Must be a date: an ISO 8601 string or epoch milliseconds'],
  [new Date('1999-01-01'), 'Must be on or after 2000-01-01T00:00:00.000Z'],
])('a Date follows the rules of the field: %s', async (at, message) => {
  await expect(visits.create({ at })).rejects.toMatchObject({ details: { at: message } });
});

test.each([
  ...['20250131', '202501', '2025', '1e3', '0x10', '-20250131', '+1735689600000', ' 12 ', '12', '0', '1735689600000.5'],
  ...[
    '20250131120000',
    '99999999',
    '2025-1-31',
    '2025-02-30',
    '31.01.2025',
    '01/31/2025',
    '2025-01-31 12:00',
    'January 2025',
  ],
])('the text %j is no date in a filter of a request or of code', async (text) => {
  for (const parameter of ['at', 'at[gte]', 'at[in]']) {
    const { status, body } = await call('GET', `/api/visits?${new URLSearchParams({ [parameter]: text })}`);
    expect([parameter, status, body.error?.message]).toEqual([
      parameter,
      400,
      `The query parameter "${parameter}" has a value of the wrong type`,
    ]);
  }
  await expect(visits.count({ at: { gte: text } })).rejects.toMatchObject({ code: 'BAD_REQUEST' });
});

test.each(['2025-01-31', '2025-01-31T00:00:00Z', '2025-01-31T01:00:00+01:00', '2025-01-31T00:00', '1738281600000'])(
  'the text %j is the same day in a filter',
  async (text) => {
    const { id } = await visits.create({ at: '2025-01-31' });
    for (const parameter of ['at', 'at[gte]', 'at[lte]', 'at[in]']) {
      const { body } = await call('GET', `/api/visits?${new URLSearchParams({ [parameter]: text, sort: 'at' })}`);
      expect(body.data).toContainEqual(expect.objectContaining({ id }));
    }
    expect(await visits.count({ at: text })).toBeGreaterThan(0);
    await visits.delete(id);
  },
);
