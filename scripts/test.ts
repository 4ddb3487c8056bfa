// `npm test`: starts a temporary Postgres and Redis, runs vitest with them, and prints one line with the numbers.
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onStopRequest } from '../src/dev-servers/on-stop-request.ts';
import { type GuardedProcess, runGuarded } from '../src/dev-servers/run-guarded.ts';
import type { Service } from '../src/dev-servers/server.ts';
import { type Services, startServices } from '../src/dev-servers/start.ts';
import { createTemporaryFolder } from '../src/dev-servers/temporary-folder.ts';
import { providePgBouncer, startPgBouncer } from './services/pgbouncer.ts';

const CHROMIUM_PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser'];

/**
 * Returns the path of the Chromium for browser tests: CHROMIUM_PATH, or the system's. Undefined if there is none.
 *
 * @throws Error if there is no file at CHROMIUM_PATH
 */
function findChromium({ CHROMIUM_PATH: named }: Record<string, string | undefined>): string | undefined {
  if (named === undefined || named === '') return CHROMIUM_PATHS.find((path) => existsSync(path));
  if (!existsSync(named)) throw new Error(`CHROMIUM_PATH: ${named} does not exist`);
  return named;
}

// The default of PgBouncer. Tests that hold a lock keep several transactions of an app waiting at the same time.
const POOL_SIZE = 20;

/** Starts a PgBouncer for all apps of the tests if TEST_POOLER=transaction. */
async function startPooler(
  { TEST_POOLER: mode }: NodeJS.ProcessEnv,
  postgresUrl: string,
): Promise<Service | undefined> {
  if (mode === undefined || mode === '') return undefined;
  if (mode !== 'transaction') throw new Error(`TEST_POOLER must be transaction, not ${mode}`);
  const binary = providePgBouncer();
  if (binary === undefined) throw new Error('TEST_POOLER=transaction needs PgBouncer: install it, or set PGBOUNCER');
  const started = await startPgBouncer(binary, postgresUrl, {
    poolMode: mode,
    poolSize: POOL_SIZE,
    preparedStatements: 200,
  });
  console.log(`PgBouncer: ${started.from}`);
  return started;
}

/**
 * Returns the filter of vitest for an argument. `app` stands for the tests of src/app: as a part of any path, it would match hundreds of
 * other files.
 */
function toPathFilter(argument: string): string {
  return argument === 'app' ? 'test/app/' : argument;
}

interface Report {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  testResults: { name: string; status: string; assertionResults: { status: string }[] }[];
}

const isSkipped = ({ status }: { status: string }) => status === 'pending' || status === 'skipped' || status === 'todo';

/**
 * Returns `N passed, N failed`, and `, N skipped` if any were skipped: browser tests are skipped if there is no browser. A file that
 * failed without a failed test counts as one failure.
 */
function summarizeReport(report: Report, chromium: string | undefined): string {
  const brokenFiles = report.testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  );
  const skippedInBrowser = report.testResults
    .filter(({ name }) => chromium === undefined && name.includes('/test/browser/'))
    .flatMap(({ assertionResults }) => assertionResults.filter(isSkipped)).length;
  const skipped = report.numPendingTests + report.numTodoTests - skippedInBrowser;
  const failed = report.numFailedTests + brokenFiles.length;
  const others = skipped ? `, ${skipped} skipped` : '';
  return `${report.numPassedTests} passed, ${failed} failed${others}${skippedInBrowser ? `, ${skippedInBrowser} skipped: no Chromium` : ''}`;
}

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = createTemporaryFolder('run');
const reportFile = join(folder, 'report.json');
/** The folder for temporary files of the tests. It is removed at the end, and by the next run if this one is killed. */
const temporary = join(folder, 'tmp');
mkdirSync(temporary);
let services: Services | undefined;
let pooler: Service | undefined;
let vitest: GuardedProcess | undefined;

const stop = async () => {
  await vitest?.stop();
  await pooler?.stop();
  await services?.stop();
  rmSync(folder, { recursive: true, force: true });
};
onStopRequest(stop);

try {
  const chromium = findChromium(process.env);
  services = await startServices({ mode: 'test', inMemory: true, announce: console.log });
  pooler = await startPooler(process.env, services.databaseUrl);
  const args = [
    join(root, 'node_modules/vitest/vitest.mjs'),
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${reportFile}`,
    ...process.argv.slice(2).map(toPathFilter),
  ];
  vitest = runGuarded(
    { command: process.execPath, args, cwd: root, stopSignal: 'SIGTERM', graceMs: 5000 },
    {
      ...process.env,
      NODE_ENV: 'test',
      TMPDIR: temporary,
      // Compiling takes half of the time that a process needs to start.
      NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'node'),
      TEST_DATABASE_URL: services.databaseUrl,
      TEST_REDIS_URL: services.redisUrl,
      ...(pooler === undefined ? {} : { TEST_POOLER_URL: pooler.url }),
      ...(chromium === undefined ? {} : { TEST_CHROMIUM: chromium }),
    },
    'inherit',
  );
  const exitCode = await vitest.exited;
  let line: string;
  try {
    line = summarizeReport(JSON.parse(readFileSync(reportFile, 'utf8')), chromium);
    if (exitCode !== 0 && line.includes(' 0 failed')) line += '; vitest failed outside the tests, see above';
  } catch {
    line = 'vitest ended without a report';
  }
  process.exitCode = exitCode;
  await stop();
  console.log(line);
} catch (error) {
  console.error((error as Error).message);
  await stop();
  process.exitCode = 1;
}
