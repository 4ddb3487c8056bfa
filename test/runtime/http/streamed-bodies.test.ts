import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineResource, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

let received: unknown;
const sheet = defineResource('sheet', {
  fields: { title: f.string() },
  policies: { create: 'public' },
  routes: (route) => [
    route.post(
      '/import',
      { policy: 'public', body: { kind: 'binary', types: ['text/csv', 'image/*'], maxBytes: 1000 } },
      async ({ body }) => {
        let bytes = 0;
        for await (const chunk of body) bytes += (chunk as Buffer).length;
        return { bytes };
      },
    ),
    route.post(
      '/mixed',
      {
        policy: 'public',
        body: {
          kind: 'multipart',
          fields: z.strictObject({ title: z.string().max(20), count: z.coerce.number().int() }),
          files: { attachment: { maxBytes: 1000, types: ['text/plain'], required: true }, extra: { maxBytes: 10 } },
          maxFiles: 3,
        },
      },
      async ({ body: { fields, files } }) => {
        received = undefined;
        const list: [string, string, string][] = [];
        for await (const { field, name, stream } of files) list.push([field, name, await text(stream)]);
        received = fields;
        return { title: fields.title, next: fields.count + 1, list };
      },
    ),
    route.post(
      '/ignored',
      { policy: 'public', body: { kind: 'multipart', files: { attachment: { maxBytes: 1_000_000 } } } },
      async ({ body: { files } }) => {
        for await (const { name } of files) return name;
        return 'none';
      },
    ),
  ],
});
const { url, call } = await startTestApp({ resources: [sheet] });

async function post(path: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}/api/sheets${path}`, { method: 'POST', body: body as never, headers });
  return { status: response.status, body: JSON.parse(await response.text()) };
}

const form = (...parts: string[]) =>
  post('/mixed', `${parts.map((part) => `--B\r\n${part}\r\n`).join('')}--B--\r\n`, {
    'content-type': 'multipart/form-data; boundary=B',
  });
const field = (name: string, value: string) => `Content-Disposition: form-data; name="${name}"\r\n\r\n${value}`;
const file = (name: string, value: string, type = 'text/plain', filename = 'a.txt') =>
  `Content-Disposition: form-data; name="${name}"; filename="${filename}"\r\nContent-Type: ${type}\r\n\r\n${value}`;
const FIELDS = [field('title', 'Sums'), field('count', '3')];

test('a route reads a body of bytes as a stream', async () => {
  expect(await post('/import', 'a;b', { 'content-type': 'text/csv; charset=utf-8' })).toEqual({
    status: 200,
    body: { data: { bytes: 3 } },
  });
  expect((await post('/import', 'a;b', { 'content-type': 'image/png' })).status).toBe(200);
});

test('a body of another type, a compressed body and a body that is too large are refused', async () => {
  const wrong = await post('/import', 'a', { 'content-type': 'text/plain' });
  expect([wrong.status, wrong.body.error.message]).toEqual([415, 'The Content-Type must be text/csv or image/*']);
  expect((await post('/import', 'a', { 'content-type': 'text/csv', 'content-encoding': 'gzip' })).status).toBe(415);
  const large = await post('/import', 'a'.repeat(1001), { 'content-type': 'text/csv' });
  expect([large.status, large.body.error.code]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
  const chunked = new ReadableStream({
    start(controller) {
      for (let i = 0; i < 20; i++) controller.enqueue(Buffer.alloc(100));
      controller.close();
    },
  });
  const response = await fetch(`${url}/api/sheets/import`, {
    ...{ method: 'POST', body: chunked, headers: { 'content-type': 'text/csv' }, duplex: 'half' },
  } as RequestInit);
  expect(response.status).toBe(413);
});

test('an Idempotency-Key is refused, because the bytes cannot be compared', async () => {
  expect((await post('/import', 'a', { 'content-type': 'text/csv', 'idempotency-key': 'k' })).status).toBe(400);
});

test('a route reads the checked fields of a form, and its files one after the other', async () => {
  const body = new FormData();
  body.append('title', 'Sums');
  body.append('count', '3');
  body.append('attachment', new Blob(['one'], { type: 'text/plain' }), 'größe.txt');
  body.append('extra', new Blob(['two']), 'b');
  expect(await post('/mixed', body)).toEqual({
    status: 200,
    body: {
      data: {
        title: 'Sums',
        next: 4,
        list: [
          ['attachment', 'größe.txt', 'one'],
          ['extra', 'b', 'two'],
        ],
      },
    },
  });
});

test('a file input with nothing chosen is left out, so that a required file is missing', async () => {
  const nothing = file('extra', '', 'application/octet-stream', '');
  const { body } = await form(...FIELDS, nothing, file('attachment', 'one'), nothing);
  expect(body.data.list).toEqual([['attachment', 'a.txt', 'one']]);
  const missing = await form(...FIELDS, file('attachment', '', 'application/octet-stream', ''));
  expect([missing.status, missing.body.error.details]).toEqual([422, { attachment: 'Is required' }]);
});

test('files that the handler does not read are skipped', async () => {
  const body = new FormData();
  body.append('attachment', new Blob(['a'.repeat(500_000)]), 'first');
  expect((await post('/ignored', body)).body.data).toBe('first');
});

test.each<[string, string[], number, string]>([
  ['a field that the schema refuses', [field('title', 'x'.repeat(30)), field('count', '3')], 422, 'title'],
  ['an unknown field', [...FIELDS, field('more', '1')], 422, 'more'],
  ['a repeated field', [...FIELDS, field('title', 'again')], 422, 'title'],
  ['a missing file', FIELDS, 422, 'attachment'],
  ['a file in a field that takes no files', [...FIELDS, file('title', 'x')], 422, 'title'],
  [
    'a field after a file',
    [...FIELDS, file('attachment', 'x'), field('title', 'late')],
    400,
    'Send the field "title" before the files',
  ],
  [
    'a file of another type',
    [...FIELDS, file('attachment', 'x', 'text/html')],
    415,
    'the part "attachment" must be text/plain',
  ],
  [
    'a file that is too large',
    [...FIELDS, file('attachment', 'x'.repeat(1001))],
    413,
    'The part "attachment" must be at most 1000 bytes',
  ],
  ['too many files', [...FIELDS, ...Array.from({ length: 4 }, () => file('attachment', 'x'))], 400, 'at most 3 files'],
  ['a part without a name', [...FIELDS, 'Content-Disposition: form-data\r\n\r\nx'], 400, 'Part 3 needs'],
  ['a part without headers', [...FIELDS, '\r\nx'], 400, 'Part 3 needs'],
  ['a part with an empty name', [field('', 'x')], 400, 'Part 1 needs'],
  ['a name of an inherited property', [field('__proto__', 'x')], 400, '"__proto__", is not allowed'],
  ['a very long name', [field('n'.repeat(200), 'x')], 400, 'must be at most 100 characters'],
  [
    'too many headers',
    [`${Array.from({ length: 30 }, (_, i) => `X-${i}: 1`).join('\r\n')}\r\n${field('title', 'x')}`],
    400,
    'Part 1',
  ],
  ['very long headers', [`X-Long: ${'x'.repeat(20_000)}\r\n${field('title', 'x')}`], 400, 'Part 1'],
  [
    'an encoded part',
    [`Content-Transfer-Encoding: base64\r\n${field('title', 'eA==')}`],
    400,
    'Content-Transfer-Encoding',
  ],
])('a form is refused with an error that names the part: %s', async (_what, parts, status, message) => {
  received = undefined;
  const answer = await form(...parts);
  expect([answer.status, JSON.stringify(answer.body.error).replaceAll('\\"', '"')]).toEqual([
    status,
    expect.stringContaining(message),
  ]);
  expect(received).toBeUndefined();
});

test('a form must be complete, and declare its boundary', async () => {
  const type = { 'content-type': 'multipart/form-data; boundary=B' };
  expect((await post('/mixed', 'x', { 'content-type': 'multipart/form-data' })).body.error.message).toContain(
    'boundary',
  );
  expect((await post('/mixed', '{}', { 'content-type': 'application/json' })).status).toBe(415);
  expect((await post('/mixed', '', type)).status).toBe(400);
  for (const body of [
    '--B',
    'no form',
    `--B\r\n${field('title', 'x')}`,
    `--B\r\n${FIELDS[0]}\r\n--B\r\n${FIELDS[1]}\r\n--B\r\n${file('attachment', 'cut')}`,
  ])
    expect((await post('/mixed', body, type)).body.error?.message, body).toBe('The form is truncated or malformed');
});

test('a client that disconnects ends the stream of the handler', async () => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write(
    'POST /api/sheets/import HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/csv\r\ncontent-length: 900\r\n\r\nabc',
  );
  socket.destroy();
  expect((await post('/import', 'a;b', { 'content-type': 'text/csv' })).status).toBe(200);
});

test('the OpenAPI document describes both kinds of bodies', async () => {
  const { paths } = (await call('GET', '/api/openapi.json')).body;
  expect(paths['/api/sheets/import'].post.requestBody.content).toEqual({
    'text/csv': { schema: {} },
    'image/*': { schema: {} },
  });
  const { schema, encoding } = paths['/api/sheets/mixed'].post.requestBody.content['multipart/form-data'];
  expect(Object.keys(schema.properties)).toEqual(['title', 'count', 'attachment', 'extra']);
  expect(schema.required).toEqual(['title', 'count', 'attachment']);
  expect(encoding).toEqual({ attachment: { contentType: 'text/plain' } });
});
