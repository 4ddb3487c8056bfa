import { spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test, vi } from 'vitest';
import { bundleVerifyWebhook } from '../../scripts/package/bundle-verify-webhook.ts';
import vectors from '../data/webhook-vectors.json' with { type: 'json' };
import { providePackages } from './packages.ts';

// Building takes long on a busy machine.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const MAX_BYTES = 2_500_000;
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'belfry-package-')));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs a program of Node in the repository. Returns its exit code and its output. */
function run(...args: string[]): { code: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 1 << 26 });
  return { code: status, output: stdout + stderr };
}

const { belfry: tarball } = await providePackages();

test('the package is built and packed, and small', () => {
  expect(tarball).toMatch(/\/belfry-\d+\.\d+\.\d+[^/]*\.tgz$/);
  expect(statSync(tarball).size).toBeLessThan(MAX_BYTES);
});

test('the package contains the pages, the migrations and the licence, but neither sources nor the app of this repository', () => {
  const { stdout } = spawnSync('tar', ['tzf', tarball], { encoding: 'utf8' });
  const files = stdout.split('\n');
  for (const name of [
    'bin/belfry.mjs',
    'dist/index.js',
    'dist/index.d.ts',
    'dist/extension/index.js',
    'dist/extension/index.d.ts',
    'dist/extensions/console/page/index.html',
    'dist/extensions/sign-in-pages/page/index.html',
    'dist/extensions/sign-in-pages/page/main.js',
    'dist/push/page/sw.js',
    'migrations/belfry/meta/_journal.json',
    'LICENSE',
    'README.md',
    'CHANGELOG.md',
  ])
    expect(files).toContain(`package/${name}`);
  expect(files.filter((name) => /^package\/(src|test|scripts|bench|workers|dist\/app)\//.test(name))).toEqual([]);
});

test('the modules of the server are bundled, but not those that the bundlers of pages load', () => {
  const { stdout } = spawnSync('tar', ['tzf', tarball], { encoding: 'utf8' });
  const modules = stdout.split('\n').filter((name) => name.endsWith('.js') && !name.includes('/page/'));
  const [unbundled, server] = [true, false].map((wanted) =>
    modules.filter((name) => /dist\/(client|react)\//.test(name) === wanted),
  );
  expect(server!.length).toBeLessThan(80);
  expect(unbundled!.length).toBeGreaterThan(50);
});

test('publint and attw find no problem', () => {
  const publint = run('node_modules/publint/src/cli.js', '--strict', tarball);
  expect({ publint, code: publint.code }).toMatchObject({ code: 0 });
  const attw = run('node_modules/@arethetypeswrong/cli/dist/index.js', '--profile', 'esm-only', tarball);
  expect({ attw, code: attw.code }).toMatchObject({ code: 0 });
});

test('declarations name compiled modules', () => {
  const { stdout } = spawnSync('tar', ['xzOf', tarball, 'package/dist/index.d.ts'], { encoding: 'utf8' });
  expect(stdout).toContain('createApp');
  expect(stdout).not.toMatch(/\.ts['"]/);
});

/** The package in a project that has no other packages. */
const installed = join(folder, 'node_modules/belfry');
mkdirSync(installed, { recursive: true });
spawnSync('tar', ['xzf', tarball, '-C', installed, '--strip-components=1']);

/** A receiver that prints the modules it loads, and the payload of the first vector. */
const RECEIVER = `
  import { registerHooks } from 'node:module';
  const loaded = [];
  registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
  const { verifyWebhook } = await import('@belfry/verify-webhook');
  const { secret, id, timestamp, body, signature } = ${JSON.stringify(vectors[0])};
  const headers = { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signature };
  console.log(JSON.stringify([verifyWebhook(secret, headers, body, { now: timestamp * 1000 }), loaded]));`;

test.each([
  ['Node', [], ['verify-webhook.js', 'node:crypto']],
  ['a browser', ['--conditions=browser'], ['verify-webhook.browser.js']],
  ['a worker', ['--conditions=worker'], ['verify-webhook.browser.js']],
  ['Cloudflare Workers', ['--conditions=workerd'], ['verify-webhook.browser.js']],
])('without any of its dependencies, @belfry/verify-webhook loads one file in %s', (_, conditions, modules) => {
  const receiver = join(folder, 'receiver.mjs');
  writeFileSync(receiver, RECEIVER);
  const { code, output } = run(...conditions, receiver);
  const urlOf = (name: string) =>
    name.includes(':') ? name : pathToFileURL(join(installed, 'dist/extensions/webhooks', name)).href;
  expect({ code, output }).toMatchObject({ code: 0 });
  expect(JSON.parse(output)).toEqual([JSON.parse(vectors[0]!.body), modules.map(urlOf)]);
});

test('@belfry/verify-webhook is the same in belfry', () => {
  const file = join(installed, 'dist/extensions/webhooks/verify-webhook.js');
  const program = `
    const [a, b] = await Promise.all(['belfry', ${JSON.stringify(pathToFileURL(file).href)}].map((name) => import(name)));
    console.log(a.WebhookVerificationError === b.WebhookVerificationError, a.verifyWebhook === b.verifyWebhook);`;
  symlinkSync(resolve('node_modules'), join(installed, 'node_modules'));
  writeFileSync(join(folder, 'same.mjs'), program);
  expect(run(join(folder, 'same.mjs'))).toEqual({ code: 0, output: 'true true\n' });
  rmSync(join(installed, 'node_modules'));
});

test('the file for browsers is the one that the tests of verify-webhook use', () => {
  const file = join(installed, 'dist/extensions/webhooks/verify-webhook.browser.js');
  expect(readFileSync(file, 'utf8')).toBe(bundleVerifyWebhook());
});
