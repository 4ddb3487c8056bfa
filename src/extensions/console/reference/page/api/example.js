import { flatten, simplify } from './document.js';

const MAX_DEPTH = 6;

/** Values that look real, by `format`. */
const BY_FORMAT = {
  'date-time': '2026-01-15T09:30:00.000Z',
  date: '2026-01-15',
  email: 'ada@example.com',
  uri: 'https://example.com',
  url: 'https://example.com',
  uuid: '7f8c2f6e-5f0a-4c1c-9d2a-0c1e5b1f7a10',
  password: 'a bell rings at noon',
};
const ID_PATTERN = /^\^\[0-9a-f(A-F)?\]\{24\}\$$/i;
const EXAMPLE_ID = '65f0c1d2e3a4b5c6d7e8f901';

/** Texts by the name of the member, because "string" says nothing. */
const BY_NAME = [
  [/e-?mail/i, 'ada@example.com'],
  [/url|website|link/i, 'https://example.com'],
  [/phone/i, '+41 44 668 18 00'],
  [/(^|first|full|display)name$/i, 'Ada Lovelace'],
  [/title|subject|headline/i, 'A title'],
  [/token|secret|code|ticket/i, '…'],
];

function exampleText(schema, name) {
  if (schema.format !== undefined && BY_FORMAT[schema.format] !== undefined) return BY_FORMAT[schema.format];
  if (schema.pattern !== undefined && ID_PATTERN.test(schema.pattern.replace('a-fA-F', 'a-f'))) return EXAMPLE_ID;
  const text = BY_NAME.find(([pattern]) => pattern.test(name))?.[1] ?? 'text';
  const long = text.length < (schema.minLength ?? 0) ? text.padEnd(schema.minLength, 'x') : text;
  return schema.maxLength === undefined ? long : long.slice(0, schema.maxLength);
}

function exampleNumber({ type, minimum, exclusiveMinimum, maximum }) {
  const lowest = minimum ?? (exclusiveMinimum === undefined ? 1 : exclusiveMinimum + 1);
  const value = Math.max(1, lowest);
  const limited = maximum === undefined ? value : Math.min(value, maximum);
  return type === 'integer' ? Math.round(limited) : limited;
}

/** Members that a client does not send, or does not get. */
const isLeftOut = (schema, direction) => (direction === 'input' ? schema.readOnly === true : schema.writeOnly === true);

/**
 * Returns an example for a schema: its own one, its default, or a value that the schema allows.
 *
 * @param {'input' | 'output'} direction
 * @param {{ onlyRequired?: boolean, name?: string }} [options] `onlyRequired`: leaves out optional members; `name`: of the member
 */
export function exampleOf(given, document, direction, { onlyRequired = false, name = '' } = {}, depth = 0) {
  const flat = flatten(given, document);
  const own = flat.example ?? flat.examples?.[0];
  if (own !== undefined) return own;
  const { schema, alternatives } = simplify(given, document);
  const known = schema.example ?? schema.examples?.[0] ?? schema.default ?? schema.const ?? schema.enum?.[0];
  if (known !== undefined) return known;
  if (depth >= MAX_DEPTH) return null;
  const inner = (one, member) => exampleOf(one, document, direction, { onlyRequired, name: member }, depth + 1);
  if (alternatives.length > 0) return inner(alternatives[0], name);
  if (schema.properties !== undefined || schema.type === 'object') {
    const required = new Set(schema.required ?? []);
    return Object.fromEntries(
      Object.entries(schema.properties ?? {})
        .filter(
          ([member, one]) => !isLeftOut(flatten(one, document), direction) && (!onlyRequired || required.has(member)),
        )
        .map(([member, one]) => [member, inner(one, member)]),
    );
  }
  switch (schema.type) {
    case 'array':
      return schema.items === undefined ? [] : [inner(schema.items, name)];
    case 'boolean':
      return true;
    case 'integer':
    case 'number':
      return exampleNumber(schema);
    case 'string':
      return exampleText(schema, name);
    default:
      return {};
  }
}

/** The body of an error response with a code. */
export const exampleError = (code, message) => ({
  error: {
    code,
    message,
    ...(code === 'VALIDATION_ERROR' ? { details: { title: 'Is required' } } : {}),
    requestId: '01JB7Y0V4T5QYJ',
  },
});

const COUNTS = [
  ['minLength', (n) => `at least ${n} characters`],
  ['maxLength', (n) => `at most ${n.toLocaleString('en')} characters`],
  ['minItems', (n) => `at least ${n} items`],
  ['maxItems', (n) => `at most ${n.toLocaleString('en')} items`],
  ['minimum', (n) => `≥ ${n}`],
  ['exclusiveMinimum', (n) => `> ${n}`],
  ['maximum', (n) => `≤ ${n}`],
  ['exclusiveMaximum', (n) => `< ${n}`],
];

/** The name of a schema's type, for people. */
export function typeText(schema, alternatives = []) {
  if (alternatives.length > 0) return 'one of';
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return 'enum';
  if (schema.contentMediaType !== undefined) return 'file';
  if (schema.pattern !== undefined && ID_PATTERN.test(schema.pattern.replace('a-fA-F', 'a-f'))) return 'id';
  const type = Array.isArray(schema.type)
    ? schema.type.join(' or ')
    : (schema.type ?? (schema.properties ? 'object' : 'any'));
  return schema.format === undefined ? type : `${type} (${schema.format})`;
}

/** The limits of a schema, in words. @returns {string[]} */
export function limitsOf(schema) {
  const counts = COUNTS.filter(([name]) => schema[name] !== undefined && !(name === 'minLength' && schema[name] === 1));
  const hasIdPattern = typeText(schema) === 'id';
  return [
    ...counts.map(([name, text]) => text(schema[name])),
    ...(schema.uniqueItems ? ['no duplicates'] : []),
    ...(schema.pattern !== undefined && !hasIdPattern ? [`matches ${schema.pattern}`] : []),
    ...(schema.default === undefined ? [] : [`default ${JSON.stringify(schema.default)}`]),
  ];
}
