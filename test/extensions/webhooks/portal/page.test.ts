import { expect, test } from 'vitest';
import { defineUser, webhooks } from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';
import { getStartupError } from '../../../support/startup-error.ts';

const start = (portal: NonNullable<Parameters<typeof webhooks>[0]>['portal']) =>
  startTestApp({ resources: [defineUser()], extensions: [webhooks({ portal })] });

const embedded = await start({
  frameAncestors: ['https://app.example.com', 'http://localhost:3000'],
  title: '<Acme> & "Co"',
  logo: '/brand/logo.svg',
  stylesheet: '/brand/portal.css',
  colors: { accent: '#abc', background: '#101010', dark: { text: '#fefefe' } },
});
const plain = await start(true);
const off = await start(false);

const policyOf = (response: Response) => response.headers.get('content-security-policy') ?? '';

test('the page may be framed by the named origins only, and by none without the setting', async () => {
  const [one, other] = await Promise.all([embedded, plain].map(({ url }) => fetch(`${url}/webhooks/portal`)));
  expect(policyOf(one!)).toContain('frame-ancestors https://app.example.com http://localhost:3000;');
  expect(policyOf(other!)).toContain("frame-ancestors 'none';");
});

test('the page runs no inline code, loads nothing from elsewhere, sends no Referer and sets no cookie', async () => {
  const response = await fetch(`${embedded.url}/webhooks/portal`);
  const policy = policyOf(response);
  for (const rule of [
    "default-src 'none'",
    "style-src 'self'",
    "connect-src 'self'",
    "form-action 'none'",
    "script-src 'self';",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ])
    expect(policy).toContain(rule);
  expect(policy).not.toContain('unsafe');
  expect(response.headers.get('referrer-policy')).toBe('no-referrer');
  expect(response.headers.get('set-cookie')).toBeNull();
});

test('title, logo, stylesheet and colours appear on the page as text, never as code', async () => {
  const html = await (await fetch(`${embedded.url}/webhooks/portal`)).text();
  expect(html).toContain('&lt;Acme&gt; &amp; &quot;Co&quot;');
  expect(html).toContain('<img src="/brand/logo.svg" alt="">');
  expect(html).toContain('<link rel="stylesheet" href="/brand/portal.css">');
  const [path] = /\/webhooks\/portal\/assets\/settings-\w+\.css/.exec(html)!;
  const css = await (await fetch(`${embedded.url}${path}`)).text();
  expect(css).toContain('--light-accent: #abc;');
  expect(css).toContain('--light-accent-text: #000000;');
  expect(css).toContain('--dark-accent: #abc;');
  expect(css).toContain('--dark-text: #fefefe;');
  expect(css).not.toContain('--dark-background');
});

test('every file that the page names is served, and stays in the cache', async () => {
  const html = await (await fetch(`${embedded.url}/webhooks/portal`)).text();
  const paths = [...html.matchAll(/(?:href|src)="(\/webhooks\/portal\/assets\/[^"]+)"/g)].map(([, path]) => path!);
  for (const kind of [/\/app-\w+\.js$/, /\/app-\w+\.css$/, /\/settings-\w+\.css$/])
    expect(paths.filter((path) => kind.test(path))).toHaveLength(1);
  for (const path of paths) {
    const response = await fetch(`${embedded.url}${path}`);
    expect([path, response.status]).toEqual([path, 200]);
    expect(response.headers.get('cross-origin-resource-policy')).toBe('same-origin');
    expect(response.headers.get('cache-control')).toMatch(path.endsWith('/reload.js') ? 'max-age=86400' : 'immutable');
    await response.body?.cancel();
  }
  for (const name of ['manifest.json', '..%2Fmanifest.json'])
    expect((await fetch(`${embedded.url}/webhooks/portal/assets/${name}`)).status).toBe(404);
});

test('without the setting there is no page, and a token of the portal is not recognized', async () => {
  expect((await fetch(`${off.url}/webhooks/portal`)).status).toBe(404);
  const headers = { authorization: 'Bearer svc_wp_x' };
  expect((await fetch(`${off.url}/api/webhooks`, { headers })).status).toBe(401);
});

test('a session does not get the information about a link', async () => {
  const ann = await plain.person('Ann');
  expect((await ann.call('GET', '/api/webhooks/portal')).status).toBe(404);
});

test.each([
  [{ frameAncestors: ['https://app.example.com/'] }, 'must be an origin without a path'],
  [{ frameAncestors: ['*'] }, 'must be an origin without a path'],
  [{ frameAncestors: ["https://a.example; script-src 'unsafe-inline'"] }, 'must be an origin without a path'],
  [{ frameAncestors: 'https://app.example.com' }, 'must be a list of origins'],
  [{ logo: 'https://elsewhere.example/logo.svg' }, 'must be a path of this server'],
  [{ stylesheet: '//elsewhere.example/x.css' }, 'must be a path of this server'],
  [{ colors: { accent: 'red;}' } }, 'must be a colour in hex'],
  [{ url: 'https://api.example.com/path' }, 'must be an origin without a path'],
  [{ titel: 'x' }, 'Did you mean "title"?'],
  ['yes', 'must be true, false or an object of settings'],
] as const)('the setting %j is a configuration error', (portal, expected) => {
  const extensions = [webhooks({ portal: portal as never })];
  const message = getStartupError({ resources: [defineUser()], extensions });
  expect(message).toContain('webhooks.portal');
  expect(message).toContain(expected);
});
