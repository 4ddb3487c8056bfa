import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { createFolder, run } from './command.ts';

const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8'));
const repository = readJson('package.json');
const template = readJson('create-belfry/template/base/package.json');

/** Returns the files of a new app, by path. */
async function createFiles(name: string, example: string): Promise<Record<string, string>> {
  const cwd = createFolder();
  expect(await run([name, '--example', example, '--no-install', '--no-git'], { cwd })).toMatchObject({ code: 0 });
  const paths = globSync('{**,.*,.*/**}', { cwd: join(cwd, name) }).filter((path) =>
    statSync(join(cwd, name, path)).isFile(),
  );
  return Object.fromEntries(paths.sort().map((path) => [path, readFileSync(join(cwd, name, path), 'utf8')]));
}

const COMMON = [
  '.dockerignore',
  '.env.example',
  '.github/workflows/ci.yml',
  '.gitignore',
  'AGENTS.md',
  'Dockerfile',
  'Procfile',
  'README.md',
  'docker-compose.yml',
  'package.json',
  'src/app.ts',
  'src/resources/user.ts',
  'tsconfig.json',
];

test.each([
  ['blog', ['src/resources/post.ts', 'test/posts.test.ts']],
  ['empty', ['test/accounts.test.ts']],
])('an app with the example %s has these files, complete', async (example, own) => {
  const files = await createFiles('my-app', example);
  expect(Object.keys(files)).toEqual([...COMMON, ...own].sort());
  for (const [path, text] of Object.entries(files)) {
    expect.soft(text, path).not.toMatch(/\{\{\w+\}\}/);
    expect.soft(text, path).toMatch(/[^\n]\n$/);
    expect.soft(text, path).not.toMatch(/[ \t]+$|\n{3,}/m);
  }
});

test('the name of the app is in its README, its package and its containers', async () => {
  const {
    'README.md': readme,
    'package.json': pkg,
    'docker-compose.yml': compose,
  } = await createFiles('shop_v2.1', 'blog');
  expect(readme).toMatch(/^# shop_v2\.1\n/);
  expect(JSON.parse(pkg!).name).toBe('shop_v2.1');
  expect(parse(compose!)).toMatchObject({ name: 'shop-v2-1', 'x-app': { image: 'shop-v2-1' } });
});

test('the README shows what the example can do', async () => {
  const blog = await createFiles('my-app', 'blog');
  expect(blog['README.md']).toContain('/api/posts/$POST/publish');
  const empty = await createFiles('my-app', 'empty');
  expect(empty['README.md']).toContain('/api/auth/me');
  expect(empty['README.md']).not.toContain('/api/posts');
  for (const { 'README.md': readme } of [blog, empty]) expect(readme).toContain('npx belfry migration generate init');
});

test('the JSON and YAML files are valid, and every process is in each list of processes', async () => {
  const files = await createFiles('my-app', 'blog');
  expect(JSON.parse(files['tsconfig.json']!).compilerOptions).toMatchObject({
    strict: true,
    noEmit: true,
    module: 'nodenext',
    allowImportingTsExtensions: true,
    erasableSyntaxOnly: true,
    verbatimModuleSyntax: true,
  });
  const workflow = parse(files['.github/workflows/ci.yml']!);
  const commands = workflow.jobs.test.steps.flatMap((step: { run?: string }) => step.run ?? []);
  expect(commands).toEqual(['npm ci', 'npm run check', 'npm test', 'npm run migration -- --check']);
  // YAML 1.2 has no merge keys, but Compose does.
  const compose = parse(files['docker-compose.yml']!, { merge: true });
  const roles = ['web', 'relay', 'webhook-worker', 'push-worker', 'job-worker'];
  expect(Object.keys(compose.services)).toEqual(['migrate', ...roles, 'postgres', 'redis', 'mailpit']);
  for (const role of roles) expect(compose.services[role].command).toEqual(['node_modules/.bin/belfry', 'start', role]);
  const procfile = Object.fromEntries(
    files
      .Procfile!.trim()
      .split('\n')
      .map((line) => line.split(/: (.*)/)),
  );
  expect(Object.keys(procfile)).toEqual(['release', ...roles]);
  for (const role of roles) expect(procfile[role]).toMatch(new RegExp(`node_modules/\\.bin/belfry start ${role}$`));
});

test('secrets and generated files are neither committed nor copied into the image', async () => {
  const files = await createFiles('my-app', 'blog');
  const linesOf = (name: string) => files[name]!.split('\n').map((line) => line.replace(/\/$/, ''));
  expect(linesOf('.gitignore')).toEqual(expect.arrayContaining(['node_modules', '.data', '.env', '.env.*']));
  // Patterns of Docker match from the root only. .npmrc can contain the token of a registry.
  expect(linesOf('.dockerignore')).toEqual(
    expect.arrayContaining(['node_modules', '.data', '**/.env', '**/.env.*', '.npmrc']),
  );
});

test('the versions of the template are those of the repository', () => {
  for (const [name, version] of Object.entries(template.devDependencies))
    expect.soft(version, name).toBe(repository.devDependencies[name]);
  // Only the simulated provider of oidc() and the variants of images need these packages, and their pages say when to install them.
  const {
    'oidc-provider': _ofExtension,
    sharp: _ofImages,
    react: _ofHooks,
    '@tanstack/react-query': _ofHooksToo,
    ...peers
  } = repository.peerDependencies;
  // Otherwise `belfry dev`, `belfry test` or `belfry migration generate` would lack a package.
  expect(Object.keys(template.devDependencies)).toEqual(expect.arrayContaining(Object.keys(peers)));
  expect(template.engines).toEqual(repository.engines);
  const { '@swc/core': _ownTool, ...scripts } = repository.allowScripts;
  expect(template.allowScripts).toEqual(scripts);
});

test('create-belfry has the version of Belfry, depends on nothing, and contains what it needs', () => {
  const { version, dependencies, files, bin, license } = readJson('create-belfry/package.json');
  expect({ version, dependencies, license }).toEqual({
    version: repository.version,
    dependencies: undefined,
    license: repository.license,
  });
  expect(files).toEqual(['bin', 'src', 'template']);
  expect(bin).toEqual({ 'create-belfry': 'bin/create-belfry.js' });
  expect(readFileSync('create-belfry/LICENSE', 'utf8')).toBe(readFileSync('LICENSE', 'utf8'));
  // npm leaves these files out of every package.
  const names = globSync('create-belfry/template/**/{.gitignore,.npmrc,.npmignore,package-lock.json}');
  expect(names).toEqual([]);
});
