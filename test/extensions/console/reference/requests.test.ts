import { expect, test } from 'vitest';
import { createClient } from '../../../../packages/client/src/index.ts';
import { adminConsole } from '../../../../src/index.ts';
import { readContract } from '../../../runtime/openapi/contract.ts';
import { everyApp } from '../../../runtime/openapi/every-app.ts';
import { startTestApp } from '../../../support/app.ts';
import {
  clientSamples,
  documents,
  examples,
  type FormRequest,
  members,
  type Operation,
  requests,
  samples,
  secrets,
  type Values,
} from './pages.ts';

const { url } = await startTestApp({ ...everyApp, extensions: [...everyApp.extensions, adminConsole()] });
const contract = await readContract(url);
const { document } = contract;
const operations = documents.listOperations(document);
const byId = new Map(operations.map((operation) => [operation.id, operation]));
const operationOf = (id: string): Operation => byId.get(id)!;
const JSON_TYPE = 'application/json';

/** Fills the form as a user would: every parameter of the path, and some of the query. */
function fill(operation: Operation, query: Record<string, string> = {}): Values {
  const values = requests.initialValues(operation, document);
  const inPath = operation.parameters.filter((one) => one.in === 'path');
  return { ...values, path: Object.fromEntries(inPath.map(({ name }) => [name, '65f0c1d2e3a4b5c6d7e8f901'])), query };
}

test('every operation of the document is in the reference, in one group', () => {
  expect(operations.map(({ id }) => id).toSorted()).toEqual([...contract.operations.keys()].toSorted());
  const groups = documents.groupOperations(operations, ['note', 'thing']);
  expect(groups.flatMap(({ operations: list }) => list)).toHaveLength(operations.length);
  expect(groups.slice(0, 2).map(({ tag }) => tag)).toEqual(['note', 'thing']);
});

test('the search finds an operation by method, path, summary and id', () => {
  const find = (text: string) => operations.filter((one) => documents.matchesSearch(one, text)).map(({ id }) => id);
  expect(find('POST deep/notes')).toContain('createNote');
  expect(find('createnote')).toEqual(['createNote']);
  expect(find('run the probe')).toEqual(['runProbe']);
  expect(find('no such thing')).toEqual([]);
});

test.each(operations.filter(({ body }) => body?.content[JSON_TYPE] !== undefined).map(({ id }) => [id]))(
  'the form of %s begins with a body that is valid, and so is the full example',
  (id) => {
    const operation = operationOf(id);
    const { schema } = operation.body!.content[JSON_TYPE];
    const { json } = requests.initialValues(operation, document);
    const isEmptyAllowed = operation.body!.required !== true;
    if (!(isEmptyAllowed && json === '')) expect(contract.isValid(schema, JSON.parse(json)), json).toBe(true);
    const full = examples.exampleOf(schema, document, 'input');
    expect(contract.isValid(schema, full), JSON.stringify(full)).toBe(true);
  },
);

test('the examples of responses are valid', () => {
  const wrong = operations.flatMap(({ id, raw }) =>
    Object.entries(raw.responses).flatMap(([status, part]) => {
      const { schema } = contract.resolve(part as object).content?.[JSON_TYPE] ?? {};
      if (schema === undefined || !status.startsWith('2')) return [];
      const example = examples.exampleOf(schema, document, 'output');
      return contract.isValid(schema, example) ? [] : [`${id} ${status}: ${JSON.stringify(example)}`];
    }),
  );
  expect(wrong).toEqual([]);
});

interface Sent {
  headers: Headers;
  method: string;
  path: string;
  body: unknown;
}

/** Runs the code for the typed client, and returns the request that the client sends. */
async function runClient(code: string): Promise<Sent> {
  const [head, ...rest] = code.split('\n\n');
  expect(head).toBe("import { client } from './client.ts';");
  const sent: Sent[] = [];
  const record = async (input: string | URL | Request, init?: RequestInit) => {
    const target = new URL(String(input));
    const body = typeof init?.body === 'string' ? JSON.parse(init.body) : undefined;
    sent.push({
      headers: new Headers(init?.headers),
      method: init?.method ?? 'GET',
      path: target.pathname + target.search,
      body,
    });
    return Response.json({ data: [], meta: { limit: 1 } });
  };
  const client = createClient({ url: 'http://localhost', token: 'x', fetch: record, retries: 0 });
  const text = rest
    .join('\n\n')
    .replace(/^const .*? = await /, '')
    .replace(/^await /, '')
    .replace(/;$/, '');
  const call = new Function('client', `return ${text}`) as (one: typeof client) => Promise<unknown>;
  // Some methods of the client read the response, which is made up here.
  await call(client).catch(() => undefined);
  return sent[0]!;
}

const parametersOf = (path: string) => {
  const { pathname, searchParams } = new URL(path, 'http://localhost');
  return { pathname, query: Object.fromEntries(searchParams) };
};

async function expectSameRequest(operation: Operation, values: Values, request: FormRequest): Promise<void> {
  const sent = await runClient(clientSamples.clientSample(operation, request, values, document));
  expect([operation.id, sent.method]).toEqual([operation.id, request.method]);
  expect(parametersOf(sent.path)).toEqual(parametersOf(request.path));
  if (request.json !== undefined) expect(sent.body ?? {}).toEqual(JSON.parse(request.json));
  for (const [name, value] of request.headers)
    expect([operation.id, sent.headers.get(name)]).toEqual([operation.id, value]);
}

// The client signs in with a further request, or needs a session in the browser.
const ACCOUNT_CALLS = new Set(['login', 'register', 'logout', 'readMe', 'updateMe']);

test('the code for the typed client calls a method that exists and sends the request of the form, for every operation', async () => {
  const usual = operations.filter(
    ({ id, body }) => !ACCOUNT_CALLS.has(id) && (body === undefined || body.content[JSON_TYPE] !== undefined),
  );
  expect(usual.length).toBeGreaterThan(60);
  for (const operation of usual) {
    const values = fill(operation);
    await expectSameRequest(operation, values, requests.buildRequest(operation, values));
    const tagged: Record<string, string> = operation.parameters.some(({ name }) => name === 'If-Match')
      ? { 'If-Match': '"v1"' }
      : {};
    const withHeaders = { ...values, header: tagged, other: 'X-Organisation: acme\n\nAccept-Language: de' };
    await expectSameRequest(operation, withHeaders, requests.buildRequest(operation, withHeaders));
  }
});

test('the code for the typed client has the methods of resources, and filters as the client takes them', async () => {
  const list = operationOf('listThings');
  const values = fill(list, {
    'amount[gte]': '10',
    'amount[lt]': '20',
    kind: 'a',
    sort: '-amount',
    limit: '5',
    include: 'other',
  });
  const request = requests.buildRequest(list, values);
  await expectSameRequest(list, values, request);
  const code = clientSamples.clientSample(list, request, values, document);
  expect(code).toContain('client.things.list({');
  expect(code).toContain('amount: { gte: 10, lt: 20 }');
  const textOf = (id: string) => {
    const given = fill(operationOf(id));
    return clientSamples.clientSample(operationOf(id), requests.buildRequest(operationOf(id), given), given, document);
  };
  expect(textOf('readNote')).toContain("client['deep/notes'].get('65f0c1d2e3a4b5c6d7e8f901')");
  expect(textOf('deleteThing')).toContain("client.things.delete('65f0c1d2e3a4b5c6d7e8f901')");
  expect(textOf('restoreBinned')).toContain('client.binneds.restore(');
  expect(textOf('runProbe')).toContain("client.request({ method: 'POST', path: '/probe/run' })");
  expect(textOf('login')).toContain('client.auth.signIn({');
  expect(textOf('listWebhooks')).toContain("client.request({ method: 'GET', path: '/webhooks' })");
});

test('the command for curl quotes every value, and names no token', () => {
  const operation = operationOf('createNote');
  const values = {
    ...fill(operation),
    json: JSON.stringify({ text: `it's "$(here)"` }),
    header: { 'Idempotency-Key': 'a' },
  };
  const command = samples.curlSample(operation, requests.buildRequest(operation, values), 'http://localhost');
  expect(command).toBe(
    [
      `curl -X POST 'http://localhost/api/deep/notes'`,
      `-H "Authorization: Bearer $TOKEN"`,
      `-H 'Idempotency-Key: a'`,
      `-H 'Content-Type: application/json'`,
      `-d '{"text":"it'\\''s \\"$(here)\\""}'`,
    ].join(' \\\n  '),
  );
  const list = operationOf('listThings');
  const filtered = requests.buildRequest(list, fill(list, { 'amount[gte]': '1', q: 'a&b=c' }));
  expect(samples.curlSample(list, filtered, 'http://localhost')).toContain(
    `curl -g 'http://localhost/api/things?amount[gte]=1&q=a%26b%3Dc'`,
  );
});

/** A text that would end strings and templates if it were not escaped. */
const HOSTILE = ['\'"`', '\\', '\n', '$', '{x}', '</script>', '\u2028'].join('');

test('the code for fetch is valid, whatever the texts contain', () => {
  for (const operation of operations) {
    const values = { ...fill(operation, { q: HOSTILE }), json: JSON.stringify({ [HOSTILE]: HOSTILE }) };
    const code = samples.fetchSample(operation, requests.buildRequest(operation, values), 'http://localhost');
    expect(
      () =>
        new Function(
          `return async (token, form, file) => {${code.replace('const form', 'const data2 = 1; const form2')}}`,
        ),
      code,
    ).not.toThrow();
  }
});

test('parameters are encoded, and a form with errors names them', () => {
  const read = operationOf('readNote');
  const values = { ...fill(read), path: { id: '../users?x#' } };
  expect(requests.buildRequest(read, values).path).toBe('/api/deep/notes/..%2Fusers%3Fx%23');
  expect(requests.checkValues(read, { ...values, path: {} })).toEqual({ 'path.id': 'Is required' });
  expect(requests.checkValues(read, { ...values, path: { id: '..' } })).toEqual({ 'path.id': 'Must not be . or ..' });
  const create = operationOf('createNote');
  expect(requests.checkValues(create, { ...fill(create), json: '{' }).body).toContain('not valid JSON');
});

test('further headers are sent, and a line that is no header is an error', () => {
  const read = operationOf('readNote');
  const values = { ...fill(read), other: ' X-Organisation: acme \nAccept-Language:de' };
  expect(requests.buildRequest(read, values).headers).toEqual([
    ['X-Organisation', 'acme'],
    ['Accept-Language', 'de'],
  ]);
  for (const other of ['nonsense', 'X Y: z', 'X-A: \u00fc\u2028', ': a'])
    expect(requests.checkValues(read, { ...values, other }).other).toContain('is not a header');
  expect(secrets.valuesForHistory({ ...values, other: 'X-Secret: svc_1' })).not.toHaveProperty('other');
});

test('controls keep texts as texts, and convert numbers, booleans and JSON', () => {
  const read = (schema: object, text: string, alternatives: object[] = []) =>
    members.readMember({ schema, alternatives }, text);
  expect(read({ type: 'string' }, '12')).toBe('12');
  expect(read({ type: 'integer' }, '12')).toBe(12);
  expect(read({ type: 'integer' }, 'twelve')).toBe('twelve');
  expect(read({ type: 'boolean' }, 'false')).toBe(false);
  expect(read({ type: 'array' }, '["a"]')).toEqual(['a']);
  expect(() => read({ type: 'object' }, '{')).toThrow(SyntaxError);
  expect(read({}, '2026-01-15', [{}, {}])).toBe('2026-01-15');
  expect(read({ type: 'string' }, '')).toBeUndefined();
  const nullable = (schema: object, text: string) =>
    members.readMember({ schema, alternatives: [], isNullable: true }, text);
  expect(nullable({ type: 'string' }, 'null')).toBe('null');
  expect(nullable({ type: 'string', enum: ['a'] }, 'null')).toBeNull();
  expect(nullable({ type: 'boolean' }, 'null')).toBeNull();
});

test('the history keeps no passwords, tokens, codes, write-only values or files', () => {
  const login = operationOf('login');
  const json = JSON.stringify({ email: 'a@b.c', password: 'hunter2', nested: [{ apiKey: 'svc_ak_1' }], note: 'kept' });
  const values = {
    ...fill(login, { token: 'svc_1', 'title[eq]': 'kept' }),
    path: { token: 'svc_2', id: '1' },
    header: { 'Idempotency-Key': 'kept', Authorization: 'svc_3' },
    json,
    form: { file: 'x' },
  };
  const kept = secrets.valuesForHistory(values, ['note']);
  expect(JSON.stringify(kept)).not.toMatch(/hunter2|svc_/);
  expect(kept).toMatchObject({
    query: { 'title[eq]': 'kept' },
    path: { id: '1' },
    header: { 'Idempotency-Key': 'kept' },
  });
  expect(JSON.parse(kept.json)).toEqual({ email: 'a@b.c', password: '', nested: [{ apiKey: '' }], note: '' });
  expect(secrets.valuesForHistory({ ...values, json: '{ "password": "hunter2"' }).json).toBe('');
  const { schema } = operationOf('createThing').body!.content[JSON_TYPE];
  expect(secrets.secretMembersOf(schema, document)).toContain('word');
});
