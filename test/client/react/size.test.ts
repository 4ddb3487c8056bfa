import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { expect, test } from 'vitest';

const KIB = 1024;
const INDEX = '../../../packages/client/src/react/index.ts';

/** Bundles an app's use of the hooks. Returns the compressed bytes that a page loads at first, without React, TanStack Query and the client. */
async function measure(contents: string): Promise<number> {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: import.meta.dirname, loader: 'ts' },
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    outdir: 'out',
    write: false,
    metafile: true,
    external: ['react', '@tanstack/react-query'],
    plugins: [
      {
        name: 'client',
        setup({ onResolve }) {
          onResolve({ filter: /^\.\.\// }, ({ path }) => ({ path, external: true, sideEffects: false }));
        },
      },
    ],
  });
  const loaded = new Set(['out/stdin.js']);
  for (const path of loaded)
    for (const { path: imported, kind, external } of metafile.outputs[path]!.imports)
      if (kind === 'import-statement' && !external) loaded.add(imported);
  const texts = [...loaded].map((path) => outputFiles.find((file) => file.path.endsWith(path))!.text);
  return gzipSync(texts.join('\n')).length;
}

test('the hooks that show data add less than 4 KB to a page, compressed, and all hooks less than 4.5 KB', async () => {
  const showing = 'BelfryProvider, useList, useRecord, useSession';
  expect(await measure(`export { ${showing} } from '${INDEX}'`)).toBeLessThan(4 * KIB);
  expect(await measure(`export * from '${INDEX}'`)).toBeLessThan(4.5 * KIB);
});

test('an app bundles only the hooks that it uses', async () => {
  expect(await measure(`export { listOptions } from '${INDEX}'`)).toBeLessThan(1.5 * KIB);
  expect(await measure(`export { BelfryProvider, useSession } from '${INDEX}'`)).toBeLessThan(2 * KIB);
});
