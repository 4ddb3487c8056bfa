import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { dictionary } from '@zxcvbn-ts/language-common';
import { afterAll, expect, test, vi } from 'vitest';
import { camelCase, pluralName } from '../../src/declare/naming.ts';
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
async function compile(files: readonly string[], types = ['node']): Promise<string> {
  const compilerOptions = { exactOptionalPropertyTypes: false, types };
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ extends: '../../../tsconfig.json', compilerOptions, include: files }),
  );
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const running = promisify(execFile)(process.execPath, [
    tsc,
    '-p',
    folder,
    '--noEmit',
    '--singleThreaded',
    '--noErrorTruncation',
  ]);
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
    .replaceAll(/'\.\.\/\.\.\/(src|packages)\//g, "'../../../$1/");
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
  writeFileSync(join(folder, 'hostile.json'), text.replaceAll('"Loan"', '"Loan{};evil();interface X"'));
  const results = await run(
    `types --from ${file}`,
    `types --from ${address}`,
    `types --from ${address}/v2/openapi.json`,
    `types --from ${address}/gone`,
    `types --from ${join(folder, 'other.json')}`,
    `types --from ${join(folder, 'missing.json')}`,
    `types --from ${join(folder, 'hostile.json')}`,
  );
  for (const { output } of results.slice(0, 3)) expect(output).toBe(printed!.output);
  expect(paths).toEqual(['/api/openapi.json', '/v2/openapi.json', '/gone/api/openapi.json']);
  expect(results.slice(3).map(({ code }) => code)).toEqual([1, 1, 1, 1]);
  expect(results[3]!.output).toContain('responds with 404');
  expect(results[4]!.output).toContain('the document has no valid x-resources');
  expect(results[5]!.output).toContain('ENOENT');
  expect(results[6]!.output).toContain('the document has no valid x-resources');
});

/** Words for every rule of the package that makes plurals, also those that few word lists contain. */
const NOUNS = [
  ...[
    'man',
    'woman',
    'human',
    'person',
    'salesperson',
    'child',
    'grandchild',
    'drive',
    'ox',
    'foxes',
    'axis',
    'testis',
  ],
  ...['octopus', 'virus', 'alias', 'status', 'canvas', 'campus', 'summons', 'bonus', 'bus', 'minibus', 'buffalo'],
  ...['tomato', 'potato', 'photo', 'medium', 'datum', 'stadium', 'analysis', 'basis', 'thesis', 'hypothesis', 'oasis'],
  ...['knife', 'wife', 'life', 'giraffe', 'safe', 'shelf', 'wolf', 'scarf', 'leaf', 'roof', 'proof', 'cliff', 'focus'],
  ...['hive', 'archive', 'category', 'company', 'city', 'soliloquy', 'day', 'key', 'boy', 'reply', 'query', 'y', 'fly'],
  ...['box', 'church', 'class', 'address', 'wish', 'matrix', 'vertex', 'index', 'mouse', 'louse', 'house', 'blouse'],
  ...['foot', 'tooth', 'goose', 'quiz', 'whereas', 'criterion', 'genus', 'news', 'series', 'species', 'equipment'],
  ...['information', 'software', 'rice', 'money', 'sheep', 'deer', 'aircraft', 'people', 'men', 'children', 'data'],
  ...['analyses', 'databases', 'drives', 'hives', 'curves', 'wolves', 'caves', 'gloves', 'movies', 'cities', 'ties'],
  ...['mice', 'lice', 'buses', 'shoes', 'crises', 'axes', 'viruses', 'statuses', 'bonuses', 'oxen', 'matrices'],
  ...['indices', 'feet', 'teeth', 'geese', 'quizzes', 'criteria', 'genera', 'gas', 'lens', 'fish', 's', 'x1', 'v2'],
  ...['ves', 'ies', 'fe', 'fves', 'aies', 'quies', 'fife', 'sis', 'um', 'ouse', 'post', 'ticket', 'invoice', 'order'],
];
const words = dictionary['diceware-common'].filter((word) => /^[a-z][a-z0-9]*$/.test(word));
const compounds = words.slice(0, 1500).map((word, i) => `${NOUNS[i % NOUNS.length]}-${word}`);
const names = [
  ...new Set([...NOUNS, ...words, ...compounds, ...NOUNS.map((noun) => `time-${noun}`), 'a-2b', 'a--b', 'a-']),
];

test('the compiler derives the same keys of a client from resource names as the server does', async () => {
  expect(names.length).toBeGreaterThan(1500);
  const keyOf = (plural: string) => (/-([^a-z]|$)/.test(plural) ? plural : camelCase(plural));
  const expected = names.map((name) => `  '${name}': ['${pluralName(name)}', '${keyOf(pluralName(name))}'];`);
  const source = `
import type { KeyOfPath, PluralName } from '${join(root, 'packages/client/src/schema/plural.ts')}';
interface Expected {
${expected.join('\n')}
}
type Wrong = {
  [N in keyof Expected]: [PluralName<N>, KeyOfPath<PluralName<N>>] extends Expected[N] ? never : [N, PluralName<N>, KeyOfPath<PluralName<N>>];
}[keyof Expected];
export const none = (wrong: Wrong): never => wrong;
`;
  writeFileSync(join(folder, 'plurals.ts'), source);
  expect(await compile(['plurals.ts'], [])).toBe('');
});
