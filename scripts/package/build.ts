// `npm run build`: compiles the packages, each into its own dist/: JavaScript (that of the server in bundles), declarations, the pages for browsers,
// and the verifier of webhooks for browsers.
// The package `belfry` contains all of its dist/ except dist/app, the app of this repository, which is for the image (Dockerfile).
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildPages } from '../../packages/pages/build/build.ts';
import { buildConsoleTypes } from '../../packages/pages/build/console-types.ts';
import { bundleServer } from './bundle-server.ts';
import { bundleVerifyWebhook } from './bundle-verify-webhook.ts';
import { readBundledPackages } from './bundled-packages.ts';
import { COMPILED_PACKAGES, PAGES_PACKAGE, publishedManifest } from './manifest.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Compiles the sources of all packages into a folder. @throws Error with the compiler's messages */
function compile(folder: string, ...options: string[]): void {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const args = [compiler, '-p', 'scripts/package/tsconfig.json', '--outDir', folder, ...options];
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(stdout);
}

/**
 * Names the compiled modules in declarations. The compiler does so in JavaScript only; declarations keep `./x.ts`, which some tools
 * cannot resolve.
 */
function renameImportsInDeclarations(folder: string): void {
  const importPath = /((?:from|module|import) ?\(?['"]\.{1,2}\/[^'"]+)\.ts(['"])/g;
  for (const name of globSync('**/*.d.ts', { cwd: folder })) {
    const file = join(folder, name);
    const text = readFileSync(file, 'utf8');
    const renamed = text.replaceAll(importPath, '$1.js$2');
    if (renamed !== text) writeFileSync(file, renamed);
  }
}

/** Builds the package with the pages, and says which other packages are in it. */
function buildPagesPackage(): void {
  const folder = join(root, PAGES_PACKAGE, 'dist');
  rmSync(folder, { recursive: true, force: true });
  const { names, licences } = readBundledPackages(buildPages(folder));
  const notice = [`The files of this package contain code of ${names.join(', ')}:`, ...licences];
  writeFileSync(join(folder, 'LICENSES.txt'), `${notice.join('\n\n')}\n`);
  buildConsoleTypes(folder);
  writeFileSync(join(folder, 'index.js'), "export const folder = new URL('./', import.meta.url);\n");
  writeFileSync(
    join(folder, 'index.d.ts'),
    '/** The folder with the built files and `manifest.json`. */\nexport declare const folder: URL;\n',
  );
}

/** Removes the declarations that no entry point of `belfry` refers to: those of its internals. */
function removeInternalDeclarations(dist: string): void {
  const { exports = {} } = publishedManifest('.');
  const entryPoints = Object.values(exports).flatMap((each) => (each as { types?: string }).types ?? []);
  const kept = new Set(entryPoints.map((path) => join(dist, '..', path)));
  for (const file of kept)
    for (const [, path] of readFileSync(file, 'utf8').matchAll(/(?:from|module|import) ?\(?['"](\.[^'"]+)\.js['"]/g))
      kept.add(`${join(dirname(file), path!)}.d.ts`);
  for (const name of globSync('**/*.d.ts', { cwd: dist })) if (!kept.has(join(dist, name))) rmSync(join(dist, name));
}

/** Moves what the compiler has written to the folder `dist` of each package below a folder. */
function moveToPackages(compiled: string, folder: string): void {
  for (const each of COMPILED_PACKAGES)
    cpSync(join(compiled, each, 'src'), join(folder, each, 'dist'), { recursive: true });
  rmSync(compiled, { recursive: true });
}

/**
 * Writes only the declarations of the packages, without checking types.
 *
 * @param folder gets a folder `dist` for each package, where the package is in the repository
 * @throws Error with the compiler's messages
 */
export function buildDeclarations(folder: string): void {
  const compiled = join(folder, '.compiled');
  compile(compiled, '--emitDeclarationOnly', '--noCheck');
  renameImportsInDeclarations(compiled);
  moveToPackages(compiled, folder);
}

/**
 * Builds the files of the packages and of the image, in the folder `dist` of each package.
 *
 * @param options `checksTypes`: default true. Checking takes half of the time
 * @throws Error with the compiler's messages
 */
export function build({ checksTypes = true } = {}): void {
  for (const each of COMPILED_PACKAGES) rmSync(join(root, each, 'dist'), { recursive: true, force: true });
  const compiled = join(root, 'dist/.compiled');
  mkdirSync(dirname(compiled));
  compile(compiled, '--declaration', 'false', '--removeComments', ...(checksTypes ? [] : ['--noCheck']));
  moveToPackages(compiled, root);
  bundleServer(join(root, 'dist'));
  buildDeclarations(root);
  removeInternalDeclarations(join(root, 'dist'));
  buildPagesPackage();
  writeFileSync(join(root, 'packages/verify-webhook/dist/index.browser.js'), bundleVerifyWebhook());
}

if (import.meta.main) {
  try {
    build();
  } catch (error) {
    console.error((error as Error).message);
    process.exit(1);
  }
}
