import { describe, expect, test } from 'vitest';
import { safePath } from '../../../packages/pages/src/sign-in/safe-path.ts';
import { defineUser, signInPages } from '../../../src/index.ts';
import { getStartupError } from '../../support/startup-error.ts';

const errorOf = (options: unknown) =>
  getStartupError({ resources: [defineUser()], extensions: [signInPages(options as never)] });

const NOT_PATHS = [
  '//evil.example',
  '/\\evil.example',
  '/\t/evil.example',
  '/.//evil.example',
  '/a/..//evil.example',
  'https://evil.example',
  'javascript:alert(1)',
  'data:text/html,x',
  'app',
  '',
  '/a" onload="x',
  "/a');x{}",
  '/a b',
  '/a>b',
];

test.each(NOT_PATHS)('afterSignIn, stylesheet and logo refuse %j, which is not a path of this server', (path) => {
  for (const name of ['afterSignIn', 'stylesheet', 'logo'])
    expect(errorOf({ [name]: path })).toContain(`signInPages.${name}: must be a path of this server`);
});

const NOT_COLORS = [
  'red',
  '#12',
  '#12345',
  '#1234567',
  '#fff;}',
  '#fff\n',
  'url(x)',
  '#ggg',
  'rgb(0,0,0)',
  'var(--x)',
  5,
];

test.each(NOT_COLORS)('the theme refuses the colour %j, so that it can contain no CSS', (color) => {
  for (const theme of [{ accent: color }, { dark: { text: color } }])
    expect(errorOf({ theme })).toContain('must be a colour in hex, such as #1e66f5');
});

test.each([-1, 33, Number.NaN, Number.POSITIVE_INFINITY, '4px'])('the theme refuses the radius %j', (radius) => {
  expect(errorOf({ theme: { radius } })).toContain('must be a number of pixels from 0 to 32');
});

test.each([
  [{ them: {} }, 'signInPages.them: there is no such setting'],
  [{ theme: { acent: '#fff' } }, 'signInPages.theme.acent: there is no such setting'],
  [{ path: '/login' }, 'signInPages.path: there is no such setting'],
  [{ title: ' ' }, 'signInPages.title: must be a text of 1 to 100 characters'],
])('the settings %j are refused', (options, message) => {
  expect(errorOf(options)).toContain(message);
});

test('an app without accounts cannot have the pages', () => {
  expect(getStartupError({ resources: [], extensions: [signInPages()] })).toContain('it needs accounts');
});

describe('the page after the sign-in', () => {
  const ORIGIN = 'https://app.example.com';

  test.each([
    ...[
      '//evil.example',
      '///evil.example',
      '/\\evil.example',
      '\\\\evil.example',
      '/\\/evil.example',
      '\\/evil.example',
    ],
    ...['/\t/evil.example', '/\n/evil.example', '\t//evil.example', ' //evil.example', '/\u0000/evil.example'],
    ...[
      'https://evil.example',
      'HTTPS://evil.example',
      'https:evil.example',
      'https:/evil.example',
      'http:/\\evil.example',
    ],
    ...[
      'javascript:alert(1)',
      'JaVaScRiPt:alert(1)',
      'java\nscript:alert(1)',
      'data:text/html,x',
      'vbscript:x',
      'blob:x',
    ],
    ...['/.//evil.example', '/./\\evil.example', '/a/..//evil.example', '/..//evil.example', '/%2e//evil.example'],
    ...['/%2Fevil.example', '/%2f%2fevil.example', '/%5Cevil.example', '%2F%2Fevil.example', '/%09/evil.example'],
    ...['/%0d%0aSet-Cookie:x', '/%', '/%ff', 'evil.example', './evil', '?x', '#x', '@evil.example', ':80', ''],
    ...['https://app.example.com@evil.example', 'https://app.example.com.evil.example/', `/${'a'.repeat(3000)}`],
    ...[undefined, null, 5, {}, ['/a']],
  ])('is not %j', (value) => {
    expect(safePath(value, ORIGIN)).toBeUndefined();
  });

  test.each([
    ['/', '/'],
    ['/app', '/app'],
    ['/app/../other', '/other'],
    ['/app?q=https://example.com//x#part', '/app?q=https://example.com//x#part'],
    ['/auth/account', '/auth/account'],
    ['/a%20b', '/a%20b'],
    ['/caf%C3%A9', '/caf%C3%A9'],
    ['/user@example.com:80', '/user@example.com:80'],
  ])('may be %j', (value, expected) => {
    expect(safePath(value, ORIGIN)).toBe(expected);
  });
});
