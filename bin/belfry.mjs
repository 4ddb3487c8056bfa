#!/usr/bin/env node
// The command `belfry`. Plain JavaScript that an old Node can read, so that it can say which Node is needed.
import { existsSync } from 'node:fs';
import * as module from 'node:module';
import { fileURLToPath } from 'node:url';

const NODE_MAJOR = 24;
const here = (name) => new URL(`../${name}`, import.meta.url);
const bootstrap = here('scripts/bootstrap.mjs');

if (existsSync(bootstrap)) {
  // A clone of the repository runs the sources. The bootstrap installs what is missing, including Node, and runs its first argument.
  process.argv.splice(2, 0, 'src/cli/belfry.ts');
  await import(bootstrap.href);
} else if (Number(process.versions.node.split('.')[0]) < NODE_MAJOR) {
  console.error(`Belfry needs Node ${NODE_MAJOR} or newer, but this is Node ${process.versions.node}.`);
  console.error('Install a newer Node from https://nodejs.org, then run the command again.');
  process.exitCode = 1;
} else {
  // Compiling takes half of the time that a process needs to start. The compiled code is in the package's own folder, so that it goes
  // with the package. In a folder that this user cannot write to, it is among the temporary files.
  const { status } = module.enableCompileCache(process.env.NODE_COMPILE_CACHE || fileURLToPath(here('.cache')));
  if (status === module.constants.compileCacheStatus.FAILED) module.enableCompileCache();
  await import('../dist/cli/belfry.js');
}
