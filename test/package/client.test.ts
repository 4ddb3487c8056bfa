import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';
import { afterAll, expect, test, vi } from 'vitest';
import { createProjectWith, providePackages } from './packages.ts';

// Building takes long on a busy machine.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const root = realpathSync(mkdtempSync(join(tmpdir(), 'belfry-client-package-')));
afterAll(() => rmSync(root, { recursive: true }));
const belfry = await providePackages();

const createProject = (name: string, packages?: readonly string[]) =>
  createProjectWith(belfry, join(root, name), packages);

/** The settings of a typical front end: the types of browsers, and none of Node. */
const FRONT_END = {
  compilerOptions: {
    target: 'es2022',
    lib: ['esnext', 'dom'],
    types: [],
    module: 'esnext',
    moduleResolution: 'bundler',
    jsx: 'react-jsx',
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
  },
  include: ['web'],
};

/** Compiles the front end of a project. Returns the messages of the compiler. */
function compile(folder: string, files: Record<string, string>, compiler = 'typescript/bin/tsc'): string {
  for (const [name, text] of Object.entries({ ...files, 'tsconfig.json': JSON.stringify(FRONT_END) })) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const args = [resolve('node_modules', compiler), '-p', folder];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  return stdout + stderr;
}

const SERVER = `
  import { createApp, defineResource, defineUser, f, softDelete } from 'belfry';

  const post = defineResource('blog-post', {
    fields: {
      title: f.string().required().filterable().sortable(),
      views: f.integer().default(0).filterable(),
      author: f.ref('user').owner().filterable(),
      cover: f.file(),
    },
    softDelete: true,
  });

  export const app = (environment: Record<string, string | undefined>) =>
    createApp({ resources: [defineUser(), post], extensions: [softDelete()] }, environment);`;

const WEB = `
  import { ApiError, type Client, createClient } from '@belfry/client';
  import type { app } from '../server/app.ts';

  const client: Client<typeof app> = createClient<typeof app>({ url: 'https://api.example.com' });

  export async function run(file: File) {
    const page = await client.blogPosts.list({ where: { views: { gte: 10 } }, include: ['author'], count: 'exact' });
    const titles: string[] = page.data.map(({ title }) => title);
    const total: number = page.meta.total;
    const cover = await client.blogPosts.upload('cover', file, { onProgress: ({ sentBytes }) => console.log(sentBytes) });
    await client.blogPosts.create({ title: 'A', cover });
    // @ts-expect-error A field that does not exist
    await client.blogPosts.create({ titel: 'A' });
    // @ts-expect-error A field that is not filterable
    await client.blogPosts.list({ where: { cover: 'x' } });
    // @ts-expect-error A resource that does not exist
    client.articles;
    await client.request({ method: 'POST', path: '/reports', body: new FormData(), signal: AbortSignal.timeout(1000) });
    const name: string | undefined = client.auth.session?.user.name;
    return [titles, total, name, document.title];
  }

  export const isConflict = (error: unknown) => error instanceof ApiError && error.status === 412;`;

test('a front end compiles against the types of its server, without the types of Node', () => {
  const folder = createProject('monorepo');
  const files = { 'server/app.ts': SERVER, 'web/main.ts': WEB };
  expect(compile(folder, files)).toBe('');
  expect(compile(folder, files, 'typescript5/bin/tsc')).toBe('');
});

/** A monorepo whose server and front end have installed packages of their own. */
function createSeparateCopies(): string {
  const folder = createProject('copies', []);
  renameSync(join(folder, 'node_modules'), join(folder, 'modules'));
  mkdirSync(join(folder, 'server'));
  createProjectWith(belfry, join(folder, 'server'));
  mkdirSync(join(folder, 'web/node_modules/@belfry'), { recursive: true });
  renameSync(join(folder, 'modules/@belfry/client'), join(folder, 'web/node_modules/@belfry/client'));
  rmSync(join(folder, 'modules'), { recursive: true });
  return folder;
}

/** Changes a file, which must contain a text. */
function change(file: string, from: string | RegExp, to: string): void {
  const text = readFileSync(file, 'utf8');
  expect(text).toMatch(from);
  writeFileSync(file, text.replace(from, to));
}

test('a front end with another copy and another version of Belfry than its server has the same types', () => {
  const folder = createSeparateCopies();
  const files = { 'server/app.ts': SERVER, 'web/main.ts': WEB };
  expect(compile(folder, files)).toBe('');
  // A later version: fields and resources have more members, some of them private.
  const declare = join(folder, 'server/node_modules/belfry/dist/declare');
  change(
    join(declare, 'field.d.ts'),
    'readonly spec: FieldSpec;',
    '#brand: unknown; label(text: string): this; readonly spec: FieldSpec;',
  );
  change(join(declare, 'resource.d.ts'), 'readonly $facts?: X;', 'readonly $facts?: X; readonly title?: string;');
  change(join(declare, 'relation.d.ts'), 'readonly field: string;', 'private hidden; readonly field: string;');
  for (const [path, version] of [
    ['server/node_modules/belfry', '1.0.2'],
    ['web/node_modules/@belfry/client', '1.0.1'],
  ] as const)
    change(join(folder, path, 'package.json'), /"version": "[^"]*"/, `"version": "${version}"`);
  expect(compile(folder, files)).toBe('');
  expect(compile(folder, files, 'typescript5/bin/tsc')).toBe('');
});

test('where the types of an app cannot be read, the compiler says why', () => {
  const folder = createProject('unreadable', []);
  const main = (type: string) => `
    import { createClient } from '@belfry/client';
    // biome-ignore lint: the app was not found
    declare const missing: any;
    declare const changed: { readonly $resources?: { name: 'post'; columns: object } };
    interface Wrong { posts: { title: string } }
    await createClient<${type}>().posts.list();`;
  const messageOf = (type: string) => compile(folder, { 'web/main.ts': main(type) });
  expect(messageOf('typeof missing')).toMatch(
    /TS2339: .*"The type of the app is any: the compiler does not find it, or not/,
  );
  expect(messageOf('typeof changed')).toMatch(
    /TS2339: .*"This client cannot read the types of the app: install the same version/,
  );
  expect(messageOf('Wrong')).toMatch(/TS2339: .*"This type is neither an app nor what `npx belfry types` writes"/);
  expect(messageOf('unknown')).not.toMatch(/TS2339/);
});

test('a front end without a server in its project, and without any other package, compiles against written types', () => {
  const folder = createProject('alone', []);
  const api = `
    export interface Api {
      posts: {
        path: '/posts';
        actions: 'list' | 'create';
        record: { id: string; title: string };
        create: { title: string };
        update: { title?: string };
        filters: { title: { value: string; operators: 'eq' | 'in' } };
        sort: 'title';
      };
    }`;
  const main = `
    import { createClient } from '@belfry/client';
    import type { Api } from './api.ts';

    const client = createClient<Api>();
    const controller = new AbortController();
    const { data } = await client.posts.list({ where: { title: 'A' }, sort: '-title' }, { signal: controller.signal });
    export const first: string | undefined = data[0]?.title;
    // @ts-expect-error The resource has no such route
    await client.posts.delete('1');
    // @ts-expect-error The types of Node are not there
    process.exit();`;
  expect(compile(folder, { 'web/api.ts': api, 'web/main.ts': main })).toBe('');
});

test('@belfry/client loads no file of the server, and bundles for browsers', () => {
  const folder = createProject('bundled', []);
  const entry = join(folder, 'main.js');
  writeFileSync(entry, "export { createClient } from '@belfry/client';");
  const { metafile, errors } = buildSync({
    ...{ entryPoints: [entry], absWorkingDir: folder, outdir: 'out', metafile: true, write: false },
    ...{ bundle: true, splitting: true, format: 'esm', platform: 'browser' },
  });
  expect(errors).toEqual([]);
  const files = Object.keys(metafile.inputs).filter((name) => name !== 'main.js');
  expect(files.length).toBeGreaterThan(5);
  for (const name of files) expect(name).toMatch(/^node_modules\/@belfry\/client\/dist\//);
  const program = `
    import { createClient } from '@belfry/client';
    console.log(createClient({ url: 'https://x.example/' }).url);`;
  const file = join(folder, 'run.js');
  writeFileSync(file, program);
  const { stdout } = spawnSync(process.execPath, [file], { encoding: 'utf8', cwd: pathToFileURL(folder) });
  expect(stdout).toBe('https://x.example\n');
});

const REACT = `
  import { BelfryProvider, useList, useMutation, useSession } from '@belfry/client/react';
  import { createClient } from '@belfry/client';
  import type { app } from '../server/app.ts';

  const client = createClient<typeof app>();

  export const App = () => <BelfryProvider client={client}><Posts /></BelfryProvider>;

  function Posts() {
    const { data } = useList(client.blogPosts, { where: { views: { gte: 10 } }, include: ['author'] }, { live: true });
    const { update, error } = useMutation(client.blogPosts);
    const { user } = useSession(client);
    // @ts-expect-error A field that does not exist
    useList(client.blogPosts, { where: { titel: 'A' } });
    const [first] = data ?? [];
    return (
      <button title={error?.details.title} onClick={() => first && update(first.id, { title: 'B' })}>
        {first?.title} {user?.name}
      </button>
    );
  }`;

test('a front end compiles with the hooks for React, which are client components', () => {
  const folder = createProject('react');
  const files = { 'server/app.ts': SERVER, 'web/main.tsx': REACT };
  expect(compile(folder, files)).toBe('');
  expect(compile(folder, files, 'typescript5/bin/tsc')).toBe('');
  const textOf = (name: string) => readFileSync(join(folder, 'node_modules/@belfry/client/dist/react', name), 'utf8');
  expect(textOf('use-list.js')).toMatch(/^'use client'/);
  // Server components use these.
  for (const name of ['index.js', 'options.js', 'keys.js']) expect(textOf(name)).not.toMatch(/^'use client'/);
  const entry = join(folder, 'main.js');
  writeFileSync(entry, "export { useList } from '@belfry/client/react';");
  const { metafile } = buildSync({
    ...{ entryPoints: [entry], absWorkingDir: folder, outdir: 'out', metafile: true, write: false },
    ...{ bundle: true, splitting: true, format: 'esm', platform: 'browser', external: ['react', '@tanstack/*'] },
  });
  for (const name of Object.keys(metafile.inputs).filter((one) => one !== 'main.js'))
    expect(name).toMatch(/^node_modules\/@belfry\/client\/dist\//);
});
