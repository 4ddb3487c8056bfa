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
    const html = await page.text();
    expect(html).toContain('<title>Tom &amp; Jerry&#39;s &lt;&quot;shop&quot;&gt;</title>');
    expect(html).not.toMatch(/<style|style=|<script>|\son[a-z]+=|https?:/);

    const loaded = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => new URL(path!, `${url}/api/docs`));
    expect(loaded.length).toBeGreaterThan(3);
    for (const file of loaded) {
      expect(file.origin).toBe(url);
      const response = await fetch(file);
      expect([file.pathname, response.status]).toEqual([file.pathname, 200]);
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      const type = { js: 'text/javascript', css: 'text/css', png: 'image/png', json: 'application/json' };
      expect(response.headers.get('content-type')).toContain(
        type[file.pathname.split('.').at(-1) as keyof typeof type],
      );
      expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(100);
    }
  },
);

test('no other file of the package is served, and no path leads out of it', async () => {
  const { url } = apps['in tests'];
  for (const path of ['index.html', 'package.json', '..%2fopenapi.json', '%2e%2e/', 'swagger-ui.css.map', '']) {
    expect([path, (await fetch(`${url}/api/docs/${path}`)).status]).toEqual([path, 404]);
  }
});
