// Bundles the compiled modules of the server. A process of an app loads a few files instead of 900, which halves the time of its start, and holds
// neither comments nor 900 records of modules.
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { buildSync } from 'esbuild';

/** What processes load or start, apart from the app of this repository. They share modules, such as the classes of errors. */
const SERVER = [
  'index.js',
  'extension/index.js',
  'testing/index.js',
  'cli/belfry.js',
  'dev-servers/guard.js',
  'app/index.js',
];
/** What the bundlers of pages and of receivers load, which take only the modules that are used. */
const UNBUNDLED = ['client/index.js', 'react/index.js', 'extensions/webhooks/verify-webhook.js'];

const LOCATION = 'module-location.js';
/**
 * The text of a module that says where another one was before it was bundled, for the files beside it. The package finds its own folder by its name,
 * whichever file the code is in.
 */
const LOCATION_MODULE = `import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
const dist = new URL('./dist/', import.meta.resolve('belfry/package.json'));
export function locateModule(path) {
  const { href: url } = new URL(path, dist);
  const filename = fileURLToPath(url);
  return { url, filename, dirname: dirname(filename) };
}
`;

/** Makes a module refer to its own place in the package, instead of that of the bundle. */
function keepLocation(dist: string, path: string): void {
  const file = join(dist, path);
  const text = readFileSync(file, 'utf8');
  const replaced = text.replaceAll(/\bimport\.meta\.(?=(?:url|filename|dirname)\b)/g, 'moduleLocation.');
  if (replaced === text) return;
  const prefix = `import { locateModule } from ${JSON.stringify(`${'../'.repeat(path.split('/').length - 1) || './'}${LOCATION}`)};
const moduleLocation = locateModule(${JSON.stringify(path)});
`;
  writeFileSync(file, prefix + replaced);
}

/** Bundles modules of a folder, and returns the files and the modules that they contain. @param external modules that stay files of their own */
function bundle(dist: string, entryPoints: readonly string[], external: readonly string[] = []) {
  const { outputFiles, metafile } = buildSync({
    absWorkingDir: dist,
    entryPoints: [...entryPoints],
    outdir: dist,
    outbase: dist,
    bundle: true,
    splitting: true,
    packages: 'external',
    external: external.map((path) => `./${path}`),
    format: 'esm',
    platform: 'node',
    target: 'node24',
    chunkNames: 'shared/[name]-[hash]',
    write: false,
    metafile: true,
    logLevel: 'silent',
  });
  return { outputFiles, modules: Object.keys(metafile.inputs) };
}

/** Makes a bundle import modules from a folder. esbuild names them as if all bundles were in that folder. */
function importFrom(folder: string, text: string, modules: ReadonlySet<string>): string {
  if (folder === '') return text;
  const prefix = `${folder.replaceAll(sep, '/')}/`;
  return text.replaceAll(/\b(?:from|import\() ?"\.\/([^"]+)"/g, (whole, path: string) =>
    modules.has(path) ? whole.replace('./', prefix) : whole,
  );
}

/**
 * Replaces the modules of the server in a folder of compiled modules by bundles: one for each entry point and each import on use, and others with what
 * they share. Packages stay outside.
 *
 * @param dist the folder; afterwards, it has no modules that nothing imports
 * @throws Error if a module cannot be read
 */
export function bundleServer(dist: string): void {
  const unbundled = new Set(bundle(dist, UNBUNDLED).modules);
  const modules = globSync('**/*.js', { cwd: dist })
    .map((path) => path.replaceAll(sep, '/'))
    .filter((path) => !unbundled.has(path));
  writeFileSync(join(dist, LOCATION), LOCATION_MODULE);
  for (const path of modules) keepLocation(dist, path);
  // A class that is in two files would be two classes.
  const { outputFiles } = bundle(dist, SERVER, [...unbundled]);
  for (const path of [...modules, LOCATION]) rmSync(join(dist, path));
  for (const { path, text } of outputFiles) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, importFrom(relative(dirname(path), dist), text, unbundled));
  }
}
