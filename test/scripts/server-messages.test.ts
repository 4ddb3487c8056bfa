// What scripts/check/server-messages.ts finds in the source.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { collectMessages } from '../../scripts/check/messages/collect.ts';
import { HOLE } from '../../scripts/check/messages/resolve.ts';

const root = mkdtempSync(join(tmpdir(), 'messages-'));
afterAll(() => rmSync(root, { recursive: true }));

const DECLARATIONS = `
export type ErrorDetails = { [name: string]: string };
export class ApiError {
  constructor(code: string, message?: string, options?: { details?: ErrorDetails }) {}
}
export const validationError = (details: ErrorDetails) => new ApiError('VALIDATION_ERROR', undefined, { details });
`;

/** Returns the messages of a source, with `{}` for values. The program has only this source, so the texts are its own. */
function messagesOf(source: string): string[] {
  mkdirSync(join(root, 'src'), { recursive: true });
  writeFileSync(
    join(root, 'tsconfig.json'),
    '{ "compilerOptions": { "strict": true, "noLib": true }, "include": ["src"] }',
  );
  writeFileSync(join(root, 'src/a.ts'), DECLARATIONS + source);
  const found = collectMessages(root).filter(({ place }) => place.startsWith('src/'));
  return found.map(({ text }) => text.replaceAll(HOLE, '{}')).filter((text) => text !== '{}');
}

test.each<[what: string, source: string, expected: string[]]>([
  ['a text in place', `new ApiError('A', 'Is full');`, ['Is full']],
  ['a template', `declare const n: number; new ApiError('A', \`Has \${n} seats\`);`, ['Has {} seats']],
  ['a constant', `const TEXT = 'Is full'; new ApiError('A', TEXT);`, ['Is full']],
  ['alternatives', `declare const x: boolean; new ApiError('A', x ? 'Is full' : 'Is open');`, ['Is full', 'Is open']],
  [
    'words in a template',
    `declare const x: boolean; new ApiError('A', \`Is \${x ? 'full' : 'open'}\`);`,
    ['Is full', 'Is open'],
  ],
  ['a sum', `declare const x: string; new ApiError('A', 'Is ' + x);`, ['Is {}']],
  ['the result of a function', `function text() { return 'Is full'; } new ApiError('A', text());`, ['Is full']],
  [
    'the argument of a call',
    `const refuse = (text: string) => new ApiError('A', text); refuse('Is full'); refuse('Is open');`,
    ['Is full', 'Is open'],
  ],
  [
    'the argument of this call only',
    `const say = (what: string) => \`Is \${what}\`; say('unused'); new ApiError('A', say('full'));`,
    ['Is full'],
  ],
  ['the words of a type', `declare const x: 'full' | 'open'; new ApiError('A', \`Is \${x}\`);`, ['Is full', 'Is open']],
  ['the members of a map', `const T = { a: 'Is full' }; declare const k: 'a'; new ApiError('A', T[k]);`, ['Is full']],
  ['details in place', `validationError({ seats: 'Is full' });`, ['Is full']],
  ['details that are assigned', `const details: ErrorDetails = {}; details.a = 'Is full';`, ['Is full']],
  ['other texts', `const a = 'Is no message'; console.log(a);`, []],
])('%s', (_, source, expected) => {
  expect([...new Set(messagesOf(source))].sort()).toEqual(expected);
});
