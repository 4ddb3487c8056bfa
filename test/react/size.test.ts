import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { expect, test } from 'vitest';

const KIB = 1024;
const INDEX = '../../src/react/index.ts';

/** Bundles an app's use of the hooks. Returns its compressed bytes, without React, TanStack Query and the client. */
async function measure(contents: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: import.meta.dirname, loader: 'ts' },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    write: false,
    external: ['react', '@tanstack/react-query'],
    plugins: [
      {
        name: 'client',
        setup({ onResolve }) {
          onResolve({ filter: /\/client\// }, ({ path }) => ({ path, external: true, sideEffects: false }));
        },
      },
    ],
  });
  return gzipSync(outputFiles[0]!.contents).length;
}

test('the hooks add at most 5 KB to a page, compressed', async () => {
  expect(await measure(`export * from '${INDEX}'`)).toBeLessThan(5 * KIB);
});

test('an app bundles only the hooks that it uses', async () => {
  expect(await measure(`export { listOptions } from '${INDEX}'`)).toBeLessThan(1.2 * KIB);
  expect(await measure(`export { BelfryProvider, useSession } from '${INDEX}'`)).toBeLessThan(1.6 * KIB);
});
