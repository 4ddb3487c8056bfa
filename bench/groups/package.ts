import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { build } from '../../scripts/package/build.ts';
import { packAll } from '../../scripts/package/pack.ts';
import { findFreePort } from '../../src/dev-servers/server.ts';
import { createTestApi } from '../../src/testing/api.ts';
import {
  createPackagedApp,
  createSandbox,
  type PackagedApp,
  type RunningCommand,
  type Sandbox,
  waitForHttp,
} from '../../test/package/packaged-app.ts';
import type { Bench, Figure, Group } from '../figure.ts';
import { median } from '../measure/statistics.ts';
import { withOwnDatabase } from '../setup/database.ts';

const DATABASE = 'bench_package';
const BELFRY = 'node_modules/.bin/belfry';
/** The roles that `web` leaves to other processes, as in the Procfile of an app. */
const WEB_ONLY = { RELAY: 'off', WEBHOOKS_WORKER: 'off', PUSH_WORKER: 'off', JOB_WORKER: 'off' };
// By then, a process has released the memory of its start.
const IDLE_MS = 30_000;

const toRange = (values: readonly number[], digits = 0) =>
  `${Math.min(...values).toFixed(digits)}–${Math.max(...values).toFixed(digits)}`;
const secondsSince = (begin: number) => (performance.now() - begin) / 1000;

/** Returns the size of all files in a folder, in MB. A file with several names counts once. */
function measureFolder(folder: string): number {
  const sizes = new Map<number, number>();
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const stats = statSync(join(folder, name), { throwIfNoEntry: false });
    if (stats?.isFile()) sizes.set(stats.ino, stats.size);
  }
  return [...sizes.values()].reduce((sum, size) => sum + size, 0) / 2 ** 20;
}

/** Returns the size of a package that depends on nothing, in bytes. */
function measureUnpacked({ root }: Sandbox, tarball: string): number {
  const folder = mkdtempSync(join(root, 'unpacked-'));
  execFileSync('tar', ['xzf', tarball, '-C', folder]);
  return measureFolder(folder) * 2 ** 20;
}

/** Starts the dev server of an app, and runs work as soon as it answers. Returns the seconds until then and until the end of the work. */
async function runDev(app: PackagedApp, work: (url: string) => Promise<void> = async () => undefined) {
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const begin = performance.now();
  const dev = app.start('npm', ['run', 'dev'], { PORT: String(port) });
  await waitForHttp(`${url}/healthz`);
  const answered = secondsSince(begin);
  await work(url);
  const finished = secondsSince(begin);
  dev.signal('SIGINT');
  await dev.ended;
  return { answered, finished };
}

/** Returns the ms from each save of a file of the app until its new process answers. */
async function measureReloads(app: PackagedApp, url: string, reps: number): Promise<number[]> {
  const file = join(app.folder, 'src/app.ts');
  const text = readFileSync(file, 'utf8');
  const times: number[] = [];
  for (let round = 0; round < reps; round++) {
    // By then, the process has finished the work of its start.
    await sleep(2000);
    const begin = performance.now();
    writeFileSync(file, `${text}\n// ${round}\n`);
    while (
      await fetch(`${url}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      await sleep(5);
    await waitForHttp(`${url}/healthz`);
    times.push(performance.now() - begin);
  }
  writeFileSync(file, text);
  return times;
}

async function createFirstRecord(url: string): Promise<void> {
  const account = { name: 'Ada', email: 'ada@example.com', password: 'a bell rings at noon' };
  const { body } = await createTestApi(url).post('/api/auth/register', account);
  const { status } = await createTestApi(url, body.data.token).post('/api/posts', { title: 'Hello' });
  if (status !== 201) throw new Error(`The first record was not created: ${status}`);
}

/** Measures the ms from the start of a command until it prints something. */
async function measureUntilPrinted(command: RunningCommand, text: string): Promise<number> {
  const begin = performance.now();
  const printed = new Promise<void>((done) => {
    command.child.stdout!.on('data', () => command.output().includes(text) && done());
  });
  const ended = command.ended.then(({ output }) => {
    if (!output.includes(text)) throw new Error(`The command ended:\n${output}`);
  });
  await Promise.race([printed, ended]);
  return performance.now() - begin;
}

/** Returns the memory that a process holds, in MB. */
const measureMemory = ({ child }: RunningCommand) =>
  Number(execFileSync('ps', ['-o', 'rss=', '-p', String(child.pid)], { encoding: 'utf8' })) / 1024;

async function stop(command: RunningCommand): Promise<void> {
  command.child.kill('SIGTERM');
  await command.ended;
}

/** Applies the app's migrations, and returns the environment of a deployment. */
async function prepareDeployment({ servers }: Bench, app: PackagedApp): Promise<Record<string, string>> {
  const env = {
    NODE_ENV: 'production',
    APP_URL: 'https://api.example.com',
    DATABASE_URL: servers.databaseUrl,
    REDIS_URL: servers.redisUrl,
    REDIS_PREFIX: DATABASE,
    SVC_ENCRYPTION_KEYS: await app.run(BELFRY, ['keys', 'generate']),
    HOST: '127.0.0.1',
    PORT: '0',
    DRAIN_DELAY_MS: '0',
  };
  await app.run(BELFRY, ['migrate'], env);
  return env;
}

/** Measures the start and the idle memory of an app in production. */
async function measureProduction(bench: Bench, app: PackagedApp): Promise<Figure[]> {
  const env = await prepareDeployment(bench, app);
  const [starts, versions, webs, singles]: number[][] = [[], [], [], []];
  for (let round = 0; round < bench.reps; round++) {
    versions!.push(await measureUntilPrinted(app.start(BELFRY, ['--version']), '.'));
    const web = app.start(BELFRY, ['start', 'web'], { ...env, ...WEB_ONLY });
    // The line of a completed start.
    starts!.push(await measureUntilPrinted(web, 'with the roles'));
    const single = app.start(BELFRY, ['start'], env);
    await single.printed(/with the roles/);
    await sleep(IDLE_MS);
    webs!.push(measureMemory(web));
    singles!.push(measureMemory(single));
    await Promise.all([web, single].map(stop));
  }
  const figure = (name: string, values: readonly number[], unit: 'MB' | 'ms', note: string): Figure => ({
    name: `package.${name}`,
    value: median(values),
    unit,
    note: `${toRange(values)}; ${note}`,
  });
  return [
    figure('memory', webs!, 'MB', 'web without the other roles, idle for 30 s'),
    figure('memory.single', singles!, 'MB', 'one process with all roles, idle for 30 s'),
    figure('start', starts!, 'ms', '`belfry start web` until it is ready'),
    figure('version', versions!, 'ms', '`belfry --version`'),
  ];
}

const FIGURES = [
  'first-record',
  'create',
  'dev',
  'dev.again',
  'dev.reload',
  'size',
  'installed',
  'installed.production',
  'client',
  'verify-webhook',
  'pages',
  'memory',
  'memory.single',
  'start',
  'version',
].map((name) => `package.${name}`);

/** Measures the package as a team gets it: an app that create-belfry makes of the packed Belfry. */
export const packaged: Group = {
  name: 'package',
  async run(bench): Promise<Figure[]> {
    if (!FIGURES.some(bench.isRequested)) return [];
    bench.logProgress('package …');
    const sandbox = createSandbox();
    try {
      build();
      const [belfry, client, pages, verifyWebhook, createBelfry] = packAll(join(sandbox.root, 'packages')) as [
        string,
        string,
        string,
        string,
        string,
      ];
      const begin = performance.now();
      const app = await createPackagedApp(sandbox, { belfry, createBelfry });
      const created = secondsSince(begin);
      const first = await runDev(app, createFirstRecord);
      let reloads: number[] = [];
      const again = await runDev(app, async (url) => {
        reloads = await measureReloads(app, url, bench.reps);
      });
      rmSync(join(app.folder, '.data'), { recursive: true });
      const modules = join(app.folder, 'node_modules');
      const withDevelopment = measureFolder(modules);
      await app.run(BELFRY, ['migration', 'generate', 'init']);
      await app.pruneForProduction();
      const production = await withOwnDatabase(bench, DATABASE, (own) => measureProduction(own, app));
      const seconds = (name: string, value: number, note: string) => ({ name, value, unit: 's' as const, note });
      const figures: Figure[] = [
        seconds('package.first-record', created + first.finished, 'from create-belfry to the first record'),
        seconds('package.create', created, 'create-belfry, with the installation'),
        seconds('package.dev', first.answered, 'the first `npm run dev` of an app until it answers'),
        seconds('package.dev.again', again.answered, 'the second one'),
        {
          name: 'package.dev.reload',
          value: median(reloads),
          unit: 'ms',
          note: `${toRange(reloads)}; from a save until the new process answers`,
        },
        { name: 'package.size', value: statSync(belfry).size, unit: 'bytes', note: 'the packed Belfry' },
        { name: 'package.installed', value: withDevelopment, unit: 'MB', note: 'node_modules of an app' },
        {
          name: 'package.installed.production',
          value: measureFolder(modules),
          unit: 'MB',
          note: 'the packages in its image',
        },
        {
          name: 'package.client',
          value: measureUnpacked(sandbox, client),
          unit: 'bytes',
          note: '`@belfry/client`, installed',
        },
        {
          name: 'package.verify-webhook',
          value: measureUnpacked(sandbox, verifyWebhook),
          unit: 'bytes',
          note: '`@belfry/verify-webhook`, installed',
        },
        {
          name: 'package.pages',
          value: measureUnpacked(sandbox, pages),
          unit: 'bytes',
          note: '`@belfry/pages`, installed',
        },
        ...production,
      ];
      return figures.filter(({ name }) => bench.isRequested(name));
    } finally {
      await sandbox.remove();
    }
  },
};
