// The page of the browser tests. What the hooks return is in `globalThis.page`.
import { type DehydratedState, hydrate, QueryClient } from '@tanstack/react-query';
import { createElement } from 'react';
import { createRoot, hydrateRoot } from 'react-dom/client';
import { cookieStorage, createClient, type PageSession } from '../../../packages/client/src/index.ts';
import type { ReactApi } from './app.ts';
import { hooks, TestApp } from './components.ts';

interface PageWindow {
  location: { search: string };
  document: { getElementById(id: string): never };
  page: unknown;
  /** What the server has written into a page that it has rendered. */
  server?: { api: string; cache: DehydratedState; session?: PageSession | null };
}

const page = globalThis as unknown as PageWindow;
const settings = new URLSearchParams(page.location.search);
const { server } = page;
const url = server?.api ?? settings.get('api')!;
// A page with a session gets it from its server.
const storage = server?.session ? { storage: cookieStorage({ initial: server.session }) } : {};
const client = createClient<ReactApi>({ url, ...storage });
const queryClient = new QueryClient();
page.page = Object.assign(hooks, { client, queryClient });
const app = createElement(TestApp, {
  client,
  queryClient,
  live: settings.has('live'),
  keepPrevious: settings.has('keep'),
  session: server?.session,
});
const root = page.document.getElementById('root');
if (server === undefined) createRoot(root).render(app);
else {
  hydrate(queryClient, server.cache);
  hydrateRoot(root, app);
}
