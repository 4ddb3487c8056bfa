import { stripTypeScriptTypes } from 'node:module';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { writeApi } from '../../src/cli/types/api-file.ts';
import type { ApiDocument, Schema } from '../../src/cli/types/document.ts';
import { quote, writeComment } from '../../src/cli/types/json-types.ts';

/** A document of an app with one resource, whose records have these properties. */
function createDocument(
  properties: Record<string, Schema>,
  { description, schemas }: { description?: string; schemas?: Record<string, Schema> } = {},
): ApiDocument {
  return {
    info: { title: 'Notes' },
    paths: {},
    components: { schemas: { ...schemas, Note: { type: 'object', description, properties } } },
    'x-resources': [
      {
        name: 'note',
        path: '/notes',
        schemas: { record: 'Note' },
        actions: ['list'],
        always: [],
        filters: {},
        sort: [],
        search: false,
        references: {},
        relations: {},
        populated: [],
        unique: [],
        files: [],
        aggregates: { group: [], buckets: [], numbers: [], ordered: [] },
        routes: [],
      },
    ],
  };
}

const PARTS = [
  '*',
  '/',
  '*/',
  '/**',
  "'",
  '"',
  '\\',
  '`',
  '{',
  '}',
  ';',
  ' | ',
  ' ',
  '\n',
  '\r',
  '\u2028',
  '\u2029',
  'a',
];
const hostileText = fc.string({ unit: fc.constantFrom(...PARTS), maxLength: 30 });

/** What remains of a file if its types and comments are removed. */
const codeOf = (text: string) =>
  stripTypeScriptTypes(text)
    .replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
    .trim();

test('no description of a document ends the comment that contains it', () => {
  expect(writeComment('**//evil();/**')).toBe('/** **\\//evil();/** */\n');
  fc.assert(
    fc.property(fc.oneof(hostileText, fc.string()), (text) => {
      const comment = writeComment(text);
      expect(comment.indexOf('*/')).toBe(text === '' ? -1 : comment.length - 3);
    }),
  );
});

test('a text of a document stays one literal of one line, with its value', () => {
  fc.assert(
    fc.property(fc.oneof(hostileText, fc.string()), (text) => {
      const literal = quote(text);
      expect(literal).not.toMatch(/[\n\r\u2028\u2029]/);
      expect(runInNewContext(literal)).toBe(text);
    }),
  );
});

test('no text of a document becomes code of the file', () => {
  fc.assert(
    fc.property(hostileText, hostileText, hostileText, (first, second, third) => {
      const nested = (description: string) => ({
        type: 'object',
        properties: { [second]: { description, enum: [first, third] } },
      });
      const alternatives = { anyOf: [nested(first), nested(third), { const: second }] };
      const file = writeApi(
        createDocument({ [first]: alternatives, b: { description: third } }, { description: first }),
      );
      expect(codeOf(file)).toBe('');
      expect(file.trimEnd().split('\n').at(-1)).toBe('}');
    }),
  );
});

test('alternatives whose descriptions contain the signs of a union keep their comments', () => {
  const one = (name: string) => ({
    type: 'object',
    properties: { [name]: { type: 'string', description: '} | it is' }, same: { type: 'string' } },
  });
  const file = writeApi(createDocument({ field: { anyOf: [one('a'), one('b'), one('a')] } }));
  expect(file.match(/\/\*\* \} \| it is \*\//g)).toHaveLength(2);
});

const node = { $ref: '#/components/schemas/Node' };
const nodes = Array.from({ length: 8 }, () => node);

test.each<[where: string, Node: Schema]>([
  ['properties', { type: 'object', properties: { ...nodes } }],
  ['alternatives', { anyOf: nodes }],
])('a document whose schemas refer to themselves many times in %s is refused', (_where, Node) => {
  expect(() => writeApi(createDocument({ node }, { schemas: { Node } }))).toThrow(
    'The types of the document are too long.',
  );
});

test('a tree in the bodies of a resource is not too long', () => {
  const Node = { type: 'object', properties: { text: { type: 'string' }, left: node, right: node } };
  const file = writeApi(createDocument({ first: node, second: node, third: node }, { schemas: { Node } }));
  expect(file).toContain('third?: {');
});

test('a document whose schemas are nested too deeply is refused', () => {
  let schema: Schema = { type: 'string' };
  for (let i = 0; i < 100_000; i++) schema = { type: 'array', items: schema };
  expect(() => writeApi(createDocument({ deep: schema }))).toThrow('nested more than 500 levels deep');
});

test('types, schemas and fields may have the names of members of every object', () => {
  const reference = { $ref: '#/components/schemas/constructor' };
  const file = writeApi(
    createDocument({ constructor: { type: 'constructor' }, valueOf: { type: 'number' }, reference }),
  );
  expect(file).toContain('constructor?: unknown;');
  expect(file).toContain('valueOf?: number;');
  expect(file).toContain('reference?: unknown;');
});
