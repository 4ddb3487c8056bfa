import { expect, test } from 'vitest';
import { measureBundle } from '../../bench/measure/bundle-size.ts';
import { createClient } from '../../packages/client/src/index.ts';

/** Returns the paths that a client requests. */
function createRecorder() {
  const paths: string[] = [];
  const recording: typeof fetch = async (target) => {
    paths.push(new URL(String(target)).pathname);
    return Response.json({ data: [], meta: { limit: 20 } });
  };
  return { paths, client: createClient({ url: 'https://api.example.com', fetch: recording }) };
}

test('the key of a resource is its path in camel case, or the path itself', async () => {
  const { paths, client } = createRecorder();
  for (const key of ['posts', 'blogPosts', 'shop/articles', 'top-10-posts', '/camelCase']) await client[key]!.list();
  await client.resource('/push').list();
  expect(paths).toEqual([
    '/api/posts',
    '/api/blog-posts',
    '/api/shop/articles',
    '/api/top-10-posts',
    '/api/camelCase',
    '/api/push',
  ]);
});

test('a client can be awaited, compared and printed without a request', async () => {
  const { paths, client } = createRecorder();
  expect(await client).toBe(client);
  expect(client.posts).toBe(client.posts);
  expect(String(client)).toBe('[object Object]');
  expect(JSON.parse(JSON.stringify(client))).toMatchObject({ url: 'https://api.example.com' });
  const { list } = client.posts!;
  expect(paths).toEqual([]);
  await list();
  expect(paths).toEqual(['/api/posts']);
});

const MAX_BYTES = 10 * 1024;
const folder = import.meta.dirname;

test('a page loads at most 10 KB of the client, compressed, and the rest on demand', async () => {
  const { core, later } = await measureBundle(
    `import { ApiError, createClient } from '../../packages/client/src/index.ts';
     export { ApiError };
     export const client = createClient({ url: 'https://api.example.com' });`,
    folder,
  );
  expect(core).toBeLessThan(MAX_BYTES);
  expect(Object.keys(later)).toEqual(expect.arrayContaining(['realtime/index.ts', 'records/upload-file.ts']));
  for (const bytes of Object.values(later)) expect(bytes).toBeLessThan(MAX_BYTES);
});

test('an app that uses only the errors of the client bundles only these', async () => {
  const { core, later } = await measureBundle(`export { ApiError } from '../../packages/client/src/index.ts';`, folder);
  expect(core).toBeLessThan(1000);
  expect(later).toEqual({});
});
