// `npm run docs`: serves docs/ as a site that follows changes. `npm run docs -- build` writes it to dist-docs/, and `preview` serves that. Options are
// those of VitePress.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { runNpm } from '../../../bench/setup/npm.ts';

const FOLDER = import.meta.dirname;
const COMMANDS = ['dev', 'build', 'preview'];

/** Installs VitePress as the lock file says, unless it is there. @throws if npm fails */
async function install(): Promise<void> {
  const hash = createHash('sha256')
    .update(readFileSync(join(FOLDER, 'package-lock.json')))
    .digest('hex');
  // An interrupted installation leaves no such file.
  const stamp = join(FOLDER, 'node_modules', '.belfry-lock');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return;
  console.log('Installing VitePress: once ...');
  await runNpm(FOLDER, 'ci');
  writeFileSync(stamp, hash);
}

await install();
const [first = 'dev', ...rest] = process.argv.slice(2);
const args = COMMANDS.includes(first) ? [first, FOLDER, ...rest] : ['dev', FOLDER, first, ...rest];
process.argv.splice(2, Infinity, ...args);
await import(pathToFileURL(join(FOLDER, 'node_modules', 'vitepress', 'bin', 'vitepress.js')).href);
