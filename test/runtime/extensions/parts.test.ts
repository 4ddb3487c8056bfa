import { expect, test } from 'vitest';
import type { FeatureParts } from '../../../src/extension/index.ts';
import { createApp, defineExtension, defineUser } from '../../../src/index.ts';
import { getStartupError } from '../../support/startup-error.ts';

const bringing = (name: string, parts: unknown) => defineExtension({ name, setup: () => parts as FeatureParts });

const configErrorsOf = (...extensions: unknown[]) =>
  getStartupError({ resources: [defineUser()], extensions: extensions as never })
    .split('\n')
    .slice(1);

const env = { NODE_ENV: 'test', DATABASE_URL: 'postgres://localhost/none', REDIS_URL: 'redis://localhost' };
const app = createApp({ resources: [defineUser()] }, env);

test.each([...Object.keys(app), 'then', 'toString', 'constructor', '__proto__'])(
  'an extension whose api would replace app.%s is refused',
  (name) => {
    expect(configErrorsOf(bringing(name, { api: { mine: 1 } }))).toEqual([
      `  - extension "${name}": its api would replace app.${name}. Rename the extension`,
    ]);
    expect(configErrorsOf(bringing(name, {}))).toEqual([]);
  },
);

const hello = async () => undefined;

test('two e-mail builders for the same kind of e-mail are refused by name', () => {
  const one = bringing('one', { mails: { hello } });
  const two = bringing('two', { mails: { hello, 'password-reset': hello } });
  expect(configErrorsOf(one, two)).toEqual([
    '  - extension "two": mail "hello": extension "one" already defines it. Rename one',
    '  - extension "two": mail "password-reset": Belfry already defines it. Rename one',
  ]);
});

test.each([
  ['nothing', undefined],
  ['null', null],
  ['a list', []],
  ['a promise', Promise.resolve({})],
])('an extension whose setup returns %s is refused, together with the errors of other extensions', (_what, given) => {
  expect(configErrorsOf(bringing('one', given), bringing('push', { api: {} }))).toEqual([
    '  - extension "one": setup(host) must return an object with its parts, not a promise',
    '  - extension "push": its api would replace app.push. Rename the extension',
  ]);
});

test('a value that is not an extension is refused by its position and type, and the value itself is not printed', () => {
  expect(configErrorsOf(null, bringing('one', {}), undefined, 'S3CRET')).toEqual([
    '  - extensions[0]: must be an extension created with defineExtension, not null',
    '  - extensions[2]: must be an extension created with defineExtension, not undefined',
    '  - extensions[3]: must be an extension created with defineExtension, not a string',
  ]);
  expect(configErrorsOf({})).toEqual(['  - extension "undefined": needs a name and a function setup(host)']);
});
