/** Code for the typed client. Nothing here depends on a browser. */
import { isObject, type OpenApiDocument, type ResourceFacts } from '../document.ts';
import type { Operation } from '../operations.ts';
import { isIdentifier, literal, parseJson, quoteText } from './code-text.ts';
import { aggregateQuery, listQuery } from './list-query.ts';
import { type FormRequest, isJsonType, type Values } from './request.ts';

/** Members of a client that are not resources. */
const CLIENT_MEMBERS = new Set(['auth', 'push', 'request', 'resource', 'url', 'then']);

/** Methods of `client.auth` for routes of accounts. */
const ACCOUNT_METHODS = new Map<string, (body: unknown) => string>([
  ['POST /api/auth/login', (body) => `client.auth.signIn(${literal(body)})`],
  ['POST /api/auth/register', (body) => `client.auth.register(${literal(body)})`],
  ['POST /api/auth/logout', () => 'client.auth.signOut()'],
  ['GET /api/auth/me', () => 'client.auth.user()'],
  ['PATCH /api/auth/me', (body) => `client.auth.updateUser(${literal(body)})`],
]);

/** The expression for the client of a resource, by its path: `client.blogPosts`. */
function clientOf(path: string): string {
  const name = path.replace(/^\//, '');
  const key = name.replaceAll(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  const isKey = isIdentifier(key) && key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`) === name;
  if (isKey && !CLIENT_MEMBERS.has(key)) return `client.${key}`;
  return CLIENT_MEMBERS.has(name) || !/[-/]/.test(name)
    ? `client.resource(${quoteText(`/${name}`)})`
    : `client[${quoteText(name)}]`;
}

/** Writes arguments. Empty ones at the end are left out. */
function args(...list: unknown[]): string {
  const written = list.map((one) => (one === undefined ? '{}' : literal(one)));
  const last = written.findLastIndex((one) => one !== '{}');
  return written.slice(0, last + 1).join(', ');
}

/** The headers that the client does not set itself. */
function headersOf({ headers }: FormRequest, set = ['Content-Type']): Record<string, string> | undefined {
  const own = headers.filter(([name]) => !set.includes(name));
  return own.length === 0 ? undefined : Object.fromEntries(own);
}

/** The options of a method of a resource; undefined without any. A creation has a key without being told. */
function optionsOf(request: FormRequest): Record<string, unknown> | undefined {
  const [, ifMatch] = request.headers.find(([name]) => name === 'If-Match') ?? [];
  const headers = headersOf(request, ['Content-Type', 'If-Match', 'Idempotency-Key']);
  if (ifMatch === undefined && headers === undefined) return undefined;
  return { ...(ifMatch !== undefined && { ifMatch }), ...(headers && { headers }) };
}

const bodyOf = ({ json }: FormRequest) => (json === undefined ? undefined : parseJson(json));

/** The calls of the methods of a resource, by method and path below that of the resource. */
const ACTION_CALLS = new Map<string, { action: string; write: (parts: CallParts) => string }>([
  ['GET ', { action: 'list', write: ({ query, options }) => `list(${args(query(), options)})` }],
  ['POST ', { action: 'create', write: ({ body, options }) => `create(${args(body, options) || '{}'})` }],
  ['GET /{id}', { action: 'read', write: ({ id, query, options }) => `get(${args(id, query(), options)})` }],
  ['PATCH /{id}', { action: 'update', write: ({ id, body, options }) => `update(${updateArgs(id, body, options)})` }],
  ['DELETE /{id}', { action: 'delete', write: ({ id, options }) => `delete(${args(id, options)})` }],
  ['POST /{id}/restore', { action: 'restore', write: ({ id, options }) => `restore(${args(id, options)})` }],
  ['POST /batch', { action: 'batch', write: ({ body, options }) => `batch(${batchArgs(body, options)})` }],
  [
    'GET /aggregate',
    { action: 'aggregate', write: ({ aggregates, options }) => `aggregate(${args(aggregates(), options)})` },
  ],
]);

interface CallParts {
  id: string;
  body: unknown;
  options: Record<string, unknown> | undefined;
  query: () => object;
  aggregates: () => object;
}

/** The body of an update is required, also an empty one. */
function updateArgs(id: string, body: unknown, options: object | undefined): string {
  const isEmpty = options === undefined && Object.keys(isObject(body) ? body : {}).length === 0;
  return isEmpty ? `${quoteText(id)}, {}` : args(id, body, options);
}

function batchArgs(body: unknown, options: object | undefined): string {
  const { operations = [], mode } = isObject(body) ? body : {};
  return args(operations, { ...(mode ? { mode } : {}), ...options });
}

/** The call of a CRUD method or custom route of a resource; undefined for other routes. */
function resourceCall(
  operation: Operation,
  request: FormRequest,
  values: Values,
  resources: readonly ResourceFacts[],
): string | undefined {
  const { method, path } = operation;
  const owner = resources
    .filter((one) => path === `/api${one.path}` || path.startsWith(`/api${one.path}/`))
    .toSorted((a, b) => b.path.length - a.path.length)[0];
  if (owner === undefined) return undefined;
  const below = path.slice(`/api${owner.path}`.length);
  const known = ACTION_CALLS.get(`${method} ${below}`);
  if (known === undefined) return customCall(`${method} ${below}`, request, values, owner);
  if (!owner.actions.includes(known.action)) return undefined;
  const call = known.write({
    id: values.path.id?.trim() || '…',
    body: bodyOf(request),
    options: optionsOf(request),
    query: () => listQuery(operation, values.query),
    aggregates: () => aggregateQuery(operation, values.query),
  });
  return `${clientOf(owner.path)}.${call}`;
}

/** The call of a custom route of a resource; undefined if the client has no method for it. */
function customCall(route: string, request: FormRequest, values: Values, owner: ResourceFacts): string | undefined {
  const name = route.replaceAll(/\{(\w+)\}/g, ':$1').replace(/ $/, ' /');
  if (!owner.routes.includes(name)) return undefined;
  const parameters = [...route.matchAll(/\{(\w+)\}/g)].map(([, one = '']) => [one, values.path[one]?.trim() || '…']);
  const query = Object.entries(values.query).filter(([, value]) => value !== '');
  const headers = headersOf(request);
  const input = bodyOf(request);
  return `${clientOf(owner.path)}.call(${args(name, {
    ...(parameters.length > 0 && { params: Object.fromEntries(parameters) }),
    ...(query.length > 0 && { query: Object.fromEntries(query) }),
    ...(input !== undefined && { input }),
    ...(headers && { headers }),
  })})`;
}

/** The call of `client.request`, which sends any request. A form or file cannot be written as a literal. */
function plainCall(request: FormRequest): string {
  const { method, path, form, file } = request;
  const [pathname = '', query] = path.slice('/api'.length).split('?');
  const written = literal({
    method,
    path: pathname,
    query: query === undefined ? undefined : Object.fromEntries(new URLSearchParams(query)),
    json: bodyOf(request),
    headers: headersOf(request),
  });
  if (form === undefined && file === undefined) return `client.request(${written})`;
  return `client.request(${written.replace(/,?\s*\}$/, `, body: ${form === undefined ? 'file' : 'form'} }`)})`;
}

/**
 * The call of the typed client that sends a request: a method of the resource or of `auth`, otherwise `client.request`.
 *
 * @param document its `x-resources` lists the methods that exist
 */
export function clientSample(
  operation: Operation,
  request: FormRequest,
  values: Values,
  document: OpenApiDocument,
): string {
  const head = "import { client } from './client.ts';\n\n";
  const account = ACCOUNT_METHODS.get(`${operation.method} ${operation.path}`);
  if (account !== undefined) return `${head}await ${account(bodyOf(request) ?? {})};`;
  const call =
    operation.body === undefined || isJsonType(values.type)
      ? resourceCall(operation, request, values, document['x-resources'] ?? [])
      : undefined;
  if (call !== undefined) return `${head}const result = await ${call};`;
  return `${head}const { data } = await ${plainCall(request)};`;
}
