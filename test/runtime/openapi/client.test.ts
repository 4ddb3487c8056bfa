// Follows docs/build/openapi.md as written: generates a client from the running service, compiles it, and runs it against the service.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { blog } from '../../fixtures/blog/app.ts';
import { startTestApp } from '../../support/app.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const { url } = await startTestApp(blog, { roles: 'all' });

// Inside the project, so that packages resolve, but ignored by git and by the project's checks.
mkdirSync(join(root, '.data'), { recursive: true });
const folder = mkdtempSync(join(root, '.data', 'client-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const runNode = (args: string[]) =>
  promisify(execFile)(process.execPath, args, { cwd: folder, env: { ...process.env, API_URL: url, NODE_OPTIONS: '' } });

const OPTIONS = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  module: 'nodenext',
  target: 'esnext',
  types: ['node'],
  allowImportingTsExtensions: true,
  noEmit: true,
};

const START = `
import createClient from 'openapi-fetch';
import type { components, paths } from './api.d.ts';
export type Schemas = components['schemas'];
export const api = createClient<paths>({ baseUrl: '' });
export const path = { id: '' };
export const run = async () => {
  REPLACED
};
`;

/** Mistakes and the code that shows them. TypeScript accepts additional fields in a call; `satisfies` refuses them. */
const WRONG: Record<string, string> = {
  'a field that there is not': `await api.POST('/api/posts', { body: { title: 'x', titel: 'x' } satisfies Schemas['PostCreate'] });`,
  'a required field under another name': `await api.POST('/api/posts', { body: { titel: 'x' } });`,
  'a value of the wrong type': `await api.POST('/api/posts', { body: { title: 1 } });`,
  'a value that the enum has not': `await api.PATCH('/api/posts/{id}', { params: { path }, body: { status: 'gone' } });`,
  'the owner, whom the server sets': `const body = { title: 'x', author: '' } satisfies Schemas['PostCreate']; return body;`,
  'an immutable field in an update': `const body = { post: '' } satisfies Schemas['CommentUpdate']; return body;`,
  'a role in a registration': `const { roles } = {} as Schemas['UserRegister']; return roles;`,
  'a path that there is not': `await api.GET('/api/postz');`,
  'a method that a path has not': `await api.PUT('/api/posts/{id}', { params: { path } });`,
  'a path without its id': `await api.GET('/api/posts/{id}');`,
  'a filter that is not declared': `await api.GET('/api/posts', { params: { query: { body: 'x' } } });`,
  'a sort that is not declared': `await api.GET('/api/posts', { params: { query: { sort: ['body'] } } });`,
  'a hidden field of an answer': `const { data } = await api.GET('/api/auth/me'); data?.data.password;`,
  'a code that a route never answers with': `const { error } = await api.GET('/api/posts'); if (error?.error.code === 'CONFLICT') return;`,
};

const RIGHT = `
  await api.POST('/api/posts', { body: { title: 'x', status: 'draft', tags: null } satisfies Schemas['PostCreate'] });
  await api.PATCH('/api/posts/{id}', { params: { path }, body: { status: 'published' } });
  await api.PATCH('/api/comments/{id}', { params: { path, header: { 'If-Match': '*' } }, body: { body: '' } });
  await api.GET('/api/posts', { params: { query: { status: 'draft', sort: ['-title'], count: 'none' } } });
  const { data, error } = await api.GET('/api/auth/me');
  if (error?.error.code === 'UNAUTHORIZED') return undefined;
  const mine: string | undefined = data?.data.name;
  const { data: page } = await api.GET('/api/comments', { params: { query: { include: ['post.author'] } } });
  const about = page?.data[0]?.post;
  const { data: posts } = await api.GET('/api/posts');
  const titles: string[] = posts?.data.map((one) => one.title) ?? [mine ?? ''];
  if (titles.length > 9) return titles[0];
  return typeof about === 'object' ? about.title : (about ?? mine);`;

const guide = readFileSync(join(root, 'docs/build/openapi.md'), 'utf8');
const program = /`client\.ts`:\n\n```ts\n([\s\S]*?)```/.exec(guide)![1]!;
const command = /openapi-typescript@7\.13\.0 -p typescript@5\.\S+ openapi-typescript \S+ (.*)\n/.exec(guide)![1]!;

const fileOf = (what: string) => `${what.replaceAll(/\W+/g, '-')}.ts`;
let complaints = '';

beforeAll(async () => {
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  await runNode([
    ...['--import', join(import.meta.dirname, 'typescript5.mjs')],
    join(root, 'node_modules/openapi-typescript/bin/cli.js'),
    `${url}/api/openapi.json`,
    ...command.split(' '),
  ]);
  const files: Record<string, string> = { 'client.ts': program, 'right.ts': START.replace('REPLACED', RIGHT) };
  for (const [what, line] of Object.entries(WRONG)) files[fileOf(what)] = START.replace('REPLACED', line);
  for (const [name, code] of Object.entries(files)) writeFileSync(join(folder, name), code);
  const project = join(folder, 'tsconfig.json');
  writeFileSync(project, JSON.stringify({ compilerOptions: OPTIONS, files: Object.keys(files) }));
  complaints = await runNode([join(root, 'node_modules/typescript/bin/tsc'), '-p', project]).then(
    ({ stdout }) => stdout,
    (error: { stdout: string }) => error.stdout,
  );
}, 120_000);

const complaintsOf = (file: string) => complaints.split('\n').filter((line) => line.startsWith(`${file}(`));

test('the client of the guide compiles in strict mode and does what the guide says', { timeout: 240_000 }, async () => {
  expect(complaintsOf('client.ts')).toEqual([]);
  const { stdout } = await runNode(['client.ts']);
  expect(stdout.trim().split('\n')).toEqual([
    'true Hello 1',
    'Hello again',
    "{ title: 'Is required' }",
    '404 NOT_FOUND',
  ]);
});

test('responses and bodies of the client have the declared types', () => {
  expect(complaintsOf('right.ts')).toEqual([]);
  expect(complaints).not.toContain('api.d.ts');
});

test.each(Object.keys(WRONG))('the client does not compile with %s', (what) => {
  const [first, ...more] = complaintsOf(fileOf(what));
  expect([first, more]).toEqual([expect.stringMatching(/error TS[12]\d{3}:/), []]);
});
