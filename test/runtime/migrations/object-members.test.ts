import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { AnyField } from '../../../src/declare/field.ts';
import { f } from '../../../src/index.ts';
import type { DeclaredColumn } from '../../../src/runtime/migrations/plan/declared.ts';
import { describeMembers } from '../../../src/runtime/migrations/plan/members.ts';
import { describeUncheckedMembers } from '../../../src/runtime/migrations/plan/stored-values.ts';
import { post, withValues } from './changing-field.ts';

const before = f.object({
  city: f.string(),
  zip: f.string().required(),
  kind: f.enum(['home', 'work']),
  deep: f.object({ floor: f.integer() }),
  tags: f.array(f.enum(['a', 'b'])),
});
const { shape } = before.spec as { shape: Record<string, AnyField> };
const { city: _gone, ...rest } = shape;

function noteOf(from: AnyField, to: AnyField): string | undefined {
  const now = { members: describeMembers(to.spec) } as DeclaredColumn;
  return describeUncheckedMembers('posts.v', { kind: 'object', members: describeMembers(from.spec)! }, now);
}

test.each<[string, AnyField, string]>([
  ['a removed member', f.object(rest), '"city" is no longer a member'],
  ['a member that becomes required', f.object({ ...shape, city: f.string().required() }), '"city" is required now'],
  ['a new required member', f.object({ ...shape, street: f.text().required() }), '"street" is a new required member'],
  ['a member of another type', f.object({ ...shape, zip: f.integer().required() }), '"zip" was string and is integer'],
  ['a stricter member', f.object({ ...shape, city: f.email() }), '"city" was string and is email'],
  ['a narrower enum', f.object({ ...shape, kind: f.enum(['home']) }), '"kind" no longer allows "work"'],
  ['a narrower enum in an array', f.object({ ...shape, tags: f.array(f.enum(['a'])) }), '"tags" no longer allows "b"'],
  [
    'a removed member of a nested object',
    f.object({ ...shape, deep: f.object({ door: f.text() }) }),
    '"deep.floor" is no longer a member',
  ],
  [
    'several changes',
    f.object({ ...rest, zip: f.boolean() }),
    '"city" is no longer a member, "zip" was string and is boolean',
  ],
])('an object that no longer accepts all stored values gets a note: %s', (_what, to, noteText) => {
  const note = `posts.v: ${noteText}: existing values are kept without a check`;
  for (const wrap of [(field: AnyField) => field, (field: AnyField) => f.array(field)]) {
    expect(noteOf(wrap(before), wrap(to))).toBe(note);
  }
});

test.each<[string, AnyField]>([
  ['a new member', f.object({ ...shape, street: f.text() })],
  ['a new required member with a default', f.object({ ...shape, floor: f.integer().required().default(0) })],
  ['a member that becomes optional', f.object({ ...shape, zip: f.string() })],
  ['a wider type', f.object({ ...shape, zip: f.text().required(), deep: f.object({ floor: f.number() }) })],
  ['a wider enum', f.object({ ...shape, kind: f.enum(['home', 'work', 'other']) })],
])('an object that still accepts all stored values gets no note: %s', (_what, to) => {
  expect(noteOf(before, to)).toBeUndefined();
});

test('no note is written for objects whose members were not recorded', () => {
  const now = { members: describeMembers(f.object(rest).spec) } as DeclaredColumn;
  expect(describeUncheckedMembers('posts.v', { kind: 'object' }, now)).toBeUndefined();
});

test('the note appears once, in a migration without statements', async () => {
  const to = f.array(f.object(rest));
  const project = await withValues(f.array(before), [[{ city: 'Bern', zip: '3000' }]]);
  expect((await project.generate([post(to)], '--check')).lines[1]).toContain('"city" is no longer a member');
  const { ok, lines } = await project.generate([post(to)], 'members');
  const note = noteOf(f.array(before), to);
  expect([ok, lines.includes(`Note: ${note}.`)]).toEqual([true, true]);
  expect(readFileSync(join(project.folder, '0001_members.sql'), 'utf8')).toContain(`--   ${note}\n`);
  await project.apply();
  expect((await project.generate([post(to)], '--check')).ok).toBe(true);
});
