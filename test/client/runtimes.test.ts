import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { defineResource, defineUser, disk, f, realtime } from '../../src/index.ts';
import { browserTest, closePages, startBrowser } from '../browser/browser.ts';
import { startTestApp } from '../support/app.ts';
import { bundleSuite, provideRuntime, RUNTIMES } from './runtime-programs.ts';
import type { SuiteResult } from './runtime-suite.ts';

const directory = mkdtempSync(join(tmpdir(), 'belfry-client-runtimes-'));
afterAll(() => rmSync(directory, { recursive: true }));

const open = { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' } as const;

const post = defineResource('post', {
  fields: {
    title: f.string().required().max(200).filterable().sortable(),
    views: f.integer().default(0),
    file: f.file(),
  },
  policies: open,
  routes: (route) => [
    route.get('/elsewhere', { policy: 'public' }, ({ res }) => res.redirect('/api/posts')),
    route.post('/redirected/api/files/uploads', { policy: 'public' }, ({ req, res }) =>
      res.redirect(307, req.originalUrl.replace('/api/posts/redirected', '')),
    ),
  ],
});
const note = defineResource('note', { fields: { text: f.string() }, timestamps: false, policies: open });

/** The site of the page, whose origin is not that of the app. */
const site = createServer((_, res) => res.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>'));
await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
afterAll(() => void site.close());
const siteUrl = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;

const { app, url } = await startTestApp(
  {
    resources: [defineUser(), post, note],
    extensions: [realtime()],
    settings: { files: { storage: disk({ directory }) } },
  },
  { roles: ['web', 'relay'], env: () => ({ CORS_ORIGINS: siteUrl }) },
);

/** The app that the suite calls. */
export type RuntimeApi = typeof app;

/** All checks of the suite passed, and there are checks. */
const PASSED = { passed: expect.arrayContaining([expect.any(String)]), failed: {} };

test.for(RUNTIMES)('the client works in $name', { timeout: 240_000 }, async (runtime, { skip }) => {
  const program = provideRuntime(runtime);
  if (program === undefined) return skip(`npm cannot install ${runtime.packageName}`);
  const file = join(directory, `suite-${runtime.name.replace(' ', '-')}.mjs`);
  writeFileSync(file, await bundleSuite(url, 'console.log'));
  const { stdout } = await promisify(execFile)(program, [...runtime.args, file], { timeout: 120_000 });
  expect(JSON.parse(stdout) as SuiteResult).toEqual(PASSED);
});

browserTest('the client works in a page of another origin', 120_000, async () => {
  const browser = await startBrowser();
  onTestFinished(() => closePages(browser));
  const page = await browser.newPage();
  await page.goto(siteUrl);
  const { promise, resolve } = Promise.withResolvers<string>();
  await page.exposeFunction('reportResult', resolve);
  await page.addScriptTag({ type: 'module', content: await bundleSuite(url, 'reportResult') });
  expect(JSON.parse(await promise) as SuiteResult).toEqual(PASSED);
});
