import { expect, test } from 'vitest';
import { access, policies } from './pages.ts';

test('a policy is described in words, and the owner of a record that does not exist yet is any user', () => {
  const { policyInWords } = policies;
  expect(policyInWords('public')).toBe('Everyone, also without a sign-in');
  expect(policyInWords('owner | admin')).toBe('The owner of the record, or users with the role admin');
  expect(policyInWords('owner | admin', 'create')).toBe(
    'Any signed-in user, who becomes the owner, or users with the role admin',
  );
  expect(policyInWords('self | auth')).toBe('The owner of the record, or any signed-in user');
  expect(policyInWords('org:agent | function')).toBe(
    'Members of the record’s organisation with the role agent, or viewers that a function of the app allows',
  );
  expect(policyInWords('none')).toBe('Nobody');
});

const rule = { allows: [], owner: false, roles: [], organisationRoles: [], hasFunction: false };

test('what a role may do follows from the rule, and functions are never presented as an answer', () => {
  const { accessOf } = access;
  expect(accessOf(undefined, 'admin')).toBe('missing');
  expect(accessOf({ ...rule, allows: ['public'] }, 'visitor')).toBe('yes');
  expect(accessOf({ ...rule, allows: ['authenticated'] }, 'visitor')).toBe('no');
  expect(accessOf({ ...rule, allows: ['authenticated'] }, 'support')).toBe('yes');
  expect(accessOf({ ...rule, roles: ['support'] }, 'support')).toBe('yes');
  expect(accessOf({ ...rule, roles: ['support'] }, 'signed-in')).toBe('no');
  expect(accessOf({ ...rule, owner: true }, 'support', 'read')).toBe('own');
  expect(accessOf({ ...rule, owner: true }, 'support', 'create')).toBe('yes');
  expect(accessOf({ ...rule, owner: true }, 'visitor', 'create')).toBe('no');
  expect(accessOf({ ...rule, allows: ['verified'] }, 'signed-in')).toBe('verified');
  expect(accessOf({ ...rule, hasFunction: true }, 'visitor')).toBe('function');
});

test('roles in organisations allow nothing to a visitor, and functions are not counted as allowed', () => {
  const { accessOf, accessInWords } = access;
  const member = { ...rule, organisationRoles: ['agent'] };
  expect(accessOf(member, 'visitor', 'create')).toBe('no');
  expect(accessOf(member, 'signed-in', 'create')).toBe('member');
  const resources = [
    { access: { list: { ...rule, hasFunction: true }, read: member } },
    { access: { list: { ...rule, hasFunction: true }, read: { ...rule, allows: ['public'] } } },
  ];
  expect(accessInWords(resources, 'visitor')).toBe(
    'list 0 (a function decides for 2), read 1, create 0, update 0, delete 0',
  );
  expect(accessInWords(resources, 'support')).toBe(
    'list 0 (a function decides for 2), read 2, create 0, update 0, delete 0',
  );
});

test('rate limits are described with their window', () => {
  const { rateText } = policies;
  expect(rateText({ limit: 300, windowMs: 60_000 })).toBe('300 requests per minute');
  expect(rateText({ limit: 10, windowMs: 900_000 })).toBe('10 requests per 15 minutes');
  expect(rateText({ limit: 1, windowMs: 1500 })).toBe('1 request per 1500 ms');
});
