import { dehydrate, QueryClient } from '@tanstack/react-query';
import type { Browser } from 'playwright-core';
import { createElement } from 'react';
import { renderToString } from 'react-dom/server';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { createClient } from '../../../packages/client/src/index.ts';
import {
  type BelfryProviderProps,
  listOptions,
  recordOptions,
  resourceKey,
} from '../../../packages/client/src/react/index.ts';
import { browserTest, closePages, startBrowser } from '../../browser/browser.ts';
import { openPage, type ReactApi, startReactApp } from './app.ts';
import { TestApp } from './components.ts';

const { url, siteUrl, pages, posts, person } = await startReactApp();
const ada = await person('Ada');
await ada.call('POST', '/api/notes', { text: 'of Ada' });
const { id } = await posts.create({ title: 'One', views: 2, author: ada.id });
await posts.create({ title: 'Two', views: 1 });

let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

/** Creates the client of one request on a server: of a user, or signed out. */
async function createServerClient(token?: string) {
  const storage = { read: () => (token === undefined ? undefined : { token }), write() {}, remove() {} };
  const client = createClient<ReactApi>({ url, storage });
  await client.auth.ready();
  return client;
}

/** Renders the page as a server does, after it has loaded the lists. */
async function renderPage(
  client: Awaited<ReturnType<typeof createServerClient>>,
  session?: BelfryProviderProps['session'],
) {
  const queryClient = new QueryClient();
  const options = listOptions(client.posts, {
    where: { status: 'published' },
    sort: '-views',
    limit: 3,
    include: ['author'],
  });
  await queryClient.prefetchInfiniteQuery(options);
  await queryClient.prefetchInfiniteQuery(listOptions(client.notes, {}));
  const html = renderToString(createElement(TestApp, { client, queryClient, live: false, session }));
  return { html, cache: dehydrate(queryClient) };
}

const textIn = (html: string, name: string) => new RegExp(`<p id="${name}">([^<]*)</p>`).exec(html)?.[1];

test('a server renders the lists that it has loaded, for the session of the request', async () => {
  const signedOut = await renderPage(await createServerClient(), null);
  expect([textIn(signedOut.html, 'session'), textIn(signedOut.html, 'posts')]).toEqual(['signed out', 'One, Two']);
  const client = await createServerClient(ada.token);
  const signedIn = await renderPage(client, { user: client.auth.session!.user });
  expect([textIn(signedIn.html, 'session'), textIn(signedIn.html, 'notes')]).toEqual(['Ada', 'of Ada']);
  expect(JSON.stringify(signedOut.cache)).not.toContain('of Ada');
});

test('a server that does not know the session renders no records of a user', async () => {
  const { html } = await renderPage(await createServerClient(ada.token));
  expect(textIn(html, 'session')).toBe('pending');
  expect(html).not.toContain('of Ada');
});

test('records are cached under the user who was signed in when their query was created', async () => {
  const client = await createServerClient(ada.token);
  const queryClient = new QueryClient();
  const options = recordOptions(client.posts, id, { include: ['author'] });
  const record = await queryClient.fetchQuery(options);
  expect(record).toMatchObject({ title: 'One', author: { name: 'Ada' } });
  expect(options.queryKey.slice(0, 4)).toEqual(resourceKey(client.posts));
  expect(resourceKey(client.posts)).toEqual(['belfry', url, ada.id, '/posts']);
  await client.auth.signOut();
  expect(resourceKey(client.posts)).toEqual(['belfry', url, null, '/posts']);
  // A query of the former user must not load the records of the next one.
  await expect(queryClient.fetchQuery(options)).rejects.toMatchObject({ code: 'SESSION_CHANGED' });
});

browserTest('a page that a server has rendered continues in the browser without a difference', 60_000, async () => {
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const { html, cache } = await renderPage(await createServerClient(), null);
  const server = JSON.stringify({ api: url, cache, session: null });
  const script = `<script>globalThis.server = ${server.replaceAll('<', '\\u003c')}</script>`;
  pages.set(
    '/rendered',
    `<!doctype html><div id="root">${html}</div>${script}<script type="module" src="/page.js"></script>`,
  );
  const { run, has, errors } = await openPage(context, `${siteUrl}/rendered`);
  await expect.poll(() => run(({ posts }) => posts !== undefined)).toBe(true);
  await has('posts', 'One, Two');
  // The list was never empty: the cache came with the page.
  expect(await run(({ shown }) => [...shown])).not.toContain('posts: pending');
  await posts.create({ title: 'Three', views: 3 });
  await run(({ posts }) => posts.refetch());
  await has('posts', 'Three, One, Two');
  expect(errors).toEqual([]);
});

browserTest('a session that only the browser knows makes no difference to the rendered page', 60_000, async () => {
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const first = await openPage(context, `${siteUrl}/?api=${encodeURIComponent(url)}`);
  await first.run(({ client }, email) => client.auth.signIn({ email, password: 'correct horse battery' }), ada.email);
  const { html, cache } = await renderPage(await createServerClient());
  const server = JSON.stringify({ api: url, cache });
  pages.set(
    '/unknown',
    `<!doctype html><div id="root">${html}</div><script>globalThis.server = ${server}</script><script type="module" src="/page.js"></script>`,
  );
  const { has, errors } = await openPage(context, `${siteUrl}/unknown`);
  await has('session', 'Ada');
  await has('notes', 'of Ada');
  expect(errors).toEqual([]);
});
