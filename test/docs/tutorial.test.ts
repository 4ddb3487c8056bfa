import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { findFreePort } from '../../src/dev-servers/server.ts';
import {
  createSandbox,
  openApp,
  type PackagedApp,
  type RunningCommand,
  type Sandbox,
} from '../package/packaged-app.ts';
import { installInto, providePackages } from '../package/packages.ts';
import { createTestDatabase } from '../support/database/test-database.ts';
import { openShell } from '../support/processes/shell.ts';
import { readSteps, type Step, toPattern, writeCode } from './tutorial-steps.ts';

const text = readFileSync('docs/start/tutorial.md', 'utf8');

/** Creates the app of the first step. Its packages are unpacked or linked, because npm would install them for half a minute. */
async function createClub(sandbox: Sandbox): Promise<PackagedApp> {
  const packages = await providePackages();
  const options = ['--example', 'empty', '--no-install', '--no-git', '--belfry', packages.belfry];
  await openApp(sandbox, sandbox.folder).run('node', [
    resolve('create-belfry/bin/create-belfry.js'),
    'club',
    ...options,
  ]);
  const folder = join(sandbox.folder, 'club');
  installInto(folder, packages);
  const commands = join(folder, 'node_modules/.bin');
  mkdirSync(commands);
  symlinkSync('../belfry/bin/belfry.mjs', join(commands, 'belfry'));
  for (const name of ['tsc', 'vitest']) symlinkSync(resolve('node_modules/.bin', name), join(commands, name));
  return openApp(sandbox, folder);
}

/** Waits until `belfry dev` runs the files that were written after it had printed `before`. */
const untilRestarted = (dev: RunningCommand, before: string) =>
  vi.waitUntil(
    () =>
      /changed, restarting\.(?![\s\S]*changed, restarting\.)[\s\S]*with the roles/.test(
        dev.output().slice(before.length),
      ),
    { timeout: 60_000, interval: 20 },
  );

/** Runs commands, and compares their output with that of the page. */
async function runCommands(
  shell: ReturnType<typeof openShell>,
  { commands, instruction, output = '' }: Step & { commands: string },
): Promise<void> {
  const from = shell.output().length;
  const pattern = toPattern(output);
  // What a reader is told to read "a moment later" is read again. Programs in the background print later by themselves.
  const read = /^A moment later, /.test(instruction)
    ? () => shell.run(commands)
    : () =>
        shell
          .output()
          .slice(from)
          .replaceAll(/\n*done-with-block-\d+\n/g, '\n')
          .trim();
  let printed = await shell.run(commands);
  const isPrinted = async () => {
    if (!pattern.test(printed)) printed = await read();
    return pattern.test(printed);
  };
  await vi.waitUntil(isPrinted).catch(() => expect(printed, commands).toBe(output.trim()));
}

test('who follows docs/start/tutorial.md gets every output that it shows, and an app whose types and tests pass', {
  timeout: 480_000,
}, async () => {
  const database = await createTestDatabase();
  const sandbox = createSandbox();
  onTestFinished(async () => {
    await sandbox.remove();
    await database.drop();
  });
  const [port, receiverPort] = [await findFreePort(), await findFreePort()];
  const page = text
    .replaceAll('localhost:5001', `localhost:${port}`)
    .replaceAll('4000', String(receiverPort))
    // The default of 5 s is too short beside other tests.
    .replace('\nnpm test\n', '\nnpm test -- --test-timeout=120000\n');
  const [create, ...steps] = readSteps(page);
  expect(create).toMatchObject({
    commands: 'npm run new -- ../club --example empty\ncd ../club\nnpm run dev\n',
    output: expect.stringContaining(`Belfry listens on http://localhost:${port}`),
  });
  const club = await createClub(sandbox);
  const dev = club.start('npm', ['run', 'dev'], {
    PORT: String(port),
    DATABASE_URL: database.databaseUrl,
    REDIS_URL: database.redisUrl,
    REDIS_PREFIX: database.redisPrefix,
  });
  await dev.printed(/README\.md has a quick start/);
  expect(dev.output()).toMatch(toPattern(create!.output!));

  const { TEST_DATABASE_URL, TEST_REDIS_URL } = process.env;
  const shell = openShell({ cwd: club.folder, env: { ...sandbox.env, TEST_DATABASE_URL, TEST_REDIS_URL } });
  let before: string | undefined;
  for (const step of steps) {
    if ('code' in step) {
      const printed = dev.output();
      if (writeCode(club.folder, step.instruction, step.code).startsWith('src/')) before ??= printed;
      continue;
    }
    if (before !== undefined) await untilRestarted(dev, before);
    before = undefined;
    await runCommands(shell, step);
  }
  for (const [, url] of page.matchAll(/<(http:\/\/localhost[^>]+)>/g))
    expect([url, (await fetch(url!)).status]).toEqual([url, 200]);
});
