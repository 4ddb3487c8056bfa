#!/usr/bin/env node
// The command `belfry`. Plain JavaScript that an old Node can read, so that it can say which Node is needed.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import * as module from 'node:module';
import { constants } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const NODE_MAJOR = 24;
const here = (name) => new URL(`../${name}`, import.meta.url);
const bootstrap = here('scripts/bootstrap.mjs');

/** Returns the folder of a path and those above it. */
function listFolders(path) {
  const folder = dirname(path);
  return folder === path ? [] : [folder, ...listFolders(folder)];
}

/** Returns the Node of the npm package `node` that the app has where this machine's is too old: beside Belfry, or beside the link to this file. */
function findPackagedNode() {
  const binary = process.platform === 'win32' ? 'node.exe' : 'node';
  return [process.argv[1], fileURLToPath(import.meta.url)]
    .flatMap(listFolders)
    .map((folder) => join(folder, 'node_modules', 'node', 'bin', binary))
    .find((path) => existsSync(path) && path !== process.execPath);
}

/** Runs this command with another Node to its end: forwards signals, and stops it if the parent process is gone. */
function runWith(node) {
  const child = spawn(node, process.argv.slice(1), {
    stdio: 'inherit',
    env: { ...process.env, PATH: [dirname(node), process.env.PATH || ''].join(delimiter) },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  const starter = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid !== starter) child.kill('SIGTERM');
  }, 500);
  return new Promise((done, failed) => {
    child.on('error', failed);
    child.on('exit', (code, signal) => {
      clearInterval(watch);
      done(signal ? 128 + (constants.signals[signal] || 0) : code);
    });
  });
}

if (existsSync(bootstrap)) {
  // A clone of the repository runs the sources. The bootstrap installs what is missing, including Node, and runs its first argument.
  process.argv.splice(2, 0, 'src/cli/belfry.ts');
  await import(bootstrap.href);
} else if (Number(process.versions.node.split('.')[0]) < NODE_MAJOR) {
  const node = findPackagedNode();
  if (node !== undefined) process.exitCode = await runWith(node);
  else {
    console.error(`Belfry needs Node ${NODE_MAJOR} or newer, but this is Node ${process.versions.node}.`);
    console.error('Install a newer Node from https://nodejs.org, then run the command again.');
    process.exitCode = 1;
  }
} else {
  // Compiling takes half of the time that a process needs to start. The compiled code is in the package's own folder, so that it goes
  // with the package. If this user cannot write there, it is not kept: another user could put code into a shared temporary folder.
  module.enableCompileCache(process.env.NODE_COMPILE_CACHE || fileURLToPath(here('.cache')));
  await import('../dist/cli/belfry.js');
}
