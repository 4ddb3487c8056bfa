import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

/** The compressed bytes of a program for browsers. */
export interface BundleSize {
  /** What a page loads at first. */
  core: number;
  /** What each dynamic import adds, by the module that is imported. */
  later: Record<string, number>;
}

/**
 * Bundles a program as an app's build does, and measures it.
 *
 * @param contents the program
 * @param folder where its imports are resolved
 */
export async function measureBundle(contents: string, folder: string): Promise<BundleSize> {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: folder, loader: 'ts' },
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
  const importsOf = (path: string, kind: string) =>
    metafile.outputs[path]!.imports.filter((one) => one.kind === kind).map((one) => one.path);
  /** A chunk with the chunks that it imports statically. */
  const closure = (path: string, seen = new Set<string>()): Set<string> => {
    if (seen.has(path)) return seen;
    seen.add(path);
    for (const imported of importsOf(path, 'import-statement')) closure(imported, seen);
    return seen;
  };
  const sum = (paths: Iterable<string>) => [...paths].reduce((total, path) => total + sizeOf(path), 0);
  const core = closure('out/stdin.js');
  const dynamic = new Set(Object.keys(metafile.outputs).flatMap((path) => importsOf(path, 'dynamic-import')));
  const later = [...dynamic].map((path) => {
    const module = metafile.outputs[path]!.entryPoint!.replace(/^.*packages\/client\/src\//, '');
    return [module, sum([...closure(path)].filter((one) => !core.has(one)))];
  });
  return { core: sum(core), later: Object.fromEntries(later) };
}
