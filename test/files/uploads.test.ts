import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { describe, expect, test, vi } from 'vitest';
import { apiKeys, defineResource, defineUser, f } from '../../src/index.ts';
import { findAssembly } from '../../src/runtime/create-app.ts';
import { startTestApp } from '../support/app.ts';
import { createTestStorage, PNG, send } from './support.ts';

const { storage, listStored } = await createTestStorage();

const ticket = defineResource('ticket', {
  fields: {
    attachment: f.file({ maxBytes: 100_000, types: ['image/png', 'text/plain', 'text/csv', 'application/json'] }),
    anything: f.file({ maxBytes: 1000 }),
    closed: f.file().readOnly(),
    title: f.string(),
  },
  policies: { list: 'authenticated', read: 'authenticated', create: 'authenticated' },
});
const memo = defineResource('memo', { fields: { scan: f.file() }, policies: { create: 'admin', update: 'admin' } });

const { app, url, person } = await startTestApp({
  resources: [defineUser(), ticket, memo],
  extensions: [apiKeys()],
  settings: { files: { storage, maxPendingPerUser: 5, maxPendingBytesPerUser: 150_000 } },
});
const ada = await person('Ada');
const uploads = `${url}/api/files/uploads`;
const raw = (
  body: Buffer | string | ReadableStream,
  headers: Record<string, string> = {},
  field = 'ticket.attachment',
) => send(`${uploads}?field=${field}`, body as Buffer, { token: ada.token, 'content-type': 'text/plain', ...headers });
const { database } = findAssembly(app)!.platform;

/** Discards all uploads, so that the limits of one test do not affect the next. */
async function startAnew(): Promise<void> {
  await database.write({
    text: `update stored_files files set state = 'unused', due_at = now() - interval '1 second'`,
    values: [],
  });
  await findAssembly(app)!
    .parts.sweeps!.find(({ name }) => name === 'unused files')!
    .run();
}

describe('an upload is refused', () => {
  test('for an unknown or read-only field, and for callers who may not set it in any record', async () => {
    for (const field of ['ticket.nothing', 'ticket.title', 'nothing', '', 'ticket.__proto__'])
      expect(await raw('a', {}, field)).toMatchObject({ status: 400, body: { error: { code: 'BAD_REQUEST' } } });
    expect((await raw('a', {}, 'ticket.closed')).status).toBe(403);
    expect((await raw('a', {}, 'memo.scan')).status).toBe(403);
    expect((await send(`${uploads}?field=ticket.attachment`, 'a')).status).toBe(401);
    expect((await send(`${uploads}?field=memo.scan`, 'a')).status).toBe(401);
  });

  test.each([
    ['a web page that is called a picture', Buffer.from('<!DOCTYPE html><script>alert(1)</script>'), 'text/html'],
    ['a drawing with scripts', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>'), 'image/svg+xml'],
    ['a document of another type', Buffer.from('%PDF-1.7\n%\xe2\xe3\xcf\xd3\n'), 'application/pdf'],
  ])('if its content is of a type that the field does not accept: %s', async (_what, body, found) => {
    const { status, body: answer } = await raw(body, { 'content-type': 'image/png' });
    expect([status, answer.error.details.attachment]).toEqual([422, expect.stringContaining(`not ${found}`)]);
  });

  test('if a text is not UTF-8, also when the broken character comes late', async () => {
    const text = Buffer.concat([Buffer.alloc(20_000, 'a'), Buffer.from([0xc3, 0x28]), Buffer.alloc(20_000, 'b')]);
    expect(await raw(text)).toMatchObject({
      status: 422,
      body: { error: { details: { attachment: 'Must be a text in UTF-8' } } },
    });
  });

  test('if it is empty', async () => {
    const refused = { status: 422, body: { error: { details: { attachment: 'Must not be empty' } } } };
    expect(await raw('')).toMatchObject(refused);
    expect(await raw(Readable.toWeb(Readable.from([])) as never)).toMatchObject(refused);
  });

  test('if it is too large, with and without Content-Length', async () => {
    const refusedFor = (size: string) => {
      const message = `A file of attachment must be at most 100000 bytes; this one has ${size}`;
      return { status: 413, body: { error: { code: 'PAYLOAD_TOO_LARGE', message } } };
    };
    expect(await raw(Buffer.alloc(100_001, 'a'))).toMatchObject(refusedFor('100001'));
    const chunks = Readable.toWeb(Readable.from(Array.from({ length: 20 }, () => Buffer.alloc(10_000, 'a'))));
    expect(await raw(chunks as never)).toMatchObject(refusedFor('more'));
    for (const bytes of [100_001, 300_000]) {
      const form = new FormData();
      form.append('file', new Blob([Buffer.alloc(bytes, 'a')], { type: 'text/plain' }), 'a.txt');
      const sent = await send(`${uploads}?field=ticket.attachment`, form as never, { token: ada.token });
      expect(sent).toMatchObject(refusedFor('more'));
    }
  });

  test('if it is compressed, or its Content-Disposition is malformed', async () => {
    expect((await raw('a', { 'content-encoding': 'gzip' })).status).toBe(415);
    for (const header of ['attachment; filename', 'attachment; filename="a"; filename="b"', ';;'])
      expect((await raw('a', { 'content-disposition': header })).status, header).toBe(400);
  });

  test('if too many uploads wait, however many arrive at the same time', async () => {
    await startAnew();
    const results = await Promise.all(Array.from({ length: 12 }, () => raw('text')));
    expect(results.filter(({ status }) => status === 201)).toHaveLength(5);
    expect(results.filter(({ body }) => body.error?.code === 'LIMIT_REACHED')).toHaveLength(7);
    await startAnew();
    expect((await raw(Buffer.alloc(90_000, 'a'))).status).toBe(201);
    expect((await raw(Buffer.alloc(90_000, 'a'))).body.error.code).toBe('LIMIT_REACHED');
    await startAnew();
  });

  test('and leaves no bytes in the storage', async () => {
    await startAnew();
    expect(await listStored()).toEqual([]);
  });
});

describe('the name of an upload', () => {
  test.each([
    [`filename="../../etc/passwd"`, 'passwd'],
    [`filename="..\\\\..\\\\boot.ini"`, 'boot.ini'],
    [`filename="${'x'.repeat(300)}.csv"`, `${'x'.repeat(196)}.csv`],
    [`filename*=UTF-8''photo%E2%80%AEgpj.exe`, 'photogpj.exe'],
    [`filename*=UTF-8''a%00b%0d%0ac.txt`, 'abc.txt'],
    [`filename="con.txt"`, '_con.txt'],
    [`filename="..."`, 'file'],
    [`filename*=UTF-8''u%CC%88ber.txt; filename="uber.txt"`, 'über.txt'],
    ['filename="a:b?.txt"', 'a_b_.txt'],
    [`filename*=UTF-8''%D9%85%DB%8C%E2%80%8C%D8%AE.txt`, 'می\u200cخ.txt'],
    [`filename*=UTF-8''%F0%9F%91%A9%E2%80%8D%F0%9F%92%BB.png`, '👩\u200d💻.png'],
    [`filename*=UTF-8''%E2%80%8C.htaccess%E2%80%8D`, 'htaccess'],
    [`filename*=UTF-8''%E2%80%8C%E2%80%8D`, 'file'],
    [`filename*=UTF-8''a%E2%80%8B%E2%80%8E%E2%80%8Fb.txt`, 'ab.txt'],
    [`filename*=ISO-8859-1''gr%FC%DFe%20%A3.txt`, 'grüße £.txt'],
    [`filename*=iso-8859-1'en'gr%FC%DFe.txt; filename="grusse.txt"`, 'grüße.txt'],
    [`filename*=windows-1252''%80.txt`, '€.txt'],
    [`filename*="UTF-8''gr%C3%BC%C3%9Fe.txt"`, 'grüße.txt'],
    [`filename*=UTF-8''photo%20(1)!.jpg`, 'photo (1)!.jpg'],
    [`filename*=UTF-8''%FF.txt; filename="plain.txt"`, 'plain.txt'],
    [`filename*=no-such-charset''a.txt; filename="plain.txt"`, 'plain.txt'],
    [`filename*=UTF-8''100%.txt; filename="plain.txt"`, 'plain.txt'],
    ['filename=my photo (1).jpg', 'my photo (1).jpg'],
    ['filename=; size=3', 'file'],
  ])('is cleaned: %s', async (parameter, name) => {
    await startAnew();
    const { body } = await raw('text', { 'content-disposition': `attachment; ${parameter}` });
    expect(body.data.name).toBe(name);
  });
});

test('a text format is recognized by the claimed type or by the extension', async () => {
  await startAnew();
  const named = (name: string) => ({ 'content-disposition': `attachment; filename="${name}"` });
  const types = [
    await raw('a;b', { 'content-type': 'text/csv' }),
    await raw('a;b', { 'content-type': 'application/vnd.ms-excel', ...named('list.csv') }),
    await raw('{}', { 'content-type': 'application/json' }),
    await raw('plain', { 'content-type': 'text/html' }),
  ];
  expect(types.map(({ body }) => body.data.type)).toEqual(['text/csv', 'text/csv', 'application/json', 'text/plain']);
});

test('a file can be uploaded in a form, which must contain nothing else', async () => {
  await startAnew();
  const form = new FormData();
  form.append('file', new Blob([PNG], { type: 'image/png' }), 'cat.png');
  const good = await send(`${uploads}?field=ticket.attachment`, form as never, { token: ada.token });
  expect(good).toMatchObject({
    status: 201,
    body: { data: { name: 'cat.png', type: 'image/png', bytes: PNG.length } },
  });
  form.append('more', 'text');
  const bad = await send(`${uploads}?field=ticket.attachment`, form as never, { token: ada.token });
  expect(bad.status).toBe(400);
});

test.each([
  ['a client that disconnects', 'content-length: 50000\r\n', 'a'.repeat(1000)],
  ['a client that disconnects in the middle of a chunk', 'transfer-encoding: chunked\r\n', 'ffff\r\nabc'],
])('%s leaves neither a file nor an upload behind', async (_what, header, body) => {
  await startAnew();
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  const head = `POST /api/files/uploads?field=ticket.attachment HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${ada.token}\r\n`;
  socket.write(
    `${head}content-type: text/plain\r\n${header}\r\n${body}${'b'.repeat(header.startsWith('content') ? 20_000 : 0)}`,
  );
  const count = async () =>
    (await database.write<[string]>({ text: 'select state from stored_files files', values: [] })).map(
      ([state]) => state,
    );
  if (header.startsWith('content')) await vi.waitUntil(async () => (await count()).includes('receiving'));
  else await new Promise((resolve) => socket.write('', resolve));
  socket.destroy();
  await vi.waitUntil(async () => !(await count()).includes('receiving'));
  await startAnew();
  expect(await listStored()).toEqual([]);
});

test('an upload that no record uses is removed after a day', async () => {
  await startAnew();
  await raw('text');
  expect(await listStored()).toHaveLength(1);
  const { sweeps } = findAssembly(app)!.parts;
  const sweep = sweeps!.find(({ name }) => name === 'unused files')!;
  expect(await sweep.run()).toBe(0);
  await database.write({
    text: `update stored_files files set due_at = due_at - interval '1 day' where state = 'pending'`,
    values: [],
  });
  expect(await sweep.run()).toBe(1);
  expect(await listStored()).toEqual([]);
});

test('a file stays known until the storage has removed it', async () => {
  await startAnew();
  const { body } = await raw('text');
  await database.write({
    text: `update stored_files files set state = 'unused', due_at = now() - interval '1 second' where state = 'pending'`,
    values: [],
  });
  const sweep = findAssembly(app)!.parts.sweeps!.find(({ name }) => name === 'unused files')!;
  const failing = vi.spyOn(storage, 'remove').mockRejectedValueOnce(new Error('the network is down'));
  expect(await sweep.run()).toBe(0);
  failing.mockRestore();
  const { id } = body.data;
  expect(await database.write({ text: 'select state from stored_files files where id = $1', values: [id] })).toEqual([
    ['removing'],
  ]);
  await database.write({
    text: `update stored_files files set due_at = now() - interval '1 second' where state = 'removing'`,
    values: [],
  });
  expect(await sweep.run()).toBe(1);
  expect(await listStored()).toEqual([]);
});

test('a full disk is reported as 507 and leaves nothing behind', async () => {
  await startAnew();
  const { StorageError } = await import('../../src/index.ts');
  const failing = vi.spyOn(storage, 'write').mockRejectedValueOnce(new StorageError('full', 'no space left'));
  expect(await raw('text')).toMatchObject({ status: 507, body: { error: { code: 'STORAGE_FULL' } } });
  failing.mockRestore();
  await startAnew();
  expect(await listStored()).toEqual([]);
});

test('an upload that is removed while its bytes arrive leaves no bytes in the storage', async () => {
  await startAnew();
  const passed = new TransformStream<Uint8Array, Uint8Array>();
  const writer = passed.writable.getWriter();
  const response = raw(passed.readable);
  await writer.write(Buffer.alloc(20_000, 'a'));
  const states = () => database.write<[string]>({ text: 'select state from stored_files files', values: [] });
  await vi.waitUntil(async () => (await states()).flat().includes('receiving'));
  await startAnew();
  expect(new Set((await states()).flat())).toEqual(new Set(['emptied']));
  await writer.close();
  expect((await response).status).toBe(404);
  expect(await listStored()).toEqual([]);
});

test('an API key uploads only with the scope files:write, and the upload belongs to its user', async () => {
  const bob = await person('Bob');
  const upload = async (scope: string) => {
    const { body } = await bob.call('POST', '/api/auth/api-keys', { name: scope, scopes: [scope] });
    return send(`${uploads}?field=ticket.anything`, 'text', { token: body.data.key });
  };
  const refused = await upload('tickets:write');
  expect([refused.status, refused.body.error.message]).toEqual([403, 'This needs the scope "files:write"']);
  const { status, body } = await upload('files:write');
  expect(status).toBe(201);
  expect((await bob.call('POST', '/api/tickets', { anything: body.data.id })).status).toBe(201);
});

test('an app without a file field has no route for files', async () => {
  const bare = await startTestApp({ resources: [defineUser()] });
  expect((await bare.call('POST', '/api/files/uploads?field=ticket.anything')).status).toBe(404);
  const { paths } = (await bare.call('GET', '/api/openapi.json')).body;
  expect(Object.keys(paths).filter((path) => path.startsWith('/api/files'))).toEqual([]);
});
