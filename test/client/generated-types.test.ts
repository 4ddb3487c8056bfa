import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test, vi } from 'vitest';
import { runCommandsInOneProcess } from '../support/processes/command.ts';

// The process loads the whole app.
vi.setConfig({ testTimeout: 240_000 });

const root = join(import.meta.dirname, '../..');
// In this folder, so that the program finds its imports.
const folder = mkdtempSync(join(import.meta.dirname, '.types-'));
afterAll(() => rmSync(folder, { recursive: true }));

const appFile = join(import.meta.dirname, 'library-app.ts');
const run = (...commands: string[]) =>
  runCommandsInOneProcess(commands.map((command) => ({ folder: root, command, env: { NODE_ENV: 'test' } })));

/** Compiles files of the folder in strict mode, and returns what the compiler prints. */
async function compile(files: readonly string[]): Promise<string> {
  const compilerOptions = { exactOptionalPropertyTypes: false, types: ['node'] };
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ extends: '../../../tsconfig.json', compilerOptions, include: files }),
  );
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const running = promisify(execFile)(process.execPath, [tsc, '-p', folder, '--noEmit', '--singleThreaded']);
  return running.then(
    ({ stdout }) => stdout,
    (error: { stdout: string }) => error.stdout,
  );
}

test('the types that belfry types writes accept and refuse the same program as those of the declarations', async () => {
  const out = join(folder, 'api.ts');
  const [written] = await run(`types --app ${appFile} --out ${out}`);
  expect(written).toMatchObject({ code: 0, output: '' });
  const program = readFileSync(join(import.meta.dirname, 'library.test-d.ts'), 'utf8')
    .replace("import type { app } from './library-app.ts';", "import type { Api } from './api.ts';")
    .replace('type Library = typeof app;', 'type Library = Api;')
    .replaceAll("'../../src/", "'../../../src/");
  expect(program).toContain('type Library = Api;');
  writeFileSync(join(folder, 'program.ts'), program);
  expect(await compile(['api.ts', 'program.ts'])).toBe('');
});

test('the types are those of an OpenAPI document in a file or at an address, in a stable order', async () => {
  const [printed] = await run(`types --app ${appFile}`);
  expect(printed!.output).toMatch(/^\/\/ Written by `npx belfry types`\. /);
  expect(printed!.output).toContain(`
export interface LoanCreate {
  organisation?: string;
  book: string;
  returned?: boolean;
}
`);
  expect(printed!.output).toContain(`
  'shop/houses': {
    path: '/shop/houses';
    actions: 'list' | 'read';
`);
  const { createAppDocument } = await import('../../src/cli/types/document.ts');
  const { app } = await import('./library-app.ts');
  const environment = { DATABASE_URL: 'postgres://none', REDIS_URL: 'redis://none', NODE_ENV: 'test' };
  const opened = Object.assign(app(environment), { [Symbol.asyncDispose]: async () => undefined });
  const text = JSON.stringify(await createAppDocument(async () => opened as never, undefined));
  const file = join(folder, 'openapi.json');
  writeFileSync(file, text);
  const paths: string[] = [];
  const server = createServer(({ url }, response) => {
    paths.push(url!);
    response.writeHead(url === '/gone/api/openapi.json' ? 404 : 200).end(text);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterAll(() => void server.close());
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeFileSync(join(folder, 'other.json'), '{"openapi":"3.1.0","paths":{}}');
  const results = await run(
    `types --from ${file}`,
    `types --from ${address}`,
    `types --from ${address}/v2/openapi.json`,
    `types --from ${address}/gone`,
    `types --from ${join(folder, 'other.json')}`,
    `types --from ${join(folder, 'missing.json')}`,
  );
  for (const { output } of results.slice(0, 3)) expect(output).toBe(printed!.output);
  expect(paths).toEqual(['/api/openapi.json', '/v2/openapi.json', '/gone/api/openapi.json']);
  expect(results.slice(3).map(({ code }) => code)).toEqual([1, 1, 1]);
  expect(results[3]!.output).toContain('responds with 404');
  expect(results[4]!.output).toContain('the document has no x-resources');
  expect(results[5]!.output).toContain('ENOENT');
});
