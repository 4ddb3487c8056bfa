import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { expect, test } from 'vitest';

const KIB = 1024;

/** Bundles an app's use of the client. Returns the compressed bytes of what a page loads at first, and with each dynamic import. */
async function measure(contents: string): Promise<{ core: number; later: Record<string, number> }> {
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
  });
  const sizeOf = (path: string) => gzipSync(outputFiles.find((file) => file.path.endsWith(path))!.contents).length;
  /** A chunk with the chunks that it imports statically. */
  const closure = (path: string, seen = new Set<string>()): Set<string> => {
    if (seen.has(path)) return seen;
    seen.add(path);
    for (const { path: imported, kind } of metafile.outputs[path]!.imports)
      if (kind === 'import-statement') closure(imported, seen);
    return seen;
  };
  const sum = (paths: Iterable<string>) => [...paths].reduce((total, path) => total + sizeOf(path), 0);
  const core = closure('out/stdin.js');
  const dynamic = Object.values(metafile.outputs).flatMap(({ imports }) =>
    imports.filter(({ kind }) => kind === 'dynamic-import').map(({ path }) => path),
  );
  const later = [...new Set(dynamic)].map((path) => {
    const name = metafile.outputs[path]!.entryPoint!.replace(/^.*src\/client\//, '');
    return [name, sum([...closure(path)].filter((one) => !core.has(one)))];
  });
  return { core: sum(core), later: Object.fromEntries(later) };
}

const USE = `
  import { ApiError, createClient } from '../../src/client/index.ts';
  export { ApiError };
  export const client = createClient({ url: 'https://api.example.com' });`;

test('a page loads at most 10 KB of the client, compressed, and the rest on demand', async () => {
  const { core, later } = await measure(USE);
  expect(core).toBeLessThan(10 * KIB);
  expect(later['realtime/index.ts']).toBeLessThan(10 * KIB);
  expect(Object.keys(later)).toEqual(expect.arrayContaining(['realtime/index.ts', 'records/upload.ts']));
  for (const bytes of Object.values(later)) expect(bytes).toBeLessThan(10 * KIB);
});

test('an app that uses only the errors of the client bundles only these', async () => {
  const { core, later } = await measure(`export { ApiError } from '../../src/client/index.ts';`);
  expect(core).toBeLessThan(1 * KIB);
  expect(later).toEqual({});
});
