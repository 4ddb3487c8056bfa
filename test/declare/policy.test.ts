import { expect, test } from 'vitest';
import {
  allowsEveryRecord,
  allowsNobody,
  allowsOnlyRoles,
  compilePolicy,
  type Policy,
  roleNameError,
} from '../../src/declare/policy.ts';
import { allowsAction } from '../../src/rules/allows-action.ts';

function compiled(policy: Policy) {
  const faults: string[] = [];
  return { ...compilePolicy(policy, (text) => faults.push(text)), faults };
}

const ann = { id: 'a', roles: ['user', 'editor'] };
const args = (user: typeof ann | undefined, doc?: unknown) => ({
  user,
  doc,
  action: 'read',
  req: undefined,
  service: () => {
    throw new Error('not here');
  },
});

test.each([
  ['public', { public: true }],
  ['authenticated', { authenticated: true }],
  ['auth', { authenticated: true }],
  ['user', { authenticated: true }],
  ['owner', { owner: true }],
  ['self', { owner: true }],
  ['none', { public: false, authenticated: false, owner: false, roles: [] }],
  ['nobody', { public: false, authenticated: false, owner: false, roles: [] }],
  ['editor', { roles: ['editor'] }],
  ['role:user', { roles: ['user'], authenticated: false }],
  ['role:owner', { roles: ['owner'], owner: false }],
  [' owner|admin ', { owner: true, roles: ['admin'] }],
  [['owner', 'admin | editor'], { owner: true, roles: ['admin', 'editor'] }],
] as const)('the policy %j means %j', (policy, meaning) => {
  expect(compiled(policy)).toMatchObject({ ...meaning, faults: [] });
});

test.each(['', 'owner |', 'owner & admin', 'admin, editor', 'owner || admin', '!admin', 'role:'])(
  'the policy %j is a configuration error',
  (policy) => {
    expect(compiled(policy).faults.length).toBeGreaterThan(0);
  },
);

test('an empty list is a configuration error', () => {
  expect(compiled([]).faults).toEqual([expect.stringContaining('empty')]);
});

test.each([
  ['public', undefined, false, true],
  ['authenticated', undefined, false, false],
  ['authenticated', ann, false, true],
  ['owner', ann, false, false],
  ['owner', ann, true, true],
  ['owner', undefined, true, false],
  ['admin', ann, true, false],
  ['editor', ann, false, true],
  ['none', ann, true, false],
  ['none | editor', ann, false, true],
] as const)('%j for %j, owner: %j, allows: %j', async (policy, user, owning, verdict) => {
  expect(await allowsAction(compiled(policy), args(user), owning)).toBe(verdict);
});

test('a policy function allows only with true, not with another truthy value', async () => {
  for (const response of [1, 'yes', Promise.resolve('yes')]) {
    expect(
      await allowsAction(
        compiled(() => response as never),
        args(ann),
        true,
      ),
    ).toBe(false);
  }
  expect(
    await allowsAction(
      compiled(async () => true),
      args(undefined),
      false,
    ),
  ).toBe(true);
});

test('a filter that a policy function returns allows nothing where no filter can be applied, and is reported', async () => {
  const errors: unknown[] = [];
  const policy = compiled(() => ({ status: 'open' }));
  expect(await allowsAction(policy, args(ann), true, (error) => errors.push(error))).toBe(false);
  expect(errors.map(String)).toEqual([expect.stringContaining('a policy function returned a filter')]);
});

test('a function is an alternative to tokens: either is enough', async () => {
  const policy = compiled(['admin', ({ doc }) => doc.open]);
  expect(await allowsAction(policy, args(ann, { open: true }), false)).toBe(true);
  expect(await allowsAction(policy, args(ann, { open: false }), false)).toBe(false);
  expect(allowsEveryRecord(policy, ann)).toBe(false);
});

test.each<[Policy, string]>([
  ['owner | admin', 'owner | admin'],
  [['owner', () => true, 'editor'], 'owner | function | editor'],
])('error messages show the policy %j as %j', (policy, text) => {
  expect(compiled(policy).text).toBe(text);
});

test.each<[Policy, { nobody: boolean; forRoles: boolean }]>([
  ['none', { nobody: true, forRoles: false }],
  ['public', { nobody: false, forRoles: false }],
  ['authenticated', { nobody: false, forRoles: false }],
  ['owner', { nobody: false, forRoles: false }],
  ['admin', { nobody: false, forRoles: true }],
  ['admin | editor', { nobody: false, forRoles: true }],
  ['public | admin', { nobody: false, forRoles: false }],
  ['authenticated | admin', { nobody: false, forRoles: false }],
  ['owner | admin', { nobody: false, forRoles: false }],
  [() => true, { nobody: false, forRoles: false }],
  [['admin', () => true], { nobody: false, forRoles: false }],
])('whether the policy %j allows no user at all, or only users with a role: %j', (policy, { nobody, forRoles }) => {
  expect(allowsNobody(compiled(policy))).toBe(nobody);
  expect(allowsOnlyRoles(compiled(policy))).toBe(forRoles);
});

test.each(['user', 'admin', 'editor', 'a', 'night-shift', 'Level_2'])('%j is a valid role', (word) => {
  expect(roleNameError(word)).toBeUndefined();
});

test.each([7, null, undefined, '', '2nd', 'a b', 'a|b', 'role:admin', '-a', 'é'])('%j is not a valid role', (word) => {
  expect(roleNameError(word)).toContain('is not a role');
});

test.each(['public', 'auth', 'owner', 'Nobody', 'SELF'])('%j is a policy keyword and cannot be a role', (word) => {
  expect(roleNameError(word)).toContain('cannot be a role');
});
