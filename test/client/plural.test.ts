import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { dictionary } from '@zxcvbn-ts/language-common';
import { afterAll, expect, test } from 'vitest';
import { camelCase, pluralName } from '../../src/declare/naming.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

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

const folder = await mkdtemp(join(tmpdir(), 'belfry-plurals-'));
afterAll(() => rm(folder, { recursive: true }));

test('the compiler derives the same keys of a client from resource names as the server does', async () => {
  expect(names.length).toBeGreaterThan(1500);
  const keyOf = (plural: string) => (/-([^a-z]|$)/.test(plural) ? plural : camelCase(plural));
  const expected = names.map((name) => `  '${name}': ['${pluralName(name)}', '${keyOf(pluralName(name))}'];`);
  const source = `
import type { KeyOfPath, PluralName } from '${join(root, 'src/client/schema/plural.ts')}';
interface Expected {
${expected.join('\n')}
}
type Wrong = {
  [N in keyof Expected]: [PluralName<N>, KeyOfPath<PluralName<N>>] extends Expected[N] ? never : [N, PluralName<N>, KeyOfPath<PluralName<N>>];
}[keyof Expected];
export const none = (wrong: Wrong): never => wrong;
`;
  await writeFile(join(folder, 'plurals.ts'), source);
  const options = { strict: true, noEmit: true, types: [], allowImportingTsExtensions: true, module: 'nodenext' };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files: ['plurals.ts'] }));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const run = promisify(execFile)(process.execPath, [tsc, '-p', folder, '--noErrorTruncation']);
  await expect(run.catch((error: { stdout: string }) => error)).resolves.toMatchObject({ stdout: '' });
});
