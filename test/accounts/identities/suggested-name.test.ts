import { expect, test } from 'vitest';
import { suggestName } from '../../../src/accounts/identities/suggested-name.ts';
import { type AnyResource, defineResource, defineUser, f } from '../../../src/index.ts';

const withName = (name: ReturnType<typeof f.string>) => defineUser({ fields: { name } }) as AnyResource;

test.each<[string, AnyResource, string | undefined, object]>([
  ['that fits', defineUser() as AnyResource, 'Ada', { name: 'Ada' }],
  ['that is too long', withName(f.string().max(5)), 'Ada Lovelace', { name: 'Ada L' }],
  ['that ends with a space once it is short enough', withName(f.string().max(4)), 'Ada Lovelace', { name: 'Ada' }],
  ['of emoji that is too long', withName(f.string().max(2)), '\u{1f600}'.repeat(3), { name: '\u{1f600}'.repeat(2) }],
  ['that is too short', withName(f.string().min(2)), 'a', {}],
  ['that does not match the pattern', withName(f.string().pattern(/^\w+$/)), 'Ada Lovelace', {}],
  ['of white space', withName(f.string()), '  ', {}],
  ['that is missing', defineUser() as AnyResource, undefined, {}],
  [
    'of a user resource without names',
    defineResource('user', { fields: { email: f.email(), password: f.password() } }) as AnyResource,
    'Ada',
    {},
  ],
  [
    'of a user resource with structured names',
    defineUser({ fields: { name: f.object({ first: f.string() }) } }) as AnyResource,
    'Ada',
    {},
  ],
])('a suggested name %s is used, shortened or left out', (_, declaration, text, expected) => {
  expect(suggestName({ declaration }, text)).toEqual(expected);
});
