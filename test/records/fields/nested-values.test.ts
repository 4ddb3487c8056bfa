import { beforeAll, describe, expect, test } from 'vitest';
import type { AnyField } from '../../../src/declare/field.ts';
import { defineResource, f } from '../../../src/index.ts';
import { type ApiResponse, startTestApp } from '../../support/app.ts';

const HEX = '0123456789abcdef01234567';
const WHOLE = 'Must be a whole number';

interface Case {
  field: AnyField;
  good: [sent: unknown, stored?: unknown][];
  bad: [sent: unknown, message: string][];
}

/** Contains every type and every rule of a value once. */
const cases: Record<string, Case> = {
  string: { field: f.string(), good: [[' x ', 'x'], ['']], bad: [[1, 'Must be a string']] },
  untrimmed: { field: f.string().trim(false), good: [[' x ']], bad: [[{}, 'Must be a string']] },
  text: { field: f.text(), good: [[' x\n']], bad: [['a\0', 'Must not contain NUL or broken characters']] },
  trimmedText: { field: f.text().trim(), good: [[' x\n', 'x']], bad: [[null, 'Must be a string']] },
  email: { field: f.email(), good: [[' A@B.co ', 'a@b.co']], bad: [['a@b', 'Must be a valid e-mail address']] },
  url: { field: f.url(), good: [['https://a.co/']], bad: [['ftp://a.co', 'Must be an http:// or https:// URL']] },
  trimmedUrl: { field: f.url().trim(), good: [[' https://a.co ', 'https://a.co']], bad: [[1, 'Must be a string']] },
  number: { field: f.number(), good: [[1.5], [-1e300]], bad: [['1', 'Must be a number']] },
  integer: { field: f.integer(), good: [[2 ** 53 - 1]], bad: [[1.5, WHOLE]] },
  boolean: { field: f.boolean(), good: [[true], [false]], bad: [['true', 'Must be true or false']] },
  date: {
    field: f.date(),
    good: [
      ['2026-01-01', '2026-01-01T00:00:00.000Z'],
      [0, '1970-01-01T00:00:00.000Z'],
    ],
    bad: [['2026-02-30', 'Must be a date: an ISO 8601 string or epoch milliseconds']],
  },
  enum: { field: f.enum(['a', 'b']), good: [['b']], bad: [['c', 'Must be one of: a, b']] },
  id: { field: f.id(), good: [[HEX.toUpperCase(), HEX]], bad: [['x', 'Must be a 24-character hex id']] },
  ref: { field: f.ref('box'), good: [[HEX]], bad: [[`${HEX}0`, 'Must be a 24-character hex id']] },
  array: { field: f.array(f.integer()), good: [[[1, 2]], [[]]], bad: [['x', 'Must be an array']] },
  object: { field: f.object({ a: f.string() }), good: [[{ a: 'x' }], [{}]], bad: [[[], 'Must be an object']] },
  json: {
    field: f.json(),
    good: [[{ a: [1, null] }], ['x'], [0]],
    bad: [['\ud800', 'Must be JSON without NUL or broken characters']],
  },
  min: { field: f.string().min(2), good: [['xx'], ['💚💚']], bad: [[' x ', 'Must be at least 2 characters']] },
  minText: { field: f.text().min(1, 'Write'), good: [[' ']], bad: [['', 'Write']] },
  max: { field: f.text().max(1), good: [['💚']], bad: [['xx', 'Must be at most 1 character']] },
  maxEmail: { field: f.email().max(6, 'Short'), good: [['a@b.co']], bad: [['aa@b.co', 'Short']] },
  minUrl: { field: f.url().min(13, 'Long'), good: [['https://a.co/']], bad: [['https://a.co', 'Long']] },
  minNumber: { field: f.number().min(0.5, 'More'), good: [[0.5]], bad: [[0.4, 'More']] },
  maxNumber: { field: f.number().max(0.5), good: [[0.5]], bad: [[0.6, 'Must be at most 0.5']] },
  minInteger: { field: f.integer().min(-1), good: [[-1]], bad: [[-2, 'Must be at least -1']] },
  maxInteger: { field: f.integer().max(3, 'Less'), good: [[3]], bad: [[4, 'Less']] },
  minDate: {
    field: f.date().min('2026-01-01', 'Later'),
    good: [['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.000Z']],
    bad: [['2025-12-31', 'Later']],
  },
  maxDate: {
    field: f.date().max(new Date(0)),
    good: [[-1, '1969-12-31T23:59:59.999Z']],
    bad: [[1, 'Must be on or before 1970-01-01T00:00:00.000Z']],
  },
  minItems: { field: f.array(f.boolean()).min(1, 'Some'), good: [[[true]]], bad: [[[], 'Some']] },
  maxItems: { field: f.array(f.boolean()).max(1), good: [[[true]]], bad: [[[true, true], 'Must be at most 1 item']] },
  pattern: {
    field: f.string().pattern(/^[a-z]+$/),
    good: [[' ab ', 'ab']],
    bad: [['a1', 'Must be text that matches the required pattern']],
  },
  patternText: { field: f.text().pattern(/^a/g, 'Begin with a'), good: [['ab']], bad: [[' ab', 'Begin with a']] },
  patternEmail: {
    field: f.email().pattern(/@b\.co$/, 'Ours only'),
    good: [['X@B.co', 'x@b.co']],
    bad: [['x@c.co', 'Ours only']],
  },
  patternUrl: { field: f.url().pattern(/^https:/, 'Safe'), good: [['https://a.co']], bad: [['http://a.co', 'Safe']] },
  lowercase: {
    field: f
      .string()
      .lowercase()
      .pattern(/^[a-zà]+$/),
    good: [['ÀB', 'àb']],
    bad: [['1', 'Must be text that matches the required pattern']],
  },
  uppercase: {
    field: f.text().uppercase().max(2),
    good: [['ab', 'AB']],
    bad: [['abc', 'Must be at most 2 characters']],
  },
  required: {
    field: f.string().required('Say it'),
    good: [['x']],
    bad: [
      ['  ', 'Say it'],
      ['', 'Say it'],
      [null, 'Say it'],
    ],
  },
  requiredEnum: {
    field: f.enum(['a']).required('Pick'),
    good: [['a']],
    bad: [
      ['', 'Pick'],
      ['b', 'Must be one of: a'],
    ],
  },
  requiredNumber: {
    field: f.number().required(),
    good: [[0]],
    bad: [
      ['', 'Is required'],
      [null, 'Is required'],
    ],
  },
  requiredBoolean: { field: f.boolean().required('Yes or no'), good: [[false]], bad: [[null, 'Yes or no']] },
  requiredUrl: {
    field: f.url().required(),
    good: [['http://a.co']],
    bad: [
      ['', 'Is required'],
      ['x', 'Must be an http:// or https:// URL'],
    ],
  },
  requiredJson: {
    field: f.json().required(),
    good: [[0], [false], [[]]],
    bad: [
      ['', 'Is required'],
      [null, 'Is required'],
    ],
  },
  check: { field: f.integer().check((n) => n % 2 === 0, 'Even'), good: [[2]], bad: [[1, 'Even']] },
  checkText: { field: f.integer().check((n) => n > 0 || `${n} is too low`), good: [[1]], bad: [[0, '0 is too low']] },
  checkFalse: { field: f.string().check(() => false), good: [], bad: [['x', 'Must be valid']] },
  checkLater: {
    field: f.string().check(async (text) => text === 'x' || 'Not x'),
    good: [['x']],
    bad: [['y', 'Not x']],
  },
  checks: {
    field: f
      .integer()
      .min(1)
      .check((n) => n < 9 || 'Low')
      .check((n) => n % 2 === 0, 'Even'),
    good: [[8]],
    bad: [
      [0, 'Must be at least 1'],
      [10, 'Low'],
      [7, 'Even'],
    ],
  },
};

/** The places of a value in a record: how to declare it, send it and find it there, and the path of its errors. */
const places: Record<string, { of(field: AnyField): AnyField; at(value: unknown): unknown; path: string }> = {
  top: { of: (field) => field, at: (value) => value, path: '' },
  item: { of: (field) => f.array(field), at: (value) => [value], path: '.0' },
  member: { of: (field) => f.object({ m: field }), at: (value) => ({ m: value }), path: '.m' },
  list: { of: (field) => f.array(f.object({ m: field })), at: (value) => [{ m: value }], path: '.0.m' },
  deep: { of: (field) => f.object({ m: f.array(field) }), at: (value) => ({ m: [value] }), path: '.m.0' },
  grid: { of: (field) => f.array(f.array(field)), at: (value) => [[value]], path: '.0.0' },
};

const placed = Object.entries(places).flatMap(([place, { of }]) =>
  Object.entries(cases).map(([name, { field }]): [string, AnyField] => [`${name}_${place}`, of(field).optional()]),
);
const boxes = Object.keys(places).map((place) =>
  defineResource(place === 'top' ? 'box' : `box-${place}`, {
    fields: Object.fromEntries(placed.filter(([name]) => name.endsWith(`_${place}`))),
    policies: { create: 'public', read: 'public', update: 'public' },
  }),
);
const { call } = await startTestApp({ resources: boxes });

/** A value sent in its own field, with the expected outcome. */
interface Sent {
  title: string;
  field: string;
  sent: unknown;
  stored?: unknown;
  path: string;
  message?: string | undefined;
}

/** One record per batch, with one value for each field that has values left: either all are accepted, or all are refused. */
interface Batch {
  title: string;
  url: string;
  values: Sent[];
}

const batches: Batch[] = Object.entries(places).flatMap(([place, { at, path }]) => {
  const url = place === 'top' ? '/api/boxes' : `/api/box-${place}s`;
  const batchesOf = new Map<string, Sent[]>();
  const add = (batch: string, value: Sent) => {
    const values = batchesOf.get(batch);
    if (values === undefined) batchesOf.set(batch, [value]);
    else values.push(value);
  };
  for (const [name, { good, bad }] of Object.entries(cases)) {
    const field = `${name}_${place}`;
    // Where a field may be omitted, null counts as missing. No field at the top level is required here.
    const passes = (sent: unknown) =>
      (sent === null && ['top', 'member', 'list'].includes(place) && !name.startsWith('required')) ||
      (place === 'top' && name.startsWith('required') && (sent === null || String(sent).trim() === ''));
    const one = (sent: unknown, rest: Pick<Sent, 'stored' | 'message'>): Sent => {
      const title = `${field} ${rest.message === undefined ? 'accepts' : 'refuses'} ${JSON.stringify(sent)}`;
      return { title, field, sent: at(sent), path: field + path, ...rest };
    };
    for (const [i, [sent, stored = sent]] of good.entries())
      add(`accepted ${i + 1}`, one(sent, { stored: at(stored) }));
    // Checks run only if every other rule passes.
    const refused =
      name === 'checks'
        ? 'refused by one of several checks'
        : name.startsWith('check')
          ? 'refused by a check'
          : 'refused';
    for (const [i, [sent, message]] of bad.filter(([sent]) => !passes(sent)).entries())
      add(`${refused} ${i + 1}`, one(sent, { message }));
  }
  return [...batchesOf].map(([what, values]) => ({ title: `${place}, ${what}`, url, values }));
});

describe.each(batches)('$title', ({ url, values }) => {
  const body = Object.fromEntries(values.map(({ field, sent }) => [field, sent]));
  let created: ApiResponse;
  let shown: ApiResponse;
  let updated: ApiResponse;
  beforeAll(async () => {
    created = await call('POST', url, body);
    if (created.status !== 201) return;
    shown = await call('GET', `${url}/${created.body.data.id}`);
    updated = await call('PATCH', `${url}/${created.body.data.id}`, body);
  });

  test.each(values)('$title', ({ field, path, stored, message }) => {
    if (message !== undefined) expect([created.status, created.body.error?.details[path]]).toEqual([422, message]);
    else {
      expect([created.status, created.body.data?.[field] ?? created.body.error]).toEqual([201, stored]);
      expect(shown.body.data[field]).toEqual(stored);
      expect(updated.body.data[field]).toEqual(stored);
    }
  });

  test('no other path is refused', () => {
    const refused = values.filter(({ message }) => message !== undefined).map(({ path }) => path);
    expect(Object.keys(created.body.error?.details ?? {}).sort()).toEqual(refused.sort());
  });
});
