// Bundles the compiled modules of the server. A process of an app loads a few files instead of 900, which halves the time of its start, and holds
// neither comments nor 900 records of modules.
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { buildSync } from 'esbuild';

/** What processes load or start, apart from the app of this repository. They share modules, such as the classes of errors. */
const ENTRY_POINTS = [
  'index.js',
  'extension/index.js',
  'testing/index.js',
  'cli/belfry.js',
  'dev-servers/guard.js',
  'app/index.js',
  'client.js',
  'react.js',
  'verify-webhook.js',
];
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

/**
 * Replaces the modules of the server in a folder of compiled modules by bundles: one for each entry point and each import on use, and others with what
 * they share. Packages stay outside.
 *
 * @param dist the folder; afterwards, it has no modules that nothing imports
 * @throws Error if a module cannot be read
 */
export function bundleServer(dist: string): void {
  const modules = globSync('**/*.js', { cwd: dist }).map((path) => path.replaceAll(sep, '/'));
  writeFileSync(join(dist, LOCATION), LOCATION_MODULE);
  for (const path of modules) keepLocation(dist, path);
  const { outputFiles } = buildSync({
    absWorkingDir: dist,
    entryPoints: ENTRY_POINTS,
    outdir: dist,
    outbase: dist,
    bundle: true,
    // A class that is in two files would be two classes.
    splitting: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node24',
    chunkNames: 'shared/[name]-[hash]',
    write: false,
    logLevel: 'silent',
  });
  for (const path of [...modules, LOCATION]) rmSync(join(dist, path));
  for (const { path, text } of outputFiles) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}
