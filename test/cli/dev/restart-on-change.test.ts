import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FSWatcher } from 'chokidar';
import { expect, onTestFinished, test, vi } from 'vitest';
import { restartOnChange } from '../../../src/cli/dev/restart-on-change.ts';

/** Starts a process in an empty folder. The test reports changes and the end of the process, and moves the clock. */
async function startControlled() {
  const folder = await mkdtemp(join(tmpdir(), 'belfry-restarting-'));
  const lines: string[] = [];
  const exits: ((code: number) => void)[] = [];
  const start = () => {
    const { promise: exited, resolve } = Promise.withResolvers<number>();
    exits.push(resolve);
    return { exited, stop: async () => resolve(0) };
  };
  const add = vi.spyOn(FSWatcher.prototype, 'add');
  const restarting = restartOnChange([folder], start, (line) => void lines.push(line));
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
    return { exited, stop: async () => resolve(0) };
  };
  const restarting = restartOnChange([folder], start, () => undefined);
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
    return { exited, stop };
  };
  const restarting = restartOnChange([folder], start, (line) => void lines.push(line));
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
