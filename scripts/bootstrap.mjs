// The first step of every npm script: `node scripts/bootstrap.mjs <script> [arguments]`. Plain JavaScript that an old
// Node can run. Installs what is missing, finds or fetches a Node that is new enough, and runs the script with it.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const NODE_MAJOR = 24;
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(root, 'node_modules');
// The packaged Node has a lock file of its own: `npm ci` for the other packages would remove it.
const nodeFolder = join(root, 'scripts', 'node');
const stamp = join(modules, '.belfry-lock');
const installing = join(root, '.data', 'installing.pid');

/** Returns the parsed JSON of a file, or undefined if the file does not exist. */
function readJson(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
}

/** Returns a hash of everything that has to be installed. */
function lockHash() {
  return createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
}

/** Returns whether node_modules already contains every package of the lock file in its version (after `npm ci` was run by hand). */
function agreesWithLock() {
  const wanted = readJson(join(root, 'package-lock.json'));
  const installed = readJson(join(modules, '.package-lock.json'));
  if (!wanted || !installed) return false;
  return Object.entries(wanted.packages).every(([path, entry]) => {
    const found = installed.packages[path];
    return path === '' || (found ? found.version === entry.version : Boolean(entry.optional));
  });
}

/**
 * Runs npm quietly. On failure, prints its output and exits with its exit code. npm ends if this process is asked to end, or if its parent process is
 * gone.
 */
async function npm(args, cwd = root) {
  const cli = process.env.npm_execpath;
  const [command, first] = cli && /\.[cm]?js$/.test(cli) ? [process.execPath, [cli]] : ['npm', []];
  const output = [];
  const start = () => {
    const child = spawn(command, [...first, ...args, '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: command === 'npm' && process.platform === 'win32',
    });
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => output.push(data));
    return child;
  };
  const { code, asked } = await waitForEnd(start).catch((error) => {
    output.push(Buffer.from(error.message));
    return { code: 1 };
  });
  if (asked) fail(128 + constants.signals[asked]);
  if (code === 0) return;
  console.error(Buffer.concat(output).toString());
  console.error(`npm ${args.join(' ')} failed. Fix the problem, then run the command again.`);
  fail(code || 1);
}

/** Ends this process during an installation. */
function fail(code) {
  rmSync(installing, { force: true });
  process.exit(code);
}

/** Returns whether a process with this id is running. */
function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Runs `work` while no other terminal installs into the same folder. Waits up to 10 minutes for the others. */
async function oneAtATime(work) {
  mkdirSync(dirname(installing), { recursive: true });
  for (let waited = 0; waited < 600; waited++) {
    try {
      writeFileSync(installing, String(process.pid), { flag: 'wx' });
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
      if (waited === 0) console.log('Waiting for another terminal to finish installing ...');
      const owner = existsSync(installing) ? Number(readFileSync(installing, 'utf8')) : 0;
      if (owner && !alive(owner)) rmSync(installing, { force: true });
      else await new Promise((done) => setTimeout(done, 1000));
    }
  }
  try {
    await work();
  } finally {
    rmSync(installing, { force: true });
  }
}

/** Returns whether node_modules matches the lock file. */
function packagesReady() {
  if (!existsSync(modules)) return false;
  const hash = lockHash();
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return true;
  if (!agreesWithLock()) return false;
  writeFileSync(stamp, hash);
  return true;
}

/** Returns the path of a Node that is new enough: the machine's own or the packaged one. Undefined if it must be installed first. */
function findNode() {
  // A Node inside node_modules comes from an earlier version of this script. The next `npm ci` removes it.
  const isOwn = !process.execPath.startsWith(modules + sep);
  if (isOwn && Number(process.versions.node.split('.')[0]) >= NODE_MAJOR) return process.execPath;
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  const name = `${platform}-${process.arch}`;
  // The package for Apple silicon is named differently from the others.
  const folders = [`node-${name}`, `node-bin-${name}`].map((each) => join(nodeFolder, 'node_modules', each));
  const binary = platform === 'win' ? 'node.exe' : 'node';
  return folders.map((folder) => join(folder, 'bin', binary)).find((path) => existsSync(path));
}

/** Installs missing packages exactly as the lock files say. npm checks each package against its hash there. */
async function install() {
  const ready = packagesReady();
  const node = findNode();
  if (ready && node) return;
  const what = [ready ? '' : 'packages', node ? '' : `Node ${NODE_MAJOR} (this machine's is older)`];
  console.log(`Installing ${what.filter(Boolean).join(' and ')}: once, about half a minute ...`);
  if (!node) await npm(['ci'], nodeFolder);
  if (!ready) await npm(['ci']);
  writeFileSync(stamp, lockHash());
  if (findNode()) return;
  console.error(
    `Node ${NODE_MAJOR} or newer is required, and npm has no package of it for this system. Install it, then run the command again.`,
  );
  process.exit(1);
}

/**
 * Starts a child process, forwards signals to it, and stops it if the parent process is gone. Resolves when it has ended: with its exit code, the signal that
 * ended it, and the one that it was asked to end with.
 */
function waitForEnd(start) {
  let asked;
  let child;
  const stop = (signal) => {
    asked ??= signal;
    child.kill(signal);
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  // Before the start: a signal must find a handler as soon as there is a child process to end.
  for (const signal of signals) process.on(signal, stop);
  child = start();
  // npm runs scripts through a shell, and a shell that gets a signal dies without forwarding it.
  const starter = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === starter) return;
    clearInterval(watch);
    stop('SIGTERM');
  }, 500);
  return new Promise((done, failed) => {
    const end = (code, signal) => {
      clearInterval(watch);
      for (const each of signals) process.off(each, stop);
      done({ code, signal, asked });
    };
    child.on('error', failed);
    child.on('close', end);
    // Its own child processes may keep its output open.
    child.on('exit', (code, signal) => asked && end(code, signal));
  });
}

/** Runs the script to its end. Returns its exit code. */
async function run(node, args) {
  const env = {
    // Compiling takes half of the time that a process needs to start.
    NODE_COMPILE_CACHE: join(modules, '.cache', 'node'),
    ...process.env,
    PATH: [dirname(node), join(modules, '.bin'), process.env.PATH ?? ''].join(delimiter),
  };
  const { code, signal } = await waitForEnd(() => spawn(node, args, { stdio: 'inherit', env }));
  return code ?? 128 + (constants.signals[signal] ?? 0);
}

const [script, ...rest] = process.argv.slice(2);
if (!script) {
  console.error('Usage: node scripts/bootstrap.mjs <script> [arguments]');
  process.exit(2);
}
if (!packagesReady() || !findNode()) await oneAtATime(install);
process.exitCode = await run(findNode(), [resolve(root, script), ...rest]);
