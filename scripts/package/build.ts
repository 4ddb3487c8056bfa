// `npm run build`: compiles src/ into dist/: JavaScript (that of the server in bundles), declarations, the files of pages, and verify-webhook
// for browsers.
// The package contains all of it except dist/app, the app of this repository, which is for the image (Dockerfile).
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleServer } from './bundle-server.ts';
import { bundleVerifyWebhook } from './bundle-verify-webhook.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const dist = join(root, 'dist');

/** Compiles the sources into a folder. @throws Error with the compiler's messages */
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

/** Copies what the server reads from disk: the pages, scripts and styles in the folders `page`. */
function copyPages(): void {
  for (const folder of globSync('**/page', { cwd: join(root, 'src') }))
    cpSync(join(root, 'src', folder), join(dist, folder), { recursive: true });
}

/**
 * Writes only the declarations of the package into a folder, without checking types.
 *
 * @throws Error with the compiler's messages
 */
export function buildDeclarations(folder: string): void {
  compile(folder, '--emitDeclarationOnly', '--noCheck');
  renameImportsInDeclarations(folder);
}

/** Builds the files of the package and of the image in dist/. */
export function build(): void {
  rmSync(dist, { recursive: true, force: true });
  compile(dist, '--declaration', 'false', '--removeComments');
  bundleServer(dist);
  buildDeclarations(dist);
  copyPages();
  writeFileSync(join(dist, 'extensions/webhooks/verify-webhook.browser.js'), bundleVerifyWebhook());
}

if (import.meta.main) {
  try {
    build();
  } catch (error) {
    console.error((error as Error).message);
    process.exit(1);
  }
}
