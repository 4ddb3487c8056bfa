import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkUrl } from '../../../../src/platform/http/address-guard/index.ts';
import table from '../../../data/addresses.json' with { type: 'json' };
import { anyCharacter, anyUrl } from '../../../support/any-text.ts';

function check(url: string, { allowPrivate = false, requireHttps = false } = {}): string {
  const result = checkUrl(url, { allowPrivate, requireHttps });
  return result.ok ? 'ok' : result.reason;
}

describe('when only public hosts are allowed', () => {
  test.each(table.urls)('$url: $result', ({ url, result }) => {
    expect(check(url)).toBe(result === 'resolve' ? 'ok' : result.replace('reject:', ''));
  });

  test.each([
    ['https://example.com/hook?a=b', 'ok'],
    ['https://8.8.8.8/', 'ok'],
    ['https://[2606:4700:4700::1111]/', 'ok'],
    ['https://example.com./', 'ok'],
    ['https://a.example.com./', 'ok'],
    ['https://bücher.example.org/', 'ok'],
    ['https://under_score.example.com/', 'ok'],
    ['https://localhost.example.com/', 'ok'],
    ['https://notlocal/', 'host'],
    ['https://printer.local/', 'host'],
    ['https://localhost./', 'host'],
    ['https://router.home.arpa./', 'host'],
    ['https://a..example.com/', 'host'],
    ['https://-a.example.com/', 'host'],
    ['https://a!b.example.com/', 'host'],
    [`https://${'a'.repeat(64)}.example.com/`, 'host'],
    [`https://${'a.'.repeat(130)}com/`, 'host'],
    ['https://user@example.com/', 'userinfo'],
    ['https://ex%61mple.com/', 'encoded'],
    ['https:ex%61mple.com', 'encoded'],
    ['https:/\\%65xample.com?a', 'encoded'],
    ['https:/\t/example%2ecom#a', 'encoded'],
    ['https://127%2e0.0.1/', 'encoded'],
    ['https://example.com/%61?%61#%61', 'ok'],
    ['https://example.com?%61', 'ok'],
    ['https://example.com:0/', 'port'],
    ['https://example.com:00', 'port'],
    ['https://8.8.8.8:0/', 'port'],
    ['https://example.com:1/', 'ok'],
    ['https://:pass@example.com/', 'userinfo'],
    ['https://example.com/\n', 'invalid'],
    ['\nhttps://example.com/', 'invalid'],
    ['https://example.com/\x1f', 'invalid'],
    ['https://example.com/a\x7fb', 'invalid'],
    ['https://example.com/a\x80b', 'ok'],
    ['https://exam\tple.com/', 'invalid'],
    ['https://example.com/\u0000', 'invalid'],
    ['', 'invalid'],
    ['example.com', 'invalid'],
    ['//example.com/', 'invalid'],
    ['ftp://example.com/', 'scheme'],
    ['ws://example.com/', 'scheme'],
    ['data:text/plain,x', 'scheme'],
  ])('%j: %s', (url, expected) => {
    expect(check(url)).toBe(expected);
  });
});

describe('when private hosts are allowed', () => {
  test.each([
    ['http://localhost:3000/', 'ok'],
    ['http://127.0.0.1:3000/', 'ok'],
    ['http://[::1]:3000/', 'ok'],
    ['http://receiver/', 'ok'],
    ['http://receiver.internal/', 'ok'],
    ['http://./', 'host'],
    ['http://127.0.0.1../', 'host'],
    ['http://user@localhost/', 'userinfo'],
    ['http://localhost/\n', 'invalid'],
    ['http://localhost:0/', 'port'],
    ['http://%6cocalhost/', 'encoded'],
    ['http://256.256.256.256/', 'invalid'],
    ['file:///etc/passwd', 'scheme'],
  ])('%s: %s', (url, expected) => {
    expect(check(url, { allowPrivate: true })).toBe(expected);
  });
});

test.each([
  ['http://example.com/', 'https'],
  ['https://example.com/', 'ok'],
  ['HTTPS://example.com/', 'ok'],
  ['ftp://example.com/', 'scheme'],
])('when https is required: %s: %s', (url, expected) => {
  expect(check(url, { requireHttps: true })).toBe(expected);
});

test('the result carries the parsed URL', () => {
  const result = checkUrl('https://EXAMPLE.com:443/a', { allowPrivate: false, requireHttps: true });
  expect(result).toEqual({ ok: true, url: new URL('https://example.com/a') });
});

test('any text yields a verdict, and only http(s) URLs without a user name are accepted', () => {
  const text = fc.oneof(
    fc.string({ unit: anyCharacter }),
    anyUrl,
    anyUrl.map((one) => one.replace('//', '//u@')),
  );
  fc.assert(
    fc.property(text, fc.boolean(), (given, allowPrivate) => {
      const result = checkUrl(given, { allowPrivate, requireHttps: false });
      if (result.ok) expect(result.url.href).toMatch(/^https?:\/\/[^@/]+\//);
    }),
  );
});
