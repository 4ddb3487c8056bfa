import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { request } from 'undici';
import type { Route, RouteContext } from '../../src/declare/route.ts';
import { ASSETS, pageFileRoutes } from '../../src/extensions/console/page-files.ts';
import { pageFileRoutes as signInRoutes } from '../../src/extensions/sign-in-pages/page-files.ts';
import { portalPageRoutes } from '../../src/extensions/webhooks/portal/page-files.ts';
import { portalSettingsSchema } from '../../src/extensions/webhooks/settings/portal-settings.ts';
import { createBuiltPage } from '../../src/platform/http/built-pages.ts';
import { docsPageRoutes } from '../../src/runtime/openapi/docs-page.ts';
import type { Figure, Group } from '../figure.ts';

/** Serves the files of pages, without an app. */
async function serve(routes: readonly Route[]): Promise<{ url: string; close(): void }> {
  const app = express();
  for (const { path, handler } of routes)
    app.get(path, async (req, res) => {
      await handler({ req, res, params: req.params } as unknown as RouteContext);
    });
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

/** Loads a page and everything that its HTML names, compressed as browsers get it. */
async function measureFirstView(base: string, path: string): Promise<{ bytes: number; files: number }> {
  const load = async (file: string) => {
    const { statusCode, body } = await request(new URL(file, base), { headers: { 'accept-encoding': 'gzip' } });
    if (statusCode !== 200) throw new Error(`GET ${file} responded with ${statusCode}`);
    return (await body.arrayBuffer()).byteLength;
  };
  const html = await (await fetch(new URL(path, base))).text();
  const links = new Set(Array.from(html.matchAll(/\b(?:href|src)="(\/[^"]+\/assets\/[^"]+)"/g), ([, link]) => link!));
  const sizes = await Promise.all([path, ...links].map(load));
  return { bytes: sizes.reduce((total, size) => total + size, 0), files: sizes.length };
}

/** Measures what browsers load to show the console, the webhook portal, the sign-in pages and the API reference. */
export const pages: Group = {
  name: 'pages',
  async run(bench) {
    const measured = [
      [
        'pages.console',
        '/console/data',
        pageFileRoutes({
          page: createBuiltPage({ page: 'console', assets: ASSETS }),
          tabs: ['/console/data'],
          assets: [],
          middleware: [],
        }),
      ],
      ['pages.portal', '/webhooks/portal', portalPageRoutes(portalSettingsSchema.parse({})!)],
      [
        'pages.sign-in',
        '/auth/sign-in',
        signInRoutes({
          config: () => ({
            title: 'App',
            afterSignIn: '/',
            features: ['password'],
            registration: { fields: [], passwordRequired: true },
          }),
          themeCss: '',
          stylesheet: undefined,
          logo: undefined,
        }),
      ],
      ['pages.reference', '/api/docs', docsPageRoutes('App').map((route) => ({ ...route, path: `/api${route.path}` }))],
    ] as const;
    const figures: Figure[] = [];
    for (const [name, path, routes] of measured.filter(([name]) => bench.isRequested(name))) {
      bench.logProgress(`${name} …`);
      const { url, close } = await serve(routes);
      const { bytes, files } = await measureFirstView(url, path).finally(close);
      figures.push({ name, value: bytes, unit: 'bytes', note: `compressed, in ${files} files` });
    }
    return figures;
  },
};
