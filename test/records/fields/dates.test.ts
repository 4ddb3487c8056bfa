import { expect, test } from 'vitest';
import { defineResource, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const visit = defineResource('visit', {
  fields: {
    at: f.date().min('2000-01-01'),
    all: f.array(f.date()),
    stay: f.object({ from: f.date().required() }),
    made: f.date().default(() => new Date('2026-03-01')),
    sealed: f.date().encrypted(),
  },
  hooks: {
    beforeUpdate: (changes) => ({ ...changes, made: new Date('2026-04-01') }),
  },
});
const { app } = await startTestApp({ resources: [visit] });
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
