import type { QueryClient } from '@tanstack/react-query';
import { createElement, type ReactNode, StrictMode, useState } from 'react';
import type { Client } from '../../../packages/client/src/index.ts';
import {
  BelfryProvider,
  type BelfryProviderProps,
  useList,
  useMutation,
  useRecord,
  useSession,
} from '../../../packages/client/src/react/index.ts';
import type { ReactApi } from './app.ts';

/** What the hooks of the page return, for the tests. */
export const hooks: Record<string, unknown> = {};

/** Every text that was on the page, to find records that appeared for a moment. */
const shown = new Set<string>();
hooks.shown = shown;

interface PartProps {
  client: Client<ReactApi>;
  live: boolean;
  keepPrevious?: boolean;
}

function show(name: string, text: string): ReactNode {
  shown.add(`${name}: ${text}`);
  return createElement('p', { id: name }, text);
}

function Session({ client }: { client: Client<ReactApi> }) {
  const { user, isPending } = useSession(client);
  return show('session', isPending ? 'pending' : (user?.name ?? 'signed out'));
}

function Posts({
  client,
  live,
  keepPrevious,
  record,
  where,
}: PartProps & { record: string | undefined; where: { status: 'published' } | undefined }) {
  const posts = useList(client.posts, { where, sort: '-views', limit: 3, include: ['author'] }, { keepPrevious });
  const followed = useList(client.posts, { where, sort: '-views', limit: 3 }, { live, enabled: live });
  const post = useRecord(client.posts, record, { include: ['author'] }, { live });
  const mutation = useMutation(client.posts);
  Object.assign(hooks, { posts, followed, post, mutation });
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

function Notes({ client, live }: PartProps) {
  const notes = useList(client.notes, {}, { live });
  const mutation = useMutation(client.notes);
  Object.assign(hooks, { notes, noteMutation: mutation });
  return show('notes', notes.data?.map(({ text }) => text).join(', ') ?? notes.error?.code ?? 'pending');
}

/** The properties of `TestApp`. */
export interface TestAppProps extends PartProps, Pick<BelfryProviderProps, 'session'> {
  queryClient: QueryClient;
}

/** The app of the browser tests: a list, a record, the notes of the user, and the session. */
export function TestApp({ client, queryClient, live, keepPrevious = false, session }: TestAppProps): ReactNode {
  const [record, selectRecord] = useState<string>();
  const [where, setWhere] = useState<{ status: 'published' } | undefined>({ status: 'published' });
  const [isOpen, setOpen] = useState(true);
  Object.assign(hooks, { selectRecord, setWhere, setOpen });
  return createElement(
    StrictMode,
    undefined,
    createElement(
      BelfryProvider,
      { client, queryClient, session },
      createElement(Session, { client }),
      isOpen && createElement(Posts, { client, live, keepPrevious, record, where }),
      isOpen && createElement(Notes, { client, live }),
    ),
  );
}
