import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { expect, expectTypeOf, test } from 'vitest';
import type { PageConfig } from '../../../packages/pages/src/sign-in/page-config.ts';
import type { PageConfig as ServedConfig } from '../../../src/extensions/sign-in-pages/page-config.ts';
import {
  defineExtension,
  defineUser,
  emailSignIn,
  emailVerification,
  f,
  invitations,
  oidc,
  organisations,
  passkeys,
  signInPages,
  twoFactor,
} from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const TITLE = `</script><b>"Acme" & 'sons'`;
const user = defineUser({
  fields: {
    plan: f.enum(['free', 'paid']).required(),
    age: f.integer().required(),
    newsletter: f.boolean().required(),
    bio: f.text(),
    source: f.string().required().default('web'),
    grade: f.string().required().writableBy('admin'),
    tags: f.array(f.string()).required(),
  },
});
const full = await startTestApp({
  resources: [user],
  extensions: [
    twoFactor(),
    passkeys(),
    emailVerification(),
    emailSignIn(),
    oidc({ providers: {}, redirectUrls: ['https://app.example.com/auth/callback'] }),
    invitations(),
    organisations(),
    signInPages({
      title: TITLE,
      afterSignIn: '/app?tab=1',
      theme: { accent: '#fde047', radius: 4, background: '#eeeeee', dark: { background: '#000' } },
      stylesheet: '/brand/sign-in.css',
      logo: '/brand/logo.svg',
    }),
  ],
});
const bare = await startTestApp({
  resources: [defineUser()],
  extensions: [signInPages()],
  settings: { auth: { register: false } },
});

const PAGES = [
  ...['sign-in', 'register', 'forgot', 'reset', 'verify', 'change-email', 'undo-email-change', 'email', 'callback'],
  ...['invitation', 'organisation-invitation', 'two-factor', 'account'],
];

/** Returns the status of a request with exactly this path: `fetch` would normalize it. */
async function statusOf(path: string, method = 'GET'): Promise<number | undefined> {
  const { hostname, port } = new URL(full.url);
  const sent = request({ hostname, port, path, method });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

const readPage = async (url: string) => (await fetch(`${url}/auth/sign-in`)).text();

async function readConfig(url: string): Promise<PageConfig> {
  const html = await readPage(url);
  return JSON.parse(/<script type="application\/json" id="config">(.*?)<\/script>/s.exec(html)![1]!);
}

test.each(PAGES)('the page /auth/%s allows nothing inline and no other origin, and is not stored', async (name) => {
  const { status, headers } = await fetch(`${full.url}/auth/${name}`);
  expect(status).toBe(200);
  expect(Object.fromEntries(headers)).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'cross-origin-opener-policy': 'same-origin',
  });
});

test('every asset that the pages load is served with its type, and browsers may keep it', async () => {
  const html = await readPage(full.url);
  const assets = new Set(Array.from(html.matchAll(/\/auth\/assets\/([^"]+)/g), ([, name]) => name!));
  // A set goes on with what is added meanwhile: the files that a script imports.
  for (const name of assets) {
    const response = await fetch(`${full.url}/auth/assets/${name}`);
    const type = name.endsWith('.css') ? 'text/css' : 'text/javascript';
    expect([response.status, response.headers.get('content-type')], name).toEqual([200, `${type}; charset=utf-8`]);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(response.headers.get('cache-control')).toBe(
      name === 'reload.js' ? 'public, max-age=86400' : 'public, max-age=31536000, immutable',
    );
    for (const [, imported] of (await response.text()).matchAll(/"\.\/([\w-]+\.js)"/g)) assets.add(imported!);
  }
  expect(assets.size).toBeGreaterThan(15);
});

test.each([
  '/auth/assets/index.html',
  '/auth/assets/manifest.json',
  '/auth/assets/main.js',
  '/auth/assets/',
  '/auth/assets/../page-files.ts',
  '/auth/assets/..%2fpage-files.ts',
  '/auth/assets/%2e%2e/page-files.ts',
  '/auth/assets/..%5cpage-files.ts',
  '/auth/assets/main.js%00.css',
  '/auth/assets//etc/passwd',
  '/auth/assets/__proto__',
  '/auth/unknown',
  '/auth/sign-in/more',
])('%s is not found', async (path) => {
  expect(await statusOf(path)).toBe(404);
});

test.each(['POST', 'PUT', 'DELETE'])(
  '%s is refused, so that a form without script sends no password',
  async (method) => {
    expect(await statusOf('/auth/sign-in', method)).toBe(405);
  },
);

test('/auth leads to the account', async () => {
  const response = await fetch(`${full.url}/auth`, { redirect: 'manual' });
  expect([response.status, response.headers.get('location')]).toEqual([302, '/auth/account']);
});

test('the settings appear in the page as text, and never as markup', async () => {
  const html = await readPage(full.url);
  expect(html).not.toContain('<b>');
  expect(html).toContain('<title>&lt;/script&gt;&lt;b&gt;&quot;Acme&quot; &amp; &#39;sons&#39;</title>');
  expect(html).toContain('<img src="/brand/logo.svg"');
  expect(html.indexOf('/brand/sign-in.css')).toBeGreaterThan(html.lastIndexOf('/auth/assets/'));
  expect(html.match(/<script/g)).toHaveLength(3);
  expect(html).not.toMatch(/<style|\sstyle=|\son\w+=/);
  expect(await readConfig(full.url)).toMatchObject({ title: TITLE, afterSignIn: '/app?tab=1' });
});

test('the pages know the features that the app has, and the fields that a registration needs', async () => {
  const { features, registration } = await readConfig(full.url);
  expect(features.toSorted()).toEqual([
    ...['emailChange', 'emailSignIn', 'emailVerification', 'invitations', 'organisationInvitations', 'passkeys'],
    ...['password', 'providers', 'register', 'reset', 'twoFactor'],
  ]);
  expect(registration).toEqual({
    fields: [
      { name: 'name', type: 'text', required: true },
      { name: 'plan', type: 'select', required: true, values: ['free', 'paid'] },
      { name: 'age', type: 'number', required: true },
      { name: 'newsletter', type: 'checkbox', required: false },
    ],
    passwordRequired: true,
  });
});

test('pages of features that the app does not have are not found', async () => {
  const { features } = await readConfig(bare.url);
  expect(features.toSorted()).toEqual(['password', 'reset']);
  const statuses = await Promise.all(PAGES.map(async (name) => (await fetch(`${bare.url}/auth/${name}`)).status));
  const found = PAGES.filter((_, i) => statuses[i] === 200);
  expect(found).toEqual(['sign-in', 'forgot', 'reset', 'account']);
  expect(statuses.filter((status) => status !== 200 && status !== 404)).toEqual([]);
});

test('without the extension there are no pages', async () => {
  const other = defineExtension({ name: 'other', setup: () => ({}) });
  const { url } = await startTestApp({ resources: [defineUser()], extensions: [other] });
  expect((await fetch(`${url}/auth/sign-in`)).status).toBe(404);
});

test('the theme becomes custom properties, with a text on the accent that is readable', async () => {
  const [path] = /\/auth\/assets\/settings-\w+\.css/.exec(await readPage(full.url))!;
  const css = await (await fetch(full.url + path)).text();
  expect(css.replaceAll(/\s+/g, ' ').trim()).toBe(
    ':root { --light-accent: #fde047; --light-accent-text: #000000; --light-background: #eeeeee; ' +
      '--dark-accent: #fde047; --dark-accent-text: #000000; --dark-background: #000; --radius: 4px; }',
  );
  expect(await readPage(bare.url)).not.toContain('/auth/assets/settings-');
});

test('the scripts of the pages know the configuration by its type', () => {
  expectTypeOf<ServedConfig>().toEqualTypeOf<PageConfig>();
});
