/** Removes secrets from what the history of requests keeps. Nothing here depends on a browser. */
import { isObject, type OpenApiDocument, type Schema } from '../document.ts';
import { formMembers } from './members.ts';
import type { Values } from './request.ts';

/** Names of members and parameters whose values are secret, so that the history does not keep them. */
const SECRET_NAME = /pass(word|phrase|code)|token|secret|code|ticket|key|credential|authorization|cookie/i;
/** A header whose name contains `key`, but whose value is not secret. */
const NOT_SECRET = new Set(['Idempotency-Key']);

/** What the history keeps of a form. */
export type KeptValues = Pick<Values, 'path' | 'query' | 'header' | 'type' | 'json'>;

/** Replaces secret values in JSON by nothing. */
function withoutSecrets(value: unknown, name = ''): unknown {
  if (SECRET_NAME.test(name) && value !== null) return typeof value === 'boolean' ? value : '';
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([member, inner]) => [member, withoutSecrets(inner, member)]));
}

const keepParameters = (values: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(values).filter(([name, value]) => value !== '' && (NOT_SECRET.has(name) || !SECRET_NAME.test(name))),
  );

function keepBody(json: string, secretMembers: readonly string[]): string {
  if (json.trim() === '') return '';
  try {
    const body = withoutSecrets(JSON.parse(json));
    for (const name of secretMembers) if (isObject(body) && Object.hasOwn(body, name)) body[name] = '';
    return JSON.stringify(body, null, 2);
  } catch {
    // A body that is not JSON is not kept, because its secrets cannot be found.
    return '';
  }
}

/**
 * Returns what the history keeps of a form: no files, and no values of members or parameters that are secret.
 *
 * @param secretMembers the names of members that the schema marks as secret
 */
export const valuesForHistory = (
  { path, query, header, type, json }: Values,
  secretMembers: readonly string[] = [],
): KeptValues => ({
  path: keepParameters(path),
  query: keepParameters(query),
  header: keepParameters(header),
  type,
  json: keepBody(json, secretMembers),
});

/** The names of the members of a body that are written but never returned. */
export function secretMembersOf(schema: Schema, document: OpenApiDocument): string[] {
  return (formMembers(schema, document) ?? [])
    .filter(({ schema: { writeOnly, format } }) => writeOnly === true || format === 'password')
    .map(({ name }) => name);
}
