import { mediaTypes, simplify } from '../api/document.js';
import { exampleOf, typeText } from '../api/example.js';

/**
 * What the form of an operation holds. Texts are as typed; the body is JSON text, or form fields with files.
 *
 * @typedef {{ path: Record<string, string>, query: Record<string, string>, header: Record<string, string>, type: string | undefined,
 *   json: string, form: Record<string, string | File | File[] | undefined>, file: File | undefined, other: string }} Values `other`: further
 *   headers, one per line
 */

const JSON_TYPE = 'application/json';
const HEADER_LINE = /^([\w!#$%&'*+.^`|~-]+):[ \t]*([\x20-\x7e]+)$/;
const FORM_TYPE = 'multipart/form-data';

/** Names of members and parameters whose values are secret, so that the history does not keep them. */
const SECRET_NAME = /pass(word|phrase|code)|token|secret|code|ticket|key|credential|authorization|cookie/i;
/** A header whose name contains `key`, but whose value is not secret. */
const NOT_SECRET = new Set(['Idempotency-Key']);

export const isJsonType = (type) => type === JSON_TYPE || type?.endsWith('+json');
export const isFormType = (type) => type === FORM_TYPE;

/** The schema of a body with a media type. */
export const bodySchema = (operation, type) => operation.body?.content?.[type]?.schema ?? {};

/** The members of a body that a form can offer, or undefined if only JSON describes it. */
export function formMembers(schema, document) {
  const { schema: root, alternatives } = simplify(schema, document);
  if (alternatives.length > 0 || root.properties === undefined) return undefined;
  const required = new Set(root.required ?? []);
  return Object.entries(root.properties)
    .map(([name, given]) => {
      const { schema: inner, alternatives: choices, isNullable } = simplify(given, document);
      return { name, given, schema: inner, alternatives: choices, isNullable, required: required.has(name) };
    })
    .filter(({ schema: { readOnly } }) => readOnly !== true);
}

/** The first values of the form: what the examples suggest for required parts, and nothing else. @returns {Values} */
export function initialValues(operation, document) {
  const [type] = mediaTypes(operation.body);
  const body = isJsonType(type)
    ? exampleOf(bodySchema(operation, type), document, 'input', { onlyRequired: true })
    : {};
  const isEmpty = operation.body?.required === false && Object.keys(body ?? {}).length === 0;
  return {
    path: {},
    query: {},
    header: {},
    type,
    json: !isJsonType(type) || isEmpty ? '' : JSON.stringify(body, null, 2),
    form: {},
    file: undefined,
    other: '',
  };
}

/** Whether a control offers `null`. In a text field it would be a text. */
export const offersNull = ({ schema, isNullable }) =>
  isNullable === true && (schema.enum !== undefined || schema.type !== 'string');

/**
 * Converts the text of a control to the value of a member. An empty text leaves the member out.
 *
 * @throws SyntaxError for invalid JSON
 */
export function readMember({ schema, alternatives, isNullable = false }, text) {
  if (text === '') return undefined;
  if (text === 'null' && isNullable && offersNull({ schema, isNullable })) return null;
  if (alternatives.length > 0) {
    // A date is a text or a number, and most texts are not JSON.
    return /^[[{"]|^(-?\d+(\.\d+)?|true|false|null)$/.test(text) ? JSON.parse(text) : text;
  }
  switch (schema.type) {
    case 'string':
      return text;
    case 'integer':
    case 'number': {
      const number = Number(text);
      return Number.isNaN(number) ? text : number;
    }
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text;
    default:
      if (schema.enum?.includes(text)) return text;
      return JSON.parse(text);
  }
}

/** The text of a member's value in its control. */
export function writeMember(value) {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The kind of control for a member or parameter. */
export function controlOf({ schema, alternatives }) {
  if (schema.enum !== undefined) return 'choice';
  if (schema.type === 'boolean') return 'boolean';
  if (schema.format === 'password') return 'password';
  if (schema.contentMediaType !== undefined || schema.items?.contentMediaType !== undefined) return 'file';
  if (alternatives.length > 0) return 'text';
  if (['integer', 'number'].includes(schema.type)) return 'number';
  return schema.type === 'string' || typeText(schema) === 'any' ? 'text' : 'json';
}

/** Returns the path of a request with its parameters; parameters without a value stay as they are. */
function fillPath(path, values) {
  return path.replaceAll(/\{(\w+)\}/g, (whole, name) => {
    const value = values[name]?.trim() ?? '';
    return value === '' ? whole : encodeURIComponent(value);
  });
}

function queryText(query) {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== '' && value !== undefined) params.append(name, value);
  return params.toString().replaceAll('%5B', '[').replaceAll('%5D', ']').replaceAll('%2C', ',');
}

const linesOf = (text = '') => text.split('\n').filter((line) => line.trim() !== '');

/** Returns an error for each part of the form that keeps the request from being sent. @returns {Record<string, string>} */
export function checkValues(operation, values) {
  const errors = {};
  for (const { name, in: place, required } of operation.parameters) {
    const value = (values[place]?.[name] ?? '').trim();
    if (required && value === '') errors[`${place}.${name}`] = 'Is required';
    // The browser would resolve these segments, and send the request to another route.
    if (place === 'path' && /^\.{1,2}$/.test(value)) errors[`path.${name}`] = 'Must not be . or ..';
  }
  const wrong = linesOf(values.other).find((line) => !HEADER_LINE.test(line.trim()));
  if (wrong !== undefined) errors.other = `“${wrong.trim()}” is not a header, such as Accept-Language: de`;
  if (isJsonType(values.type) && values.json.trim() !== '') {
    try {
      JSON.parse(values.json);
    } catch (error) {
      errors.body = `The body is not valid JSON: ${error.message}`;
    }
  }
  return errors;
}

/**
 * Returns the request that the form describes, without credentials.
 *
 * @param {Values} values
 * @returns {{ method: string, path: string, headers: [string, string][], json: string | undefined, form: [string, string | File][] | undefined,
 *   file: File | undefined }} `path` has the query
 */
export function buildRequest(operation, values) {
  const query = queryText(values.query);
  const path = fillPath(operation.path, values.path) + (query === '' ? '' : `?${query}`);
  const others = linesOf(values.other).map((line) => HEADER_LINE.exec(line.trim())?.slice(1, 3));
  const headers = [
    ...Object.entries(values.header).filter(([, value]) => value.trim() !== ''),
    ...others.filter((header) => header !== undefined),
  ];
  const base = { method: operation.method, path, headers, json: undefined, form: undefined, file: undefined };
  if (operation.body === undefined) return base;
  if (isFormType(values.type)) {
    const form = Object.entries(values.form).flatMap(([name, value]) =>
      (Array.isArray(value) ? value : [value])
        .filter((one) => one !== undefined && one !== '')
        .map((one) => [name, one]),
    );
    return { ...base, form };
  }
  if (!isJsonType(values.type)) {
    // With a wildcard, the browser names the type of the file.
    const typed = values.type.includes('*') ? headers : [...headers, ['Content-Type', values.type]];
    return { ...base, file: values.file, headers: typed };
  }
  return values.json.trim() === ''
    ? base
    : { ...base, json: values.json, headers: [...headers, ['Content-Type', JSON_TYPE]] };
}

/** Replaces secret values in JSON by nothing. */
function withoutSecrets(value, name = '') {
  if (SECRET_NAME.test(name) && value !== null) return typeof value === 'boolean' ? value : '';
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([member, inner]) => [member, withoutSecrets(inner, member)]));
}

const keepParameters = (values) =>
  Object.fromEntries(
    Object.entries(values).filter(([name, value]) => value !== '' && (NOT_SECRET.has(name) || !SECRET_NAME.test(name))),
  );

/**
 * Returns what the history keeps of a form: no files, and no values of members or parameters that are secret.
 *
 * @param {string[]} secretMembers the names of members that the schema marks as secret
 * @returns {Pick<Values, 'path' | 'query' | 'header' | 'type' | 'json'>}
 */
export function valuesForHistory({ path, query, header, type, json }, secretMembers = []) {
  let kept = '';
  try {
    const body = json.trim() === '' ? undefined : withoutSecrets(JSON.parse(json));
    for (const name of secretMembers) if (body && Object.hasOwn(body, name)) body[name] = '';
    kept = body === undefined ? '' : JSON.stringify(body, null, 2);
  } catch {
    // A body that is not JSON is not kept, because its secrets cannot be found.
  }
  return { path: keepParameters(path), query: keepParameters(query), header: keepParameters(header), type, json: kept };
}

/** The names of the members of a body that are written but never returned. */
export function secretMembersOf(schema, document) {
  return (formMembers(schema, document) ?? [])
    .filter(({ schema: { writeOnly, format } }) => writeOnly === true || format === 'password')
    .map(({ name }) => name);
}
