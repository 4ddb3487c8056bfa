import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeCompleteFile } from '../../dev-servers/complete-file.ts';
import { emptyDataFolder } from '../../dev-servers/data-folder.ts';
import { onStopRequest } from '../../dev-servers/on-stop-request.ts';
import { isRunning, readCommandLine } from '../../dev-servers/orphaned-server.ts';
import { type Services, startServices } from '../../dev-servers/start.ts';
import { DEVELOPMENT_ENVIRONMENT, type Project } from '../project/project.ts';
import { assertAddressIsFree, readAddress } from './address.ts';
import type { RestartingProcess } from './restart-on-change.ts';
import { isOutputRaw, startApp, stopOrphanedApp } from './start-app.ts';

/** The options of `belfry dev`. */
export interface DevOptions {
  /** Starts with an empty data folder. */
  fresh?: boolean;
  /** Drops tables and columns that are no longer declared, with the data in them. */
  allowLoss?: boolean;
  /** Further folders whose files restart the app, relative to that of the app. */
  watch?: readonly string[];
}

/** Writes the file with the environment for other commands, and removes it when this process exits. */
function writeEnvironmentFile(root: string, environment: Record<string, string>): void {
  const file = join(root, DEVELOPMENT_ENVIRONMENT);
  writeCompleteFile(file, JSON.stringify(environment));
  process.on('exit', () => rmSync(file, { force: true }));
}

/** A running `belfry dev`. */
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
    if (holder && isRunning(holder.pid) && /belfry.*\bdev\b/s.test(readCommandLine(holder.pid))) return holder;
    rmSync(file, { force: true });
  }
}

/** A key for encrypted values that is kept as long as the data: base64 of 32 bytes. */
function readDevelopmentKey(dataDir: string): string {
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
    await sleep(25);
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
    ? 'Rate limits are off on this machine; LOOPBACK_RATE_LIMITS=on npx belfry dev applies them as in production.'
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

/**
 * Runs the app with its own Postgres and Redis, whose data is in .data/, until it is asked to stop. The web process runs all roles and
 * restarts if the app's files change. It listens on this machine only (HOST changes that) and lifts rate limits for clients on this
 * machine (LOOPBACK_RATE_LIMITS=on keeps them).
 */
export async function runDev(
  project: Project,
  { fresh = false, allowLoss = false, watch = [] }: DevOptions,
): Promise<void> {
  const { root } = project;
  const address = readAddress();
  const isRaw = isOutputRaw();
  const { url } = address;
  const dataDir = join(root, '.data');
  mkdirSync(dataDir, { recursive: true });
  const lock = join(dataDir, 'dev.json');
  const other = acquireLock(lock, { pid: process.pid, url });
  if (other) {
    throw new Error(
      `belfry dev is already running in this folder: ${other.url} (process ${other.pid}). Press Ctrl-C there first.`,
    );
  }
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
  onStopRequest(stop, () => web?.kill());

  try {
    await stopOrphanedApp(root);
    await assertAddressIsFree(address);
    if (fresh) await emptyDataFolder(dataDir, ['dev.json']);
    services = await startServices({ mode: 'dev', dataDir, announce: console.log });
    const SVC_ENCRYPTION_KEYS = process.env.SVC_ENCRYPTION_KEYS || readDevelopmentKey(dataDir);
    const { databaseUrl, redisUrl } = services;
    const NODE_ENV = 'development';
    writeEnvironmentFile(root, { NODE_ENV, DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, SVC_ENCRYPTION_KEYS });
    const rateLimits = process.env.LOOPBACK_RATE_LIMITS || 'off';
    const environment = { LOOPBACK_RATE_LIMITS: rateLimits, ALLOW_LOSS: allowLoss ? 'yes' : 'no', SVC_ENCRYPTION_KEYS };
    web = startApp(project, address, services, { environment, alsoWatched: watch, isRaw });
    await waitUntilHealthy(url);
    console.log(welcomeText(url, await findPages(url), rateLimits));
  } catch (error) {
    if (stopping) return;
    await stop();
    throw error;
  }
}
