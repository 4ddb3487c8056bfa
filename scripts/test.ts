// `npm test`: starts a temporary Postgres and Redis if the selected tests need them, runs vitest, and prints what the time was spent on.
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onStopRequest } from '../src/dev-servers/on-stop-request.ts';
import { type GuardedProcess, runGuarded } from '../src/dev-servers/run-guarded.ts';
import type { Service } from '../src/dev-servers/server.ts';
import { type Services, startServices } from '../src/dev-servers/start.ts';
import { createTemporaryFolder } from '../src/dev-servers/temporary-folder.ts';
import { providePgBouncer, startPgBouncer } from './services/pgbouncer.ts';
import { type Selection, selectTests } from './test/arguments.ts';
import { describeTimes, type Report, summarizeReport } from './test/report.ts';
import { createRunDatabases, type RunDatabases } from './test/run-databases.ts';

const CHROMIUM_PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser'];

/** A Chromium without windows, which takes two thirds of the time for the same pages. It has no push service. */
const HEADLESS_SHELL = '/usr/bin/chromium-headless-shell';

/**
 * Returns the variables that tell browser tests which Chromium to start: CHROMIUM_PATH, or the system's, which may have a second one for
 * pages. Empty if there is none.
 *
 * @throws Error if there is no file at CHROMIUM_PATH
 */
function findChromium({ CHROMIUM_PATH: named }: Record<string, string | undefined>): Record<string, string> {
  if (named !== undefined && named !== '') {
    if (!existsSync(named)) throw new Error(`CHROMIUM_PATH: ${named} does not exist`);
    return { TEST_CHROMIUM: named };
  }
  const found = CHROMIUM_PATHS.find((path) => existsSync(path));
  if (found === undefined) return {};
  return { TEST_CHROMIUM: found, ...(existsSync(HEADLESS_SHELL) && { TEST_HEADLESS_SHELL: HEADLESS_SHELL }) };
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

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = createTemporaryFolder('run');
const reportFile = join(folder, 'report.json');
/** The folder for temporary files of the tests. It is removed at the end, and by the next run if this one is killed. */
const temporary = join(folder, 'tmp');
mkdirSync(temporary);
/** A line for each app that a test file starts. */
const bootsFile = join(folder, 'boots.txt');
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

/** Starts what the tests need. Returns the variables that tell them, and the databases of the run. */
async function provideServices(): Promise<{ databases: RunDatabases; variables: Record<string, string> }> {
  services = await startServices({ mode: 'test', inMemory: true, announce: console.log });
  pooler = await startPooler(process.env, services.databaseUrl);
  const databases = await createRunDatabases(services.databaseUrl, Boolean(process.env.TEST_DATABASE_URL));
  const variables = {
    TEST_DATABASE_URL: services.databaseUrl,
    TEST_REDIS_URL: services.redisUrl,
    TEST_TEMPLATE: databases.template,
    TEST_DATABASE_PREFIX: databases.prefix,
    ...(pooler === undefined ? {} : { TEST_POOLER_URL: pooler.url }),
  };
  return { databases, variables };
}

/** Returns the last lines of the run: what the time was spent on, and `N passed, N failed`. */
function describeRun(projects: Selection['projects'], hasChromium: boolean, problem: string): string[] {
  if (!existsSync(reportFile)) return ['vitest ended without a report'];
  const report: Report = JSON.parse(readFileSync(reportFile, 'utf8'));
  mkdirSync(join(root, 'test', '.output'), { recursive: true });
  copyFileSync(reportFile, join(root, 'test', '.output', 'report.json'));
  const boots = existsSync(bootsFile) ? readFileSync(bootsFile, 'utf8').split('\n').filter(Boolean) : [];
  const isSkipped = (file: string) => !hasChromium && projects.get(relative(root, file)) === 'browser';
  const line = summarizeReport(report, isSkipped);
  return [...describeTimes(report, projects, boots, root), line.includes(' 0 failed') ? line + problem : line];
}

try {
  const chromium = findChromium(process.env);
  const { args, projects, needsServices, note, isEmpty } = selectTests(root, process.argv.slice(2));
  if (note !== '') console.log(note);
  if (isEmpty) {
    await stop();
    console.log('0 passed, 0 failed');
    process.exit();
  }
  const provided = needsServices ? await provideServices() : undefined;
  vitest = runGuarded(
    {
      command: process.execPath,
      args: [
        join(root, 'node_modules/vitest/vitest.mjs'),
        'run',
        '--reporter=default',
        '--reporter=json',
        `--outputFile.json=${reportFile}`,
        ...args,
      ],
      cwd: root,
      stopSignal: 'SIGTERM',
      graceMs: 5000,
    },
    {
      ...process.env,
      NODE_ENV: 'test',
      TMPDIR: temporary,
      TEST_BOOTS_FILE: bootsFile,
      // Compiling takes half of the time that a process needs to start.
      NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'node'),
      ...provided?.variables,
      ...chromium,
    },
    'inherit',
  );
  const exitCode = await vitest.exited;
  const forgotten = (await provided?.databases.finish()) ?? [];
  if (forgotten.length > 0) console.error(`Test databases that were never dropped: ${forgotten.join(', ')}`);
  process.exitCode = exitCode || (forgotten.length > 0 ? 1 : 0);
  const lines = describeRun(
    projects,
    'TEST_CHROMIUM' in chromium,
    process.exitCode === 0 ? '' : '; the run failed outside the tests, see above',
  );
  await stop();
  for (const line of lines) console.log(line);
} catch (error) {
  console.error((error as Error).message);
  await stop();
  process.exitCode = 1;
}
