// The page of the browser tests: a list, a record and the session, with what the hooks return in `globalThis.page`.
import { hydrate, QueryClient } from '@tanstack/react-query';
import { createElement, type ReactNode, StrictMode, useState } from 'react';
import { createRoot, hydrateRoot } from 'react-dom/client';
import { createClient } from '../../src/client/index.ts';
import { BelfryProvider, useList, useMutation, useRecord, useSession } from '../../src/react/index.ts';
import type { ReactApi } from './app.ts';

interface PageWindow {
  location: { search: string };
  document: { getElementById(id: string): never };
  /** Written into the page by the server of a rendered page. */
  server?: { cache: object };
  page: unknown;
}

const page = globalThis as unknown as PageWindow;
const settings = new URLSearchParams(page.location.search);
const client = createClient<ReactApi>({ url: settings.get('api')! });
const queryClient = new QueryClient();
const live = settings.has('live');
/** Every text that was on the page, to find records that appeared for a moment. */
const shown = new Set<string>();

function show(name: string, text: string): ReactNode {
  shown.add(`${name}: ${text}`);
  return createElement('p', { id: name }, text);
}

function Session() {
  const { user, isPending } = useSession(client);
  return show('session', isPending ? 'pending' : (user?.name ?? 'signed out'));
}

function Posts({ record, where }: { record: string | undefined; where: { status: 'published' } | undefined }) {
  const posts = useList(client.posts, { where, sort: '-views', limit: 3, include: ['author'] }, { live: false });
  const followed = useList(client.posts, { where, sort: '-views', limit: 3 }, { live, enabled: live });
  const post = useRecord(client.posts, record, { include: ['author'] }, { live });
  const mutation = useMutation(client.posts);
  Object.assign(page.page as object, { posts, followed, post, mutation });
  const { data } = live ? followed : posts;
  const author = post.data?.author;
  return createElement(
    'div',
    undefined,
    show('posts', data === undefined ? 'pending' : data.map(({ title }) => title).join(', ')),
    show('total', String((live ? followed : posts).meta?.total)),
    show('status', live ? followed.liveStatus : 'off'),
    show('post', post.isDeleted ? 'deleted' : (post.data?.title ?? post.error?.code ?? 'none')),
    show('author', typeof author === 'object' ? author.name : 'none'),
    show('error', mutation.error === null ? 'none' : `${mutation.error.code} ${mutation.error.details.title ?? ''}`),
    show('creating', mutation.creating.map(({ title }) => title).join(', ')),
  );
}

function Notes() {
  const notes = useList(client.notes, {}, { live });
  const mutation = useMutation(client.notes);
  Object.assign(page.page as object, { notes, noteMutation: mutation });
  return show('notes', notes.data?.map(({ text }) => text).join(', ') ?? notes.error?.code ?? 'pending');
}

function App() {
  const [record, selectRecord] = useState<string>();
  const [where, setWhere] = useState<{ status: 'published' } | undefined>({ status: 'published' });
  const [isOpen, setOpen] = useState(true);
  Object.assign(page.page as object, { selectRecord, setWhere, setOpen });
  return createElement(
    BelfryProvider,
    { client, queryClient },
    createElement(Session),
    isOpen && createElement(Posts, { record, where }),
    isOpen && createElement(Notes),
  );
}

page.page = { client, queryClient, shown };
const root = page.document.getElementById('root');
const app = createElement(StrictMode, undefined, createElement(App));
if (page.server === undefined) createRoot(root).render(app);
else {
  hydrate(queryClient, page.server.cache);
  hydrateRoot(root, app);
}
