// Checked only by the compiler: the types of what the hooks take and return follow from the declarations.
import { expectTypeOf } from 'vitest';
import { type ApiError, createClient } from '../../../packages/client/src/index.ts';
import {
  listOptions,
  recordOptions,
  useList,
  useMutation,
  useRecord,
  useSession,
} from '../../../packages/client/src/react/index.ts';
import { createApp, defineResource, defineUser, f } from '../../../src/index.ts';

const user = defineUser({ fields: { nick: f.string() } });
const post = defineResource('blog-post', {
  fields: {
    title: f.string().required().filterable().sortable(),
    views: f.integer().default(0).filterable(),
    author: f.ref('user').required(),
  },
});
const log = defineResource('log', { fields: { text: f.string() }, crud: ['list', 'read'] });
export const app = (env: Record<string, string>) => createApp({ resources: [user, post, log] }, env);

const client = createClient<typeof app>();

/** The hooks are never called. */
export function Component({ id }: { id: string | undefined }) {
  const posts = useList(
    client.blogPosts,
    { where: { views: { gte: 10 } }, sort: '-title', include: ['author'] },
    { live: true },
  );
  expectTypeOf(posts.data![0]!.title).toEqualTypeOf<string>();
  expectTypeOf(posts.data![0]!.author).extract<object>().toHaveProperty('name').toEqualTypeOf<string>();
  expectTypeOf(posts.meta!.total).toEqualTypeOf<number | undefined>();
  expectTypeOf(posts.error).toEqualTypeOf<ApiError | null>();

  const post = useRecord(client.blogPosts, id, { fields: ['title'] });
  expectTypeOf(post.data).toEqualTypeOf<{ id: string; title: string } | undefined>();

  // @ts-expect-error A field that is not filterable
  useList(client.blogPosts, { where: { author: id } });
  // @ts-expect-error A field that does not exist
  useList(client.blogPosts, { fields: ['titel'] });
  // @ts-expect-error A reference that does not exist
  useRecord(client.blogPosts, id, { include: ['editor'] });
  // @ts-expect-error A list begins at its first page; fetchNextPage loads the others
  useList(client.blogPosts, { after: 'cursor' });

  // @ts-expect-error A live list has no pages
  useList(client.blogPosts, { page: 1 }, { live: true });
  // @ts-expect-error The list may be live
  useList(client.blogPosts, { page: 1 }, { live: id !== undefined });
  useList(client.blogPosts, { page: 1 });
  useList(client.blogPosts, { page: 1 }, { enabled: false });
  useList(client.blogPosts, { page: 1 }, { live: false });
  expectTypeOf(posts.liveError).toEqualTypeOf<ApiError | undefined>();
  expectTypeOf(post.liveError).toEqualTypeOf<ApiError | undefined>();
  expectTypeOf(client.blogPosts.liveList().error).toEqualTypeOf<ApiError | undefined>();

  const mutation = useMutation(client.blogPosts, { invalidates: [client.users] });
  expectTypeOf(mutation.create).returns.resolves.toHaveProperty('title').toEqualTypeOf<string>();
  expectTypeOf(mutation.error!.details.title).toEqualTypeOf<string | undefined>();
  expectTypeOf(mutation.creating[0]!.title).toEqualTypeOf<string>();
  // @ts-expect-error A required field is missing
  mutation.create({ views: 1 });
  // @ts-expect-error A value of another type
  mutation.update('1', { views: 'many' });

  const reading = useMutation(client.logs);
  // @ts-expect-error The resource has no such route
  reading.update('1', {});

  const { user } = useSession(client);
  expectTypeOf(user!.name).toEqualTypeOf<string>();
  expectTypeOf(user!.nick).toEqualTypeOf<string | undefined>();
}

/** What a server loads has the types of what the hooks return. */
export async function load(queryClient: import('@tanstack/react-query').QueryClient) {
  const list = await queryClient.fetchInfiniteQuery(listOptions(client.blogPosts, { fields: ['title'] }));
  expectTypeOf(list.pages[0]!.data).toEqualTypeOf<{ id: string; title: string }[]>();
  const record = await queryClient.fetchQuery(recordOptions(client.blogPosts, '1', { fields: ['views'] }));
  expectTypeOf(record).toEqualTypeOf<{ id: string; views: number } | null>();
}

/** A client without types accepts any query. */
export function Untyped() {
  const untyped = createClient();
  const { data } = useList(untyped.anything!, { where: { any: 1 } });
  expectTypeOf(data![0]!.id).toEqualTypeOf<string>();
  expectTypeOf(data![0]!.title).toEqualTypeOf<unknown>();
  // @ts-expect-error A live list has no pages
  useList(untyped.anything!, { page: 1 }, { live: true });
  // @ts-expect-error A live list has no deleted records
  useList(untyped.anything!, { deleted: 'with' }, { live: true });
  useList(untyped.anything!, { deleted: 'with', page: 1 });
  expectTypeOf(useMutation(untyped.anything!).create({ any: 1 })).resolves.toHaveProperty('id');
}
