import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { defineResource, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { scaleRuns } from '../../support/vitest/fuzz-runs.ts';

const page = defineResource('page', {
  fields: { link: f.url().required(), short: f.url().max(30), shouted: f.url().uppercase() },
  policies: { create: 'public' },
});
const { app, call } = await startTestApp({ resources: [page] });

// biome-ignore format: one line per kind
const URL_PIECES = [
  'http', 'https', 'HTTPS', 'ftp', ':', '/', '//', '\\', '@', 'user', 'e.org', 'é.org', '[::1]', '[', ']', '127.1', 'xn--', '💚',
  ':80', ':99999', '?', '#', '%', '%zz', '{x}', '|', '^', '<', '"', ' ', '\t', '\n', '\u00a0', 'x', '..',
];

async function sendLink(values: object): Promise<{ link?: string; details?: Record<string, string> }> {
  const { body } = await call('POST', '/api/pages', values);
  return body.data ?? { details: body.error.details };
}

test('a URL is accepted exactly if the WHATWG parser accepts it as http or https and its host can exist', async () => {
  const piece = fc.constantFrom(...URL_PIECES);
  const text = fc.tuple(
    fc.constantFrom('http://', 'https://', 'https:', 'https:/', 'https:\\\\', ''),
    fc.array(piece, { maxLength: 6 }),
  );
  const property = fc.asyncProperty(text, async ([scheme, pieces]) => {
    const sent = scheme + pieces.join('');
    const { protocol = '', hostname = '' } = URL.parse(sent.trim()) ?? {};
    const hasEmptyLabel = hostname.replace(/\.$/, '').split('.').includes('');
    const isWebUrl = /^https?:$/.test(protocol) && !hasEmptyLabel;
    const { link, details } = await sendLink({ link: sent });
    if (!isWebUrl) expect(details).toMatchObject({ link: expect.stringMatching(/^(Must be|Is required)/) });
    // Every reader of the stored value sees the same address as the sender.
    else expect(URL.parse(link!)!.href).toBe(URL.parse(sent.trim())!.href);
  });
  await fc.assert(property, { numRuns: scaleRuns(300) });
});

const label = (length: number) => 'b'.repeat(length);
const host = (length: number) => `${label(63)}.${label(63)}.${label(63)}.${label(length - 192)}`;

test.each([
  'https://a..b.com',
  'https://.b.com/path',
  'https://b.com..',
  'https://./',
  'http:\\\\a..b.com',
  'https://a\u3002\u3002b.com',
  'https://user:secret@a..b.com:8443/path?x#y',
  `https://${label(64)}.com`,
  `https://b.${label(64)}`,
  `https://${host(254)}/`,
])('%s is refused, because its host cannot exist', async (link) => {
  expect(await sendLink({ link })).toEqual({ details: { link: 'Must be an http:// or https:// URL' } });
});

test.each([
  'https://b.com./path',
  'https://b.com/a..b',
  'https://b.com?a..b',
  'https://my_app.b.com',
  'http://localhost:8080',
  'http://[::ffff:1.2.3.4]/',
  `https://${label(63)}.com`,
  `https://${host(253)}/`,
  `https://b.com/${label(64)}`,
])('%s is accepted', async (link) => {
  expect((await sendLink({ link })).link).toBe(link);
});

describe('long URLs', () => {
  const long = 'x'.repeat(500_000);

  test.each([
    ['path', `https://example.org/${long}`],
    ['query', `https://example.org?${long}`],
    ['fragment', `https://example.org#${long}`],
  ])('a URL with a long %s is stored as sent', async (_, link) => {
    expect((await sendLink({ link })).link).toBe(link);
  });

  test('user name, password, host and port have at most 8,192 characters together', async () => {
    const url = (length: number) => `https://u:${'p'.repeat(length - 'u:@e.org'.length)}@e.org`;
    expect((await sendLink({ link: `${url(8192)}/path` })).link).toBe(`${url(8192)}/path`);
    expect(await sendLink({ link: `${url(8193)}/path` })).toEqual({
      details: { link: 'Must be an http:// or https:// URL' },
    });
  });

  // The conversion is quadratic in the length, so a few kilobytes would take seconds.
  test.each([
    ['in Unicode', (length: number) => 'ж'.repeat(length)],
    ['in punycode', (length: number) => `xn--${'a'.repeat(length - 4)}`],
  ])(
    'an international host name has at most 63 characters between dots and 260 with its port: %s',
    async (_, label) => {
      const accepted = [
        `https://${label(50)}.org`,
        `https:\\\\${label(50)}.org`,
        `https://${`${label(50)}.`.repeat(4)}org`,
      ];
      const refused = [
        `https://${label(64)}.org`,
        `https:\\\\${label(64)}.org`,
        `https://${`${label(50)}.`.repeat(6)}org`,
      ];
      for (const link of accepted)
        expect(URL.canParse(link) ? await sendLink({ link }) : {}).not.toHaveProperty('details');
      for (const link of refused) expect(await sendLink({ link })).toHaveProperty('details.link');
    },
  );

  test('a URL over its declared maximum reports only that error', async () => {
    const link = 'https://example.org';
    for (const short of [`https://e.org/${long}`, `https:\\\\e.org\\${long}`, long]) {
      expect(await sendLink({ link, short })).toEqual({ details: { short: 'Must be at most 30 characters' } });
    }
  });
});

test.each(['http://example.com /path', 'http://example.com:80 ?x', 'http://u@h #f'])(
  'a host followed by white space is refused: %s',
  async (link) => {
    expect(URL.canParse(link)).toBe(false);
    expect(await sendLink({ link })).toHaveProperty('details.link');
  },
);

test('an unusual URL form is stored in the declared case', async () => {
  const { id } = await app.service('page').create({ link: 'https://e.org', shouted: 'https:\\\\e.org\\a' });
  expect(await app.service('page').read(id)).toMatchObject({ shouted: 'HTTPS://E.ORG/A' });
});
