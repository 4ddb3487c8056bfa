import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FSWatcher } from 'chokidar';
import { expect, onTestFinished, test, vi } from 'vitest';
import { restartOnChange } from '../../../src/cli/dev/restart-on-change.ts';

const arePortsFree = async () => true;

/** Starts a process in an empty folder. The test reports changes and the end of the process, and moves the clock. */
async function startControlled() {
  const folder = await mkdtemp(join(tmpdir(), 'belfry-restarting-'));
  const lines: string[] = [];
  const exits: ((code: number) => void)[] = [];
  const start = () => {
    const { promise: exited, resolve } = Promise.withResolvers<number>();
    exits.push(resolve);
    return { exited, stop: async () => resolve(0), kill: () => resolve(137) };
  };
  const add = vi.spyOn(FSWatcher.prototype, 'add');
  const restarting = restartOnChange([folder], { start, arePortsFree, announce: (line) => void lines.push(line) });
  const [watcher] = add.mock.contexts as FSWatcher[];
  add.mockRestore();
  await restarting.ready;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(async () => {
    vi.useRealTimers();
    await restarting.stop();
    await rm(folder, { recursive: true });
  });
  return {
    lines,
    report: (file: string) => void watcher!.emit('all', 'change', file),
    settle: () => vi.advanceTimersByTimeAsync(1000),
    async end(code: number) {
      exits.at(-1)!(code);
      await Promise.resolve();
    },
    starts: () => exits.length,
  };
}

test('files that are no part of an app restart nothing', async () => {
  const { lines, report, settle, starts } = await startControlled();
  for (const file of ['notes.md', 'src/.DS_Store', 'src/.#app.ts', 'src/app.ts.bak', 'src/data.sqlite', 'src/ts']) {
    report(file);
    await settle();
  }
  expect([starts(), lines]).toEqual([1, []]);
  const files = [
    'src/app.ts',
    'src/app.mjs',
    'src/page.tsx',
    'src/texts.json',
    'migrations/0001_a.sql',
    'src/page/tab.css',
  ];
  for (const file of files) {
    report(file);
    await settle();
  }
  expect([starts(), lines]).toEqual([7, files.map((file) => `${file} changed, restarting.`)]);
});

test('a process that fails while a change is being noticed is not reported as one that waits for a change', async () => {
  const { lines, report, settle, end } = await startControlled();
  report('src/app.ts');
  await end(1);
  await settle();
  expect(lines).toEqual(['src/app.ts changed, restarting.']);
  await end(1);
  expect(lines.slice(1)).toEqual(['Waiting for a file change.']);
});

test('a file that an editor replaces at every save restarts the process each time', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'belfry-restarting-'));
  const file = join(folder, 'a.ts');
  await writeFile(file, '0');
  const started: string[] = [];
  const start = () => {
    void readFile(file, 'utf8').then((text) => started.push(text));
    const { promise: exited, resolve } = Promise.withResolvers<number>();
    return { exited, stop: async () => resolve(0), kill: () => resolve(137) };
  };
  const restarting = restartOnChange([folder], { start, arePortsFree, announce: () => undefined });
  onTestFinished(async () => {
    await restarting.stop();
    await rm(folder, { recursive: true });
  });
  await restarting.ready;
  for (const text of ['1', '2', '3']) {
    await writeFile(`${file}.new`, text);
    await rename(`${file}.new`, file);
    await vi.waitUntil(() => started.includes(text), { timeout: 60_000 });
  }
  expect(started[0]).toBe('0');
});

test('a process that a change stops during its start is not reported as one that waits for a change', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'belfry-restarting-'));
  const lines: string[] = [];
  let starts = 0;
  const start = () => {
    starts += 1;
    const { promise: exited, resolve } = Promise.withResolvers<number>();
    // The exit is known before `stop` resolves, as it is for a child process.
    const stop = async () => {
      resolve(1);
      await exited;
    };
    return { exited, stop, kill: () => resolve(137) };
  };
  const restarting = restartOnChange([folder], { start, arePortsFree, announce: (line) => void lines.push(line) });
  onTestFinished(async () => {
    await restarting.stop();
    await rm(folder, { recursive: true });
  });
  await restarting.ready;
  const file = join(folder, 'a.ts');
  await writeFile(file, '0');
  await vi.waitUntil(() => starts === 2, { timeout: 60_000 });
  expect(lines).toEqual([`${file} changed, restarting.`]);
});

/** Starts processes that stop only when the test ends them. */
async function startBusy({ freesPort }: { freesPort: boolean }) {
  let isPortFree = false;
  const folder = await mkdtemp(join(tmpdir(), 'belfry-restarting-'));
  const file = join(folder, 'a.ts');
  const lines: string[] = [];
  const processes: { stops: number; kills: number; end(): void }[] = [];
  const start = () => {
    const { promise: exited, resolve } = Promise.withResolvers<number>();
    const one = { stops: 0, kills: 0, end: () => resolve(0) };
    processes.push(one);
    isPortFree = false;
    const stop = async () => {
      one.stops += 1;
      isPortFree = freesPort;
      await exited;
    };
    const kill = () => {
      one.kills += 1;
    };
    return { exited, stop, kill };
  };
  const announce = (line: string) => void lines.push(line);
  const restarting = restartOnChange([folder], { start, arePortsFree: async () => isPortFree, announce });
  onTestFinished(async () => {
    for (const each of processes) each.end();
    await restarting.stop();
    await rm(folder, { recursive: true });
  });
  await restarting.ready;
  const freePort = () => {
    isPortFree = true;
  };
  return { restarting, lines, processes, file, freePort, save: () => writeFile(file, String(processes.length)) };
}

test('a process that finishes its work has a successor once its port is free, and is killed with it', async () => {
  const { restarting, lines, processes, file, save, freePort } = await startBusy({ freesPort: false });
  await save();
  await vi.waitUntil(() => lines.length === 1, { timeout: 60_000 });
  expect([lines, processes.map(({ stops }) => stops)]).toEqual([[`${file} changed, restarting.`], [1]]);
  freePort();
  await vi.waitUntil(() => processes.length === 2, { timeout: 60_000 });
  expect(lines.slice(1)).toEqual(['The former process finishes its jobs and requests meanwhile.']);
  restarting.kill();
  expect(processes.map(({ stops, kills }) => [stops, kills])).toEqual([
    [1, 1],
    [0, 1],
  ]);
});

test('no more than two former processes finish their work at the same time', async () => {
  const { processes, save } = await startBusy({ freesPort: true });
  for (const count of [2, 3]) {
    await save();
    await vi.waitUntil(() => processes.length === count, { timeout: 60_000 });
  }
  await save();
  await vi.waitUntil(() => processes[2]!.stops === 1, { timeout: 60_000 });
  processes[0]!.end();
  await vi.waitUntil(() => processes.length === 4, { timeout: 60_000 });
  expect(processes.map(({ stops }) => stops)).toEqual([1, 1, 1, 0]);
});

test('a process that is stopped before it listens has no successor until it has ended', async () => {
  const { processes, save, freePort } = await startBusy({ freesPort: true });
  freePort();
  await save();
  await vi.waitUntil(() => processes[0]!.stops === 1, { timeout: 60_000 });
  // Longer than a process that finishes work is waited for.
  await sleep(1500);
  expect(processes.length).toBe(1);
  processes[0]!.end();
  await vi.waitUntil(() => processes.length === 2, { timeout: 60_000 });
});

test('a process that somebody kills or stops is reported, and starts again at the next change', async () => {
  const { lines, report, settle, end, starts } = await startControlled();
  await end(137);
  report('src/app.ts');
  await settle();
  await end(0);
  report('src/app.ts');
  await settle();
  expect([starts(), lines]).toEqual([
    3,
    [
      'The app was killed by SIGKILL. Save a file to start it again.',
      'src/app.ts changed, restarting.',
      'The app has ended. Save a file to start it again.',
      'src/app.ts changed, restarting.',
    ],
  ]);
});
