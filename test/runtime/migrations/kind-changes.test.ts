import { expect, test } from 'vitest';
import type { AnyField } from '../../../src/declare/field.ts';
import { f } from '../../../src/index.ts';
import { post, valuesOf, withValues } from './changing-field.ts';

test.each([
  ['string to enum', f.string(), f.enum(['a']), 'becomes enum', ['a', 'x', 'y'], '; 2 rows have other values'],
  [
    'a narrower enum',
    f.enum(['a', 'x']),
    f.enum(['a']),
    'no longer allows "x"',
    ['a', 'x'],
    '; 1 row has another value',
  ],
  [
    'a narrower enum in arrays',
    f.array(f.enum(['a', 'x'])),
    f.array(f.enum(['a'])),
    'no longer allows "x"',
    [['a'], ['a', 'x']],
    '; 1 row has another value',
  ],
  ['an enum that fits', f.string(), f.enum(['a']), 'becomes enum', ['a'], '; every existing value is allowed'],
  ['string to email', f.string(), f.email(), 'becomes email', ['x'], ''],
  ['string to url', f.string(), f.url(), 'becomes url', ['x'], ''],
  ['an encrypted enum', f.enum(['a', 'x']).encrypted(), f.enum(['a']).encrypted(), 'no longer allows "x"', ['x'], ''],
] as [string, AnyField, AnyField, string, unknown[], string][])(
  '%s, with no other change, is noted in one migration, and --check reports it until then',
  async (_what, from, to, noteText, values, counted) => {
    const project = await withValues(from, values);
    const check = await project.generate([post(to)], '--check');
    expect(check.ok).toBe(false);
    expect(check.lines[1]).toContain(noteText);
    const { ok, lines } = await project.generate([post(to)]);
    expect(ok).toBe(true);
    expect(lines).toContain(`Note: posts.v ${noteText}: existing values are kept without a check${counted}.`);
    await project.apply();
    expect((await project.generate([post(to)], '--check')).ok).toBe(true);
  },
);

test.each([
  ['string to integer, encrypted', f.string().encrypted(), f.integer().encrypted(), 'encrypted values', 'x', false],
  [
    'array to string, encrypted',
    f.array(f.string()).encrypted(),
    f.string().encrypted(),
    'encrypted values',
    ['x'],
    false,
  ],
  ['json to object', f.json(), f.object({ a: f.string() }), 'values', { a: 'x' }, true],
  [
    'object to array of object',
    f.object({ a: f.string() }),
    f.array(f.object({ a: f.string() })),
    'values',
    { a: 'x' },
    true,
  ],
] as [string, AnyField, AnyField, string, unknown, boolean][])(
  'a change of %s, which does not affect the database schema, is refused',
  async (_what, from, to, what, value, bySql) => {
    const project = await withValues(from, [value]);
    const { ok, lines } = await project.generate([post(to)], '--check');
    expect(ok).toBe(false);
    expect(lines[1]).toMatch(
      new RegExp(`^  - posts.v: its ${what} are stored as .*, and post.v would return them unchanged as `),
    );
    expect(lines.some((line) => line.includes('if the values fit as they are: '))).toBe(bySql);
    const forced = await project.generate([post(to)], '--using', 'posts.v=v').catch(() => ({ ok: false }));
    expect(forced.ok).toBe(bySql);
  },
);

test.each([
  ['integer to number, encrypted', f.integer().encrypted(), f.number().encrypted(), 7],
  ['string to json, encrypted', f.string().encrypted(), f.json().encrypted(), 'x'],
  ['object to json', f.object({ a: f.string() }), f.json(), { a: 'x' }],
] as [string, AnyField, AnyField, unknown][])('%s needs no migration and no note', async (_what, from, to, value) => {
  const project = await withValues(from, [value]);
  expect((await project.generate([post(to)])).ok).toBe(true);
  expect(await valuesOf(project, to)).toEqual([value, undefined]);
});
