import { expect, test } from 'vitest';
import { measureBundle } from '../../bench/measure/bundle-size.ts';

const MAX_BYTES = 10 * 1024;
const folder = import.meta.dirname;

test('a page loads at most 10 KB of the client, compressed, and the rest on demand', async () => {
  const { core, later } = await measureBundle(
    `import { ApiError, createClient } from '../../src/client/index.ts';
     export { ApiError };
     export const client = createClient({ url: 'https://api.example.com' });`,
    folder,
  );
  expect(core).toBeLessThan(MAX_BYTES);
  expect(Object.keys(later)).toEqual(expect.arrayContaining(['realtime/index.ts', 'records/upload-file.ts']));
  for (const bytes of Object.values(later)) expect(bytes).toBeLessThan(MAX_BYTES);
});

test('an app that uses only the errors of the client bundles only these', async () => {
  const { core, later } = await measureBundle(`export { ApiError } from '../../src/client/index.ts';`, folder);
  expect(core).toBeLessThan(1000);
  expect(later).toEqual({});
});
