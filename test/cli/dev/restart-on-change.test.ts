import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { restartOnChange } from '../../../src/cli/dev/restart-on-change.ts';

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
