import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test, vi } from 'vitest';
import { bundleVerifyWebhook } from '../../scripts/package/bundle-verify-webhook.ts';
import vectors from '../data/webhook-vectors.json' with { type: 'json' };
import { createProjectWith, providePackages, unpackInto } from './packages.ts';

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

const packages = await providePackages();
const { belfry: tarball } = packages;

test('the package is built and packed, and small', () => {
  expect(tarball).toMatch(/\/belfry-\d+\.\d+\.\d+[^/]*\.tgz$/);
  expect(statSync(tarball).size).toBeLessThan(MAX_BYTES);
});

test('the package contains the migrations and the licence, but neither sources nor the app of this repository', () => {
  const { stdout } = spawnSync('tar', ['tzf', tarball], { encoding: 'utf8' });
  const files = stdout.split('\n');
  for (const name of [
    'bin/belfry.mjs',
    'dist/index.js',
    'dist/index.d.ts',
    'dist/extension/index.js',
    'dist/extension/index.d.ts',
    'migrations/belfry/meta/_journal.json',
    'LICENSE',
    'README.md',
    'CHANGELOG.md',
  ])
    expect(files).toContain(`package/${name}`);
  expect(files.filter((name) => /^package\/(src|test|scripts|bench|workers|dist\/app)\//.test(name))).toEqual([]);
});

test('the README of the package shows no picture, because pictures are not in it', () => {
  const { stdout } = spawnSync('tar', ['xzOf', tarball, 'package/README.md'], { encoding: 'utf8' });
  expect(stdout).toMatch(/^# Belfry\n\nBelfry is .*\n/);
  expect(stdout).not.toMatch(/<picture|<img|!\[/);
});

/** The names of the files in a package. */
const filesOf = (path: string) => spawnSync('tar', ['tzf', path], { encoding: 'utf8' }).stdout.split('\n');

test('the modules of the server are bundled, but not those of the client, of which bundlers take what a page uses', () => {
  const isModule = (name: string) => name.endsWith('.js') && !name.includes('/page/');
  expect(filesOf(tarball).filter(isModule).length).toBeLessThan(80);
  expect(filesOf(packages.client).filter(isModule).length).toBeGreaterThan(50);
});

test('the pages are built files with the licences of what is in them, and no sources', () => {
  const files = filesOf(packages.pages);
  for (const name of [
    'dist/manifest.json',
    'dist/push/sw.js',
    'dist/index.js',
    'dist/LICENSES.txt',
    'LICENSE',
    'README.md',
  ])
    expect(files).toContain(`package/${name}`);
  expect(files.filter((name) => /\.tsx?$/.test(name) && !name.endsWith('.d.ts'))).toEqual([]);
  expect(statSync(packages.pages).size).toBeLessThan(400_000);
});

test('the declarations of the package are those that its entry points refer to', () => {
  const declarations = filesOf(tarball).filter((name) => name.endsWith('.d.ts'));
  expect(declarations).toContain('package/dist/declare/resource.d.ts');
  expect(declarations).not.toContain('package/dist/cli/belfry.d.ts');
});

test.each(Object.entries(packages))('publint and attw find no problem in %s', (name, path) => {
  const publint = run('node_modules/publint/src/cli.js', '--strict', path);
  expect({ publint, code: publint.code }).toMatchObject({ code: 0 });
  // It has a command, and no module to import.
  if (name === 'createBelfry') return;
  const attw = run('node_modules/@arethetypeswrong/cli/dist/index.js', '--profile', 'esm-only', path);
  expect({ attw, code: attw.code }).toMatchObject({ code: 0 });
});

test('all packages have one version, and depend on each other in exactly this version', () => {
  const manifests = Object.values(packages).map((path) =>
    JSON.parse(spawnSync('tar', ['xzOf', path, 'package/package.json'], { encoding: 'utf8' }).stdout),
  );
  const [{ version, dependencies }] = manifests;
  expect(manifests.map((manifest) => [manifest.name, manifest.version, manifest.license])).toEqual([
    ['belfry', version, 'MIT'],
    ['@belfry/client', version, 'MIT'],
    ['@belfry/pages', version, 'MIT'],
    ['@belfry/verify-webhook', version, 'MIT'],
    ['create-belfry', version, 'MIT'],
  ]);
  expect(dependencies).toMatchObject({
    '@belfry/client': version,
    '@belfry/pages': version,
    '@belfry/verify-webhook': version,
  });
  for (const { dependencies = {}, scripts, devDependencies, workspaces } of manifests.slice(1))
    expect([dependencies, scripts, devDependencies, workspaces]).toEqual([{}, undefined, undefined, undefined]);
});

test('declarations name compiled modules', () => {
  const { stdout } = spawnSync('tar', ['xzOf', tarball, 'package/dist/index.d.ts'], { encoding: 'utf8' });
  expect(stdout).toContain('createApp');
  expect(stdout).not.toMatch(/\.ts['"]/);
});

/** The verifier in a project that has no other packages. */
const installed = join(folder, 'node_modules/@belfry/verify-webhook');
unpackInto(folder, '@belfry/verify-webhook', packages.verifyWebhook);

/** The bytes of all files in a folder. */
const sizeOf = (path: string) =>
  readdirSync(path, { recursive: true, encoding: 'utf8' }).reduce((sum, name) => {
    const stats = statSync(join(path, name));
    return stats.isFile() ? sum + stats.size : sum;
  }, 0);

test('the client and the verifier are small once they are installed', () => {
  unpackInto(folder, '@belfry/client', packages.client);
  expect(sizeOf(join(folder, 'node_modules/@belfry/client'))).toBeLessThan(1_000_000);
  expect(sizeOf(installed)).toBeLessThan(100_000);
});

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
  ['Node', [], ['index.js', 'message.js', 'node-signatures.js', 'node:crypto']],
  ['a browser', ['--conditions=browser'], ['index.browser.js']],
  ['a worker', ['--conditions=worker'], ['index.browser.js']],
  ['Cloudflare Workers', ['--conditions=workerd'], ['index.browser.js']],
])('without any other package, @belfry/verify-webhook loads only its own files in %s', (_, conditions, modules) => {
  const receiver = join(folder, 'receiver.mjs');
  writeFileSync(receiver, RECEIVER);
  const { code, output } = run(...conditions, receiver);
  const urlOf = (name: string) => (name.includes(':') ? name : pathToFileURL(join(installed, 'dist', name)).href);
  expect({ code, output }).toMatchObject({ code: 0 });
  const [payload, loaded] = JSON.parse(output);
  expect([payload, loaded.sort()]).toEqual([JSON.parse(vectors[0]!.body), modules.map(urlOf).sort()]);
});

test('the names from before the packages lead to the same classes and functions', () => {
  const project = createProjectWith(packages, join(folder, 'former'));
  writeFileSync(
    join(project, 'same.js'),
    `
    const names = ['@belfry/client', 'belfry/client', '@belfry/client/react', 'belfry/react', '@belfry/verify-webhook', 'belfry/verify-webhook', 'belfry'];
    const [client, oldClient, react, oldReact, verifier, oldVerifier, belfry] = await Promise.all(names.map((name) => import(name)));
    const isSame = (one, other) => Object.keys(one).every((name) => one[name] === other[name]);
    console.log(isSame(client, oldClient), isSame(react, oldReact), isSame(verifier, oldVerifier), isSame(verifier, belfry));`,
  );
  expect(run(join(project, 'same.js'))).toEqual({ code: 0, output: 'true true true true\n' });
});

test('the file for browsers is the one that the tests of verify-webhook use', () => {
  expect(readFileSync(join(installed, 'dist/index.browser.js'), 'utf8')).toBe(bundleVerifyWebhook());
});
