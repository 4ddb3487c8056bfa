// `npm run dev`: starts its own Postgres and Redis with data in .data/, and the web process with all roles, which restarts if
// src/ or workers/ change. It listens on this machine only (HOST changes that) and lifts rate limits for clients on this
// machine (LOOPBACK_RATE_LIMITS=on keeps them). `-- --fresh` starts with an empty .data/; `-- --allow-loss` drops tables and
// columns that are no longer declared, with the data in them.
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, isIPv6 } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { emptyDataFolder } from '../../dev-servers/data-folder.ts';
import { onStopRequest } from '../../dev-servers/on-stop-request.ts';
import { commandLineOf, isRunning, stopOrphanedServer } from '../../dev-servers/orphaned-server.ts';
import { runGuarded } from '../../dev-servers/run-guarded.ts';
import { type Services, startServices } from '../../dev-servers/start.ts';
import { writeEnvironmentFile } from './environment.ts';
import { type RestartingProcess, restartOnChange } from './restart-on-change.ts';

/** Returns why this process cannot listen on a port of an address, as an error code such as EADDRINUSE; undefined if it can. */
function findPortError(port: number, host: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    probe.listen(port, host, () => probe.close(() => resolve(undefined)));
  });
}

/** A running `npm run dev`. */
interface Instance {
  pid: number;
  url: string;
}

function readInstance(file: string): Instance | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

/**
 * Claims a lock file for this process. Returns the running instance that holds it, or undefined if this process now holds it.
 * The lock of a dead process is taken over.
 */
function acquireLock(file: string, instance: Instance): Instance | undefined {
  for (;;) {
    try {
      writeFileSync(file, JSON.stringify(instance), { flag: 'wx' });
      return undefined;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const holder = readInstance(file);
    // The id may belong to another program by now.
    if (holder && isRunning(holder.pid) && commandLineOf(holder.pid).includes('dev.ts')) return holder;
    rmSync(file, { force: true });
  }
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const dataDir = join(root, '.data');
const lock = join(dataDir, 'dev.json');

/** A key for encrypted values that is kept as long as the data: base64 of 32 bytes. */
function readDevelopmentKey(): string {
  const file = join(dataDir, 'encryption-key');
  if (!existsSync(file)) writeFileSync(file, randomBytes(32).toString('base64'), { mode: 0o600 });
  return readFileSync(file, 'utf8');
}

/** Resolves when the web process responds. There is no time limit: saving a file in src/ may fix the error that stops it. */
async function waitUntilHealthy(url: string): Promise<void> {
  for (;;) {
    const answer = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(2000) }).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer?.ok) return;
    await sleep(150);
  }
}

/** Pages for a developer to open in a browser, by path. An app may lack some of them. */
const PAGES = { '/api/docs': 'API reference', '/console': 'Console' };

async function findPages(url: string): Promise<string[]> {
  const found = await Promise.all(
    Object.entries(PAGES).map(async ([path, name]) => {
      const answer = await fetch(url + path, { signal: AbortSignal.timeout(5000) }).catch(() => undefined);
      await answer?.body?.cancel();
      return answer?.ok ? [`  ${name.padEnd(15)}${url}${path}`] : [];
    }),
  );
  return found.flat();
}

function describeRateLimits(rateLimits: string): string {
  return rateLimits === 'off'
    ? `Rate limits do not apply to clients on this machine: LOOPBACK_RATE_LIMITS=off, which npm run dev sets.
To enable them as in production: LOOPBACK_RATE_LIMITS=on npm run dev`
    : `Rate limits apply as in production: LOOPBACK_RATE_LIMITS=${rateLimits}.`;
}

function welcomeText(url: string, pages: string[], rateLimits: string): string {
  return `
${pages.map((line) => `${line}\n`).join('')}
${describeRateLimits(rateLimits)}

Press Ctrl-C to stop everything. Try:

  curl -s ${url}/api/auth/register -H 'content-type: application/json' \\
    -d '{"name":"Ada","email":"ada@example.com","password":"a bell rings at noon"}'

README.md has a quick start.
`;
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

const given = process.argv.slice(2);
const fresh = given.includes('--fresh');
const allowLoss = given.includes('--allow-loss');
const unknown = given.filter((argument) => argument !== '--fresh' && argument !== '--allow-loss');
if (unknown.length) fail(`Unknown argument ${unknown.join(' ')}. Options of npm run dev: --fresh, --allow-loss.`);
if (existsSync(join(root, '.env'))) process.loadEnvFile(join(root, '.env'));
const port = Number(process.env.PORT || 5001);
if (!Number.isInteger(port) || port < 1 || port > 65_535)
  fail(`PORT must be a number from 1 to 65535, not ${process.env.PORT}.`);
const host = process.env.HOST || '127.0.0.1';
const rateLimits = process.env.LOOPBACK_RATE_LIMITS || 'off';
const isLocal = ['127.0.0.1', '::1', 'localhost', '0.0.0.0', '::'].includes(host);
const url = `http://${isLocal ? 'localhost' : isIPv6(host) ? `[${host}]` : host}:${port}`;

mkdirSync(dataDir, { recursive: true });
const other = acquireLock(lock, { pid: process.pid, url });
if (other)
  fail(`npm run dev is already running in this folder: ${other.url} (process ${other.pid}). Press Ctrl-C there first.`);
process.on('exit', () => rmSync(lock, { force: true }));
// If root starts this, Postgres runs as another user, who must be able to enter this folder. Secret files have their own mode.
chmodSync(dataDir, 0o711);

let services: Services | undefined;
let web: RestartingProcess | undefined;
let stopping = false;
const stop = async () => {
  stopping = true;
  await web?.stop();
  await services?.stop();
};
onStopRequest(stop);

const webFolder = join(dataDir, 'web');
try {
  await stopOrphanedServer(webFolder);
  const problem = await findPortError(port, host);
  if (problem === 'EADDRINUSE')
    fail(`Port ${port} is in use. Stop the program that uses it, or choose another port: PORT=5002 npm run dev`);
  if (problem === 'EADDRNOTAVAIL' || problem === 'ENOTFOUND')
    fail(`HOST=${host} is not an address of this machine. Try HOST=127.0.0.1, or HOST=0.0.0.0 for all addresses.`);
  if (problem) fail(`Cannot listen on ${host}, port ${port}: ${problem}.`);
  if (fresh) await emptyDataFolder(dataDir, ['dev.json']);
  services = await startServices({ mode: 'dev', dataDir, announce: console.log });
  mkdirSync(webFolder, { recursive: true });
  const { databaseUrl, redisUrl } = services;
  const keys = process.env.SVC_ENCRYPTION_KEYS || readDevelopmentKey();
  writeEnvironmentFile(root, { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, SVC_ENCRYPTION_KEYS: keys });
  const startWeb = () =>
    runGuarded(
      {
        command: process.execPath,
        args: [join(root, 'src/web.ts')],
        cwd: root,
        stopSignal: 'SIGTERM',
        graceMs: 20_000,
        pidIn: webFolder,
      },
      {
        ...process.env,
        NODE_ENV: 'development',
        PORT: String(port),
        HOST: host,
        LOOPBACK_RATE_LIMITS: rateLimits,
        DATABASE_URL: databaseUrl,
        OWN_DATABASE: process.env.DATABASE_URL ? 'no' : 'yes',
        ALLOW_LOSS: allowLoss ? 'yes' : 'no',
        REDIS_URL: redisUrl,
        SVC_ENCRYPTION_KEYS: keys,
      },
      'inherit',
    );
  const folders = ['src', 'workers'].map((folder) => join(root, folder));
  web = restartOnChange(folders, startWeb, (line) => console.log(line.replace(`${root}/`, '').replace(root, '')));
  await waitUntilHealthy(url);
  console.log(welcomeText(url, await findPages(url), rateLimits));
} catch (error) {
  if (!stopping) {
    console.error((error as Error).message);
    await stop();
    process.exit(1);
  }
}
