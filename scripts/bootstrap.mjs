// The first step of every npm script: `node scripts/bootstrap.mjs <script> [arguments]`. Plain JavaScript that an old
// Node can run. Installs what is missing, finds or fetches a Node that is new enough, and runs the script with it.
import { spawn, spawnSync } from 'node:child_process';
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

/** The JSON in a file, or undefined when there is no such file. */
function readJson(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
}

/** A hash of what has to be installed. */
function lockHash() {
  return createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
}

/** Whether node_modules already holds every package of the lock, in the lock's version (`npm ci` was run by hand). */
function agreesWithLock() {
  const wanted = readJson(join(root, 'package-lock.json'));
  const installed = readJson(join(modules, '.package-lock.json'));
  if (!wanted || !installed) return false;
  return Object.entries(wanted.packages).every(([path, entry]) => {
    const found = installed.packages[path];
    return path === '' || (found ? found.version === entry.version : Boolean(entry.optional));
  });
}

/** Runs npm quietly; on failure prints what it said and ends this process with its exit code. */
function npm(args, cwd = root) {
  const cli = process.env.npm_execpath;
  const [command, first] = cli && /\.[cm]?js$/.test(cli) ? [process.execPath, [cli]] : ['npm', []];
  const result = spawnSync(command, [...first, ...args, '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 1 << 26,
    shell: command === 'npm' && process.platform === 'win32',
  });
  if (result.status === 0) return;
  console.error(`${result.stdout ?? ''}${result.stderr ?? ''}${result.error ? `${result.error.message}\n` : ''}`);
  console.error(`npm ${args.join(' ')} failed. Mend that, then run the command again.`);
  process.exit(result.status || 1);
}

/** Whether a process with this id is running. */
function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Runs `work` while no other terminal installs into the same folder; waits up to 10 minutes for its turn. */
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
    work();
  } finally {
    rmSync(installing, { force: true });
  }
}

/** Whether node_modules is what the lock asks for. */
function packagesReady() {
  if (!existsSync(modules)) return false;
  const hash = lockHash();
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return true;
  if (!agreesWithLock()) return false;
  writeFileSync(stamp, hash);
  return true;
}

/** The path of a Node that is new enough: the machine's own, or the packaged one. Undefined when that must be installed first. */
function findNode() {
  // One inside node_modules comes from an earlier version of this script: the next `npm ci` removes it.
  const isOwn = !process.execPath.startsWith(modules + sep);
  if (isOwn && Number(process.versions.node.split('.')[0]) >= NODE_MAJOR) return process.execPath;
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  const name = `${platform}-${process.arch}`;
  // The package for Apple silicon has another name than its siblings.
  const folders = [`node-${name}`, `node-bin-${name}`].map((each) => join(nodeFolder, 'node_modules', each));
  const binary = platform === 'win' ? 'node.exe' : 'node';
  return folders.map((folder) => join(folder, 'bin', binary)).find((path) => existsSync(path));
}

/** Installs what is missing, exactly as the lock files say: each package is checked against its hash there. */
function install() {
  const ready = packagesReady();
  const node = findNode();
  if (ready && node) return;
  const what = [ready ? '' : 'packages', node ? '' : `Node ${NODE_MAJOR} (this machine's is older)`];
  console.log(`Installing ${what.filter(Boolean).join(' and ')}: once, about half a minute ...`);
  if (!node) npm(['ci'], nodeFolder);
  if (!ready) npm(['ci']);
  writeFileSync(stamp, lockHash());
  if (findNode()) return;
  console.error(
    `Node ${NODE_MAJOR} or newer is needed and npm has none for this system. Install it, then run the command again.`,
  );
  process.exit(1);
}

/** Runs the script to its end; passes signals on; also stops it when whoever started us is gone. Gives its exit code. */
function run(node, args) {
  const child = spawn(node, args, {
    stdio: 'inherit',
    env: {
      // Half of the time that a process takes to start is compiling.
      NODE_COMPILE_CACHE: join(modules, '.cache', 'node'),
      ...process.env,
      PATH: [dirname(node), join(modules, '.bin'), process.env.PATH ?? ''].join(delimiter),
    },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  // npm runs scripts through a shell, and a shell that gets a signal dies without passing it on.
  const starter = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === starter) return;
    clearInterval(watch);
    child.kill('SIGTERM');
  }, 500);
  return new Promise((done, failed) => {
    child.on('error', failed);
    child.on('exit', (code, signal) => {
      clearInterval(watch);
      done(code ?? 128 + (constants.signals[signal] ?? 0));
    });
  });
}

const [script, ...rest] = process.argv.slice(2);
if (!script) {
  console.error('Usage: node scripts/bootstrap.mjs <script> [arguments]');
  process.exit(2);
}
if (!packagesReady() || !findNode()) await oneAtATime(install);
process.exitCode = await run(findNode(), [resolve(root, script), ...rest]);
