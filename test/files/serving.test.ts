import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { defineResource, defineUser, f, type StoredFile } from '../../src/index.ts';
import { findAssembly } from '../../src/runtime/create-app.ts';
import { startTestApp } from '../support/app.ts';
import { createTestStorage, PNG } from './support.ts';

const { storage, directory } = await createTestStorage();
const page = defineResource('page', {
  fields: { file: f.file({ maxBytes: 50_000_000 }) },
  policies: { list: 'public', read: 'public' },
});
const { app, url, call } = await startTestApp({ resources: [defineUser(), page], settings: { files: { storage } } });
const { database } = findAssembly(app)!.platform;

async function publish(body: Buffer, name: string, type?: string): Promise<{ file: StoredFile; link: string }> {
  const file = await app.files.store(Readable.from([body]), { name, ...(type && { type }) });
  const { id } = await app.service('page').create({ file });
  return { file, link: url + (await call('GET', `/api/pages/${id}`)).body.data.file.url };
}

const TEXT = Buffer.from('0123456789');
const { link } = await publish(TEXT, 'digits.txt');
const get = (headers: Record<string, string> = {}, from = link) => fetch(from, { headers });

describe('a served file', () => {
  test('is safe in every browser, and cached for as long as its URL is valid', async () => {
    const { headers } = await get();
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'content-length': '10',
      'content-disposition': 'inline; filename="digits.txt"',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
      'cross-origin-resource-policy': 'cross-origin',
      'referrer-policy': 'no-referrer',
      'accept-ranges': 'bytes',
    });
    const [, seconds] = /^private, max-age=(\d+)$/.exec(headers.get('cache-control')!)!;
    expect(Number(seconds)).toBeGreaterThanOrEqual(590);
    expect(Number(seconds)).toBeLessThanOrEqual(900);
  });

  test.each([
    ['image/png', PNG, 'a.png', 'inline'],
    ['text/html', Buffer.from('<!doctype html><p>x'), 'a.html', 'attachment'],
    ['image/svg+xml', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'a.svg', 'attachment'],
  ])('of the type %s is shown only if it cannot run code', async (type, body, name, disposition) => {
    const { headers } = await get({}, (await publish(body, name)).link);
    expect([headers.get('content-type'), headers.get('content-disposition')!.split(';')[0]]).toEqual([
      type,
      disposition,
    ]);
  });

  test('has its exact name in the header, in a form that old clients understand too', async () => {
    const { headers } = await get({}, (await publish(TEXT, `naïve "plan" 100%.txt`)).link);
    expect(headers.get('content-disposition')).toBe(
      `inline; filename="na_ve _plan_ 100_.txt"; filename*=UTF-8''na%C3%AFve%20_plan_%20100%25.txt`,
    );
  });

  test('is not sent again to a client that has it, and HEAD returns the headers alone', async () => {
    const tag = (await get()).headers.get('etag')!;
    expect((await get({ 'if-none-match': tag })).status).toBe(304);
    const head = await fetch(link, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '10', '']);
  });

  test.each([
    ['bytes=0-3', 206, '0123', 'bytes 0-3/10'],
    ['bytes=5-', 206, '56789', 'bytes 5-9/10'],
    ['bytes=-2', 206, '89', 'bytes 8-9/10'],
    ['bytes=8-100', 206, '89', 'bytes 8-9/10'],
    ['bytes=-100', 206, '0123456789', 'bytes 0-9/10'],
    ['bytes=4-2', 200, '0123456789', null],
    ['bytes=0-0,2-2', 200, '0123456789', null],
    [`bytes=${Array.from({ length: 2000 }, (_, i) => `${i}-${i}`).join()}`, 200, '0123456789', null],
    ['items=0-1', 200, '0123456789', null],
    ['bytes=0-1x', 200, '0123456789', null],
  ])('is sent in part for the range %s', async (range, status, text, contentRange) => {
    const response = await get({ range });
    expect([response.status, await response.text(), response.headers.get('content-range')]).toEqual([
      status,
      text,
      contentRange,
    ]);
  });

  test('has no bytes after its end', async () => {
    for (const range of ['bytes=10-', 'bytes=99999999999999999999-', 'bytes=-0']) {
      const response = await get({ range });
      expect([response.status, response.headers.get('content-range')]).toEqual([416, 'bytes */10']);
      const body = (await response.json()) as { error: { code: string } };
      expect(body.error.code).toBe('RANGE_NOT_SATISFIABLE');
    }
  });

  test('is sent as a whole if the client has a part of another version', async () => {
    const tag = (await get()).headers.get('etag')!;
    expect((await get({ range: 'bytes=0-1', 'if-range': tag })).status).toBe(206);
    expect((await get({ range: 'bytes=0-1', 'if-range': '"other"' })).status).toBe(200);
  });
});

describe('a link', () => {
  test('that was changed in any way does not work', async () => {
    const other = await publish(TEXT, 'other.txt');
    const [id, otherId] = [new URL(link).pathname.split('/')[3]!, other.file.id];
    const changes = [
      link.replace(id, otherId),
      link.replace(/expires=\d+/, 'expires=99999999999'),
      link.replace(/signature=(.)/, (_, first: string) => `signature=${first === '0' ? '1' : '0'}`),
      link.replace(/&signature=.*/, ''),
      `${link}&download=1`,
      `${link}&variant=thumb`,
      `${link}&expires=1`,
      link.replace(/\?.*/, ''),
    ];
    for (const changed of changes) expect((await fetch(changed)).status, changed).toBe(404);
    expect((await fetch(link.replace('digits.txt', 'renamed.txt'))).status).toBe(200);
  });

  test('stays the same for a while, so that browsers can use what they have cached', async () => {
    const { body } = await call('GET', '/api/pages');
    const again = await call('GET', '/api/pages');
    expect(again.body.data[0].file.url).toBe(body.data[0].file.url);
  });

  test('does not work after its time', async () => {
    const { createFileUrls } = await import('../../src/files/serving/urls.ts');
    const { platform } = findAssembly(app)!;
    const past = createFileUrls(platform, () => Date.now() - 20 * 60_000);
    expect((await fetch(url + past.urlOf({ id: new URL(link).pathname.split('/')[3]!, name: 'x' }))).status).toBe(404);
  });

  test('can offer a download', async () => {
    const file = { id: new URL(link).pathname.split('/')[3]!, name: 'digits.txt' };
    const { headers } = await fetch(url + app.files.urlOf(file, { isDownload: true }));
    expect(headers.get('content-disposition')).toBe('attachment; filename="digits.txt"');
  });
});

test('a file whose bytes are missing is not found, without an error of the server', async () => {
  const { file, link: broken } = await publish(TEXT, 'lost.txt');
  const [[key]] = (await database.write({
    text: 'select storage_key from stored_files files where id = $1',
    values: [file.id],
  })) as [[string]];
  await rm(join(directory, 'stored', key));
  expect((await fetch(broken)).status).toBe(404);
});

test('a reader that stops costs neither memory nor an open file', async () => {
  const { readdir } = await import('node:fs/promises');
  const openFiles = async () => (await readdir('/proc/self/fd')).length;
  const { link: large } = await publish(Buffer.alloc(40_000_000, 1), 'large.bin');
  const before = await openFiles();
  const usedBefore = process.memoryUsage.rss();
  const sockets = [];
  for (let i = 0; i < 10; i++) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    const { pathname, search } = new URL(large);
    socket.write(`GET ${pathname}${search} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
    await once(socket, 'readable');
    sockets.push(socket);
  }
  // Ten whole files have 400 MB.
  expect(process.memoryUsage.rss() - usedBefore).toBeLessThan(200_000_000);
  expect(await openFiles()).toBeGreaterThan(before);
  for (const socket of sockets) socket.destroy();
  await expect.poll(openFiles).toBeLessThanOrEqual(before + 2);
});
