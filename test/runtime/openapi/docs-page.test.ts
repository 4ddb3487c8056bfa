import { expect, test } from 'vitest';
import { defineUser } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const resources = [defineUser()];
const openapi = { title: 'Tom & Jerry\'s <"shop">' };
const production = {
  NODE_ENV: 'production',
  DRAIN_DELAY_MS: '0',
  LOG_LEVEL: 'silent',
  APP_URL: 'https://api.example.com',
  SVC_ENCRYPTION_KEYS: `${'A'.repeat(43)}=`,
};
const apps = {
  'in tests': await startTestApp({ resources, settings: { openapi } }),
  'in production': await startTestApp({ resources, settings: { openapi } }, { env: () => production }),
};

test.each(Object.entries(apps))(
  'the reference loads everything from this server, with nothing inline, %s',
  async (_where, { url }) => {
    const page = await fetch(`${url}/api/docs`);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = Object.fromEntries(
      page.headers
        .get('content-security-policy')!
        .split('; ')
        .map((rule) => [rule.split(' ')[0], rule.split(' ').slice(1)]),
    );
    expect(policy['default-src']).toEqual(["'none'"]);
    expect(policy['script-src']).toEqual(["'self'"]);
    expect(policy['style-src']).toEqual(["'self'"]);
    expect(policy['frame-ancestors']).toEqual(["'none'"]);
    expect(policy['require-trusted-types-for']).toEqual(["'script'"]);
    expect(policy['trusted-types']).toEqual(["'none'"]);
    const html = await page.text();
    expect(html).toContain('<title>Tom &amp; Jerry&#39;s &lt;&quot;shop&quot;&gt;</title>');
    expect(html).not.toMatch(/<style|style=|<script>|\son[a-z]+=|https?:/);

    const paths = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path!);
    const loaded = paths.filter((path) => !path.startsWith('data:')).map((path) => new URL(path, `${url}/api/docs`));
    expect(loaded.length).toBeGreaterThan(3);
    for (const file of loaded) {
      expect(file.origin).toBe(url);
      const response = await fetch(file);
      expect([file.pathname, response.status]).toEqual([file.pathname, 200]);
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      const type = { js: 'text/javascript', css: 'text/css', json: 'application/json' };
      expect(response.headers.get('content-type')).toContain(
        type[file.pathname.split('.').at(-1) as keyof typeof type],
      );
      expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(100);
    }
  },
);

test('scripts and styles are kept by browsers, and every path below the page shows the page', async () => {
  const { url } = apps['in tests'];
  const html = await (await fetch(`${url}/api/docs`)).text();
  const [, script] = /type="module" src="([^"]+)"/.exec(html)!;
  expect((await fetch(url + script)).headers.get('cache-control')).toContain('immutable');
  for (const path of ['createUser', 'no/such/operation', '..%2fopenapi.json']) {
    const response = await fetch(`${url}/api/docs/${path}`);
    expect([path, response.status, await response.text()]).toEqual([path, 200, html]);
  }
});

test('no other file of the build is served, and no path leads out of it', async () => {
  const { url } = apps['in tests'];
  for (const path of ['index.html', 'manifest.json', 'package.json', '..%2fmanifest.json', '%2e%2e%2f'])
    expect([path, (await fetch(`${url}/api/docs/assets/${path}`)).status]).toEqual([path, 404]);
});
