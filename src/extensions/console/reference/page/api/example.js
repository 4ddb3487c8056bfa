import { flatten, refName, simplify } from './document.js';

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
/** Whether a schema is that of an id. */
const isIdPattern = ({ pattern }) => pattern !== undefined && ID_PATTERN.test(pattern.replace('a-fA-F', 'a-f'));
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

/** Texts that common patterns accept, such as codes and colours. */
const CANDIDATES = [
  'text',
  'TEXT',
  'Text',
  'a-1',
  'A-1',
  'AB-123',
  'abc123',
  '123',
  '1.50',
  '12345',
  '#1e90ff',
  '/path',
  'a',
  'A',
  '1',
  'en',
];

/** A text that a pattern accepts, if one of the usual texts does. */
function matchingText(pattern) {
  try {
    const expression = new RegExp(pattern, 'u');
    return CANDIDATES.find((text) => expression.test(text));
  } catch {
    // The pattern is written for another engine.
    return undefined;
  }
}

function exampleText(schema, name) {
  if (schema.format !== undefined && BY_FORMAT[schema.format] !== undefined) return BY_FORMAT[schema.format];
  if (isIdPattern(schema)) return EXAMPLE_ID;
  const named = BY_NAME.find(([pattern]) => pattern.test(name))?.[1];
  const text = (schema.pattern === undefined ? named : matchingText(schema.pattern)) ?? named ?? 'text';
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

/** Returns the example of an object. Optional members that lead back to a schema that contains them are left out. */
function exampleObject(schema, document, direction, { onlyRequired }, inner) {
  const required = new Set(schema.required ?? []);
  const isShown = ([member, one]) =>
    !isLeftOut(flatten(one, document), direction) && (!onlyRequired || required.has(member));
  const members = Object.entries(schema.properties ?? {})
    .filter(isShown)
    .map(([member, one]) => [member, inner(one, member)]);
  return Object.fromEntries(members.filter(([member, value]) => value !== undefined || required.has(member)));
}

/**
 * Returns an example for a schema: its own one, its default, or a value that the schema allows. Undefined if the schema contains itself.
 *
 * @param {'input' | 'output'} direction
 * @param {{ onlyRequired?: boolean, name?: string }} [options] `onlyRequired`: leaves out optional members; `name`: of the member
 * @param {string[]} within the names of the schemas that contain this one
 */
export function exampleOf(given, document, direction, { onlyRequired = false, name = '' } = {}, within = []) {
  const own = refName(given);
  if (own !== undefined && within.includes(own)) return undefined;
  const flat = flatten(given, document);
  const declared = flat.example ?? flat.examples?.[0];
  if (declared !== undefined) return declared;
  const { schema, alternatives } = simplify(given, document);
  const known = schema.example ?? schema.examples?.[0] ?? schema.default ?? schema.const ?? schema.enum?.[0];
  if (known !== undefined) return known;
  const around = own === undefined ? within : [...within, own];
  const inner = (one, member) => exampleOf(one, document, direction, { onlyRequired, name: member }, around);
  if (alternatives.length > 0) return inner(alternatives[0], name);
  if (schema.properties !== undefined || schema.type === 'object')
    return exampleObject(schema, document, direction, { onlyRequired }, inner);
  switch (schema.type) {
    case 'array': {
      const item = schema.items === undefined ? undefined : inner(schema.items, name);
      return item === undefined ? [] : [item];
    }
    case 'boolean':
      return true;
    case 'integer':
    case 'number':
      return exampleNumber(schema);
    case 'string':
      return exampleText(schema, name);
    case 'null':
      return null;
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
  if (isIdPattern(schema)) return 'id';
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
