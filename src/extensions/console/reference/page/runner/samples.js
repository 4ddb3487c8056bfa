import { isJsonType } from './request.js';

/** Members of a client that are not resources. */
const CLIENT_MEMBERS = new Set(['auth', 'push', 'request', 'resource', 'url', 'then']);
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
/** Parameters of lists that are lists of names. */
const NAME_LISTS = ['include', 'fields'];
const LIST_PARAMETERS = ['q', 'deleted', 'sort', 'page', 'after', 'count', 'limit'];

/** Methods of `client.auth` for routes of accounts. */
const ACCOUNT_METHODS = {
  'POST /api/auth/login': (body) => `client.auth.signIn(${literal(body)})`,
  'POST /api/auth/register': (body) => `client.auth.register(${literal(body)})`,
  'POST /api/auth/logout': () => 'client.auth.signOut()',
  'GET /api/auth/me': () => 'client.auth.user()',
  'PATCH /api/auth/me': (body) => `client.auth.updateUser(${literal(body)})`,
};

/** Quotes a text for a shell. */
const quote = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

const text = (value) => `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;

/** Writes a value as code. */
function literal(value, indent = '') {
  if (typeof value === 'string') return text(value);
  if (typeof value !== 'object' || value === null) return String(value);
  const inner = `${indent}  `;
  const items = Array.isArray(value)
    ? value.map((item) => literal(item, inner))
    : Object.entries(value)
        .filter(([, item]) => item !== undefined)
        .map(([name, item]) => `${IDENTIFIER.test(name) ? name : text(name)}: ${literal(item, inner)}`);
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  if (items.length === 0) return open + close;
  const short = Array.isArray(value) ? `[${items.join(', ')}]` : `{ ${items.join(', ')} }`;
  if (short.length + indent.length <= 72 && !short.includes('\n')) return short;
  return `${open}\n${items.map((item) => `${inner}${item},\n`).join('')}${indent}${close}`;
}

const needsToken = ({ raw }) => (raw.security ?? []).length > 0;

const fileName = (value) => (typeof value === 'string' ? value : `@${value.name}`);

/** The command that sends a request. The token is a variable of the shell. */
export function curlSample(operation, request, origin) {
  const { method, path, headers, json, form, file } = request;
  const lines = [
    method === 'GET' ? 'curl' : `curl -X ${method}`,
    needsToken(operation) && '-H "Authorization: Bearer $TOKEN"',
    ...headers.map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`),
    json !== undefined && `-d ${quote(json)}`,
    ...(form ?? []).map(([name, value]) => `-F ${quote(`${name}=${fileName(value)}`)}`),
    form === undefined && json === undefined && operation.body && file && `--data-binary ${quote(`@${file.name}`)}`,
  ].filter((line) => typeof line === 'string');
  // Without an option, curl reads brackets as ranges.
  const isGlob = /[[\]{}]/.test(path);
  const [first, ...rest] = lines;
  return [`${first}${isGlob ? ' -g' : ''} ${quote(origin + path)}`, ...rest].join(' \\\n  ');
}

/** The call of `fetch` that sends a request. */
export function fetchSample(operation, request, origin) {
  const { method, path, headers, json, form, file } = request;
  const all = [
    ...(needsToken(operation) ? [['Authorization', "'Bearer ' + token"]] : []),
    ...headers.map(([name, value]) => [name, text(value)]),
  ];
  const lines = [
    method !== 'GET' && `method: '${method}'`,
    all.length > 0 &&
      `headers: { ${all.map(([name, code]) => `${IDENTIFIER.test(name) ? name : text(name)}: ${code}`).join(', ')} }`,
    json !== undefined && `body: JSON.stringify(${literal(parseJson(json), '  ')})`,
    form !== undefined && 'body: form',
    file !== undefined && 'body: file',
  ].filter((line) => line !== false);
  const options = lines.length === 0 ? '' : `, {\n${lines.map((line) => `  ${line},\n`).join('')}}`;
  const before =
    form === undefined
      ? ''
      : `const form = new FormData();\n${form.map(([name, value]) => `form.append(${text(name)}, ${typeof value === 'string' ? text(value) : 'file'});\n`).join('')}`;
  return `${before}const response = await fetch(${text(origin + path)}${options});
const { data } = await response.json();`;
}

function parseJson(json) {
  try {
    return JSON.parse(json);
  } catch {
    return {};
  }
}

/** Converts the text of a query parameter to its declared type. */
function typed(operation, name, value) {
  const schema = operation.parameters.find((one) => one.in === 'query' && one.name === name)?.schema ?? {};
  if (schema.type === 'boolean') return value === 'true';
  if (['integer', 'number'].includes(schema.type) && !Number.isNaN(Number(value))) return Number(value);
  return schema.type === 'array' ? value.split(',') : value;
}

/** Converts the query of a list to the argument of `client.posts.list`. */
function listQuery(operation, query) {
  const where = {};
  const rest = {};
  for (const [name, value] of Object.entries(query)) {
    if (value === '' || value === undefined) continue;
    if (NAME_LISTS.includes(name)) rest[name] = value.split(',');
    else if (LIST_PARAMETERS.includes(name)) rest[name] = typed(operation, name, value);
    else {
      const [, field, operator] = /^(.+)\[(\w+)\]$/.exec(name) ?? [];
      if (field === undefined) where[name] = typed(operation, name, value);
      else {
        const known = typeof where[field] === 'object' && !Array.isArray(where[field]) ? where[field] : {};
        where[field] = { ...known, [operator]: typed(operation, name, value) };
      }
    }
  }
  return { ...(Object.keys(where).length > 0 && { where }), ...rest };
}

/** Converts the query of aggregates to the argument of `client.posts.aggregate`. */
function aggregateQuery(operation, query) {
  const own = ['group', 'sum', 'avg', 'min', 'max', 'countDistinct', 'timeZone'];
  const isOwn = ([name]) => own.includes(name) || name === 'count';
  const mine = Object.entries(query)
    .filter((entry) => isOwn(entry) && entry[1] !== '')
    .map(([name, value]) => [name, name === 'count' ? true : name === 'timeZone' ? value : value.split(',').map(term)]);
  return {
    ...Object.fromEntries(mine),
    ...listQuery(operation, Object.fromEntries(Object.entries(query).filter((one) => !isOwn(one)))),
  };
}

/** `month(createdAt)` → `{ month: 'createdAt' }`. */
function term(name) {
  const [, unit, field] = /^(\w+)\((.+)\)$/.exec(name) ?? [];
  return unit === undefined ? name : { [unit]: field };
}

/** The expression for the client of a resource, by its path: `client.blogPosts`. */
function clientOf(path) {
  const name = path.replace(/^\//, '');
  const key = name.replaceAll(/-([a-z0-9])/g, (_, letter) => letter.toUpperCase());
  const isKey = IDENTIFIER.test(key) && key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`) === name;
  if (isKey && !CLIENT_MEMBERS.has(key)) return `client.${key}`;
  return CLIENT_MEMBERS.has(name) || !/[-/]/.test(name)
    ? `client.resource(${text(`/${name}`)})`
    : `client[${text(name)}]`;
}

/** Writes arguments. Empty ones at the end are left out. */
function args(...list) {
  const written = list.map((one) => (one === undefined ? '{}' : literal(one)));
  const last = written.findLastIndex((one) => one !== '{}');
  return written.slice(0, last + 1).join(', ');
}

/** The call of a CRUD method or custom route of a resource; undefined for other routes. */
function resourceCall(operation, request, values, facts) {
  const { method, path } = operation;
  const owner = facts
    .filter((one) => path === `/api${one.path}` || path.startsWith(`/api${one.path}/`))
    .toSorted((a, b) => b.path.length - a.path.length)[0];
  if (owner === undefined) return undefined;
  const below = path.slice(`/api${owner.path}`.length);
  const client = clientOf(owner.path);
  const has = (action) => owner.actions.includes(action);
  const id = values.path.id?.trim() || '…';
  const body = request.json === undefined ? undefined : parseJson(request.json);
  const query = listQuery(operation, values.query);
  const options = optionsOf(request);
  switch (`${method} ${below}`) {
    case 'GET ':
      return has('list') ? `${client}.list(${args(query, options)})` : undefined;
    case 'POST ':
      return has('create') ? `${client}.create(${args(body, options) || '{}'})` : undefined;
    case 'GET /{id}':
      return has('read') ? `${client}.get(${args(id, query, options)})` : undefined;
    case 'PATCH /{id}':
      return has('update')
        ? `${client}.update(${options || Object.keys(body ?? {}).length > 0 ? args(id, body, options) : `${text(id)}, {}`})`
        : undefined;
    case 'DELETE /{id}':
      return has('delete') ? `${client}.delete(${args(id, options)})` : undefined;
    case 'POST /{id}/restore':
      return has('restore') ? `${client}.restore(${args(id, options)})` : undefined;
    case 'POST /batch':
      return has('batch')
        ? `${client}.batch(${args(body?.operations ?? [], { ...(body?.mode && { mode: body.mode }), ...options })})`
        : undefined;
    case 'GET /aggregate':
      return has('aggregate')
        ? `${client}.aggregate(${args(aggregateQuery(operation, values.query), options)})`
        : undefined;
    default:
      return customCall(operation, below, request, values, { client, routes: owner.routes });
  }
}

/** The call of a custom route of a resource; undefined if the client has no method for it. */
function customCall({ method }, below, request, values, { client, routes }) {
  const name = `${method} ${below.replaceAll(/\{(\w+)\}/g, ':$1') || '/'}`;
  if (!routes.includes(name)) return undefined;
  const parameters = [...below.matchAll(/\{(\w+)\}/g)].map(([, one]) => [one, values.path[one]?.trim() || '…']);
  const query = Object.entries(values.query).filter(([, value]) => value !== '');
  const headers = headersOf(request);
  return `${client}.call(${args(name, {
    ...(parameters.length > 0 && { params: Object.fromEntries(parameters) }),
    ...(query.length > 0 && { query: Object.fromEntries(query) }),
    ...(request.json !== undefined && { input: parseJson(request.json) }),
    ...(headers && { headers }),
  })})`;
}

/** The headers that the client does not set itself. */
function headersOf({ headers }, set = ['Content-Type']) {
  const own = headers.filter(([name]) => !set.includes(name));
  return own.length === 0 ? undefined : Object.fromEntries(own);
}

/** The options of a method of a resource; undefined without any. A creation has a key without being told. */
function optionsOf(request) {
  const [, ifMatch] = request.headers.find(([name]) => name === 'If-Match') ?? [];
  const headers = headersOf(request, ['Content-Type', 'If-Match', 'Idempotency-Key']);
  if (ifMatch === undefined && headers === undefined) return undefined;
  return { ...(ifMatch !== undefined && { ifMatch }), ...(headers && { headers }) };
}

/**
 * The call of the typed client that sends a request: a method of the resource or of `auth`, otherwise `client.request`.
 *
 * @param {object} document the OpenAPI document, whose `x-resources` lists the methods that exist
 */
export function clientSample(operation, request, values, document) {
  const head = "import { client } from './client.ts';\n\n";
  const body = request.json === undefined ? undefined : parseJson(request.json);
  const account = ACCOUNT_METHODS[`${operation.method} ${operation.path}`];
  if (account !== undefined) return `${head}await ${account(body ?? {})};`;
  const call =
    operation.body === undefined || isJsonType(values.type)
      ? resourceCall(operation, request, values, document['x-resources'] ?? [])
      : undefined;
  if (call !== undefined) return `${head}const result = await ${call};`;
  const [path, query] = request.path.slice('/api'.length).split('?');
  const parameters = query === undefined ? undefined : Object.fromEntries(new URLSearchParams(query));
  const fields = {
    method: operation.method,
    path,
    query: parameters,
    json: body,
    headers: headersOf(request),
  };
  const written = literal(fields);
  const withForm = request.form === undefined && request.file === undefined ? written : addBody(written, request);
  return `${head}const { data } = await client.request(${withForm});`;
}

/** Adds a form or file, which cannot be written as a literal. */
const addBody = (code, { form }) => code.replace(/,?\s*\}$/, `, body: ${form === undefined ? 'file' : 'form'} }`);
