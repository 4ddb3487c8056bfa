import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { createClient } from '../../packages/client/src/index.ts';
import { defineResource, defineUser, disk, f } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';

const directory = mkdtempSync(join(tmpdir(), 'belfry-client-uploads-'));
afterAll(() => rmSync(directory, { recursive: true }));

const ticket = defineResource('ticket', {
  fields: {
    title: f.string(),
    plan: f.file({ maxBytes: 20_000_000 }),
    notes: f.array(f.file({ types: ['text/plain'] })),
  },
  policies: { read: 'public', create: 'public', update: 'public' },
  path: '/desk/tickets',
});
const { url, person } = await startTestApp({
  resources: [defineUser(), ticket],
  settings: { files: { storage: disk({ directory }) } },
});
const ada = await person('Ada');
const client = createClient({ url, token: ada.token });
const tickets = client['desk/tickets']!;

const largeFile = new File([randomBytes(9 * 2 ** 20)], 'large.bin');

/** The metadata of the file, and the file as the server sends it. */
async function download(record: Record<string, unknown>) {
  const file = record.plan as { url: string; name: string };
  return { name: file.name, content: Buffer.from(await (await fetch(new URL(file.url, url))).arrayBuffer()) };
}

test('an uploaded file is the value of its field', async () => {
  const progress: number[] = [];
  const name = "Plan ä, (1)'.txt";
  const plan = await tickets.upload('plan', new File(['Bells'], name, { type: 'text/plain' }), {
    onProgress: ({ sentBytes, totalBytes }) => progress.push(sentBytes / totalBytes),
  });
  expect(plan).toEqual({ id: expect.any(String), name, type: 'text/plain', bytes: 5 });
  expect(progress.at(-1)).toBe(1);
  const record = await tickets.create({ title: 'T', plan });
  expect(await download(record)).toEqual({ name, content: Buffer.from('Bells') });
  const first = await tickets.upload('notes', new TextEncoder().encode('one'), { name: 'one.txt' });
  const changed = await tickets.update(record.id as string, { notes: [first], plan: record.plan });
  expect(changed).toMatchObject({ notes: [{ name: 'one.txt' }], plan: { name } });
});

test('without a session, the result contains the token that its field needs', async () => {
  const guest = createClient({ url })['desk/tickets']!;
  for (const resumable of [false, true]) {
    const plan = await guest.upload('plan', new Blob(['Bells']), { name: 'a.txt', resumable });
    expect(plan.token).toMatch(/^svc_/);
    expect(await guest.create({ plan })).toMatchObject({ plan: { name: 'a.txt', bytes: 5 } });
  }
});

test('a resumable upload continues after lost connections, and its file is complete', async () => {
  let requests = 0;
  const sizes: number[] = [];
  const unreliable: typeof fetch = async (target, init) => {
    const isChunk = init?.method === 'PATCH';
    if (isChunk) sizes.push((init.body as Blob).size);
    requests += isChunk ? 1 : 0;
    if (isChunk && requests === 1) throw new TypeError('There is no connection');
    const response = await fetch(target, init);
    if (isChunk && requests === 3) throw new TypeError('The response was lost');
    return response;
  };
  const sent: number[] = [];
  const plan = await createClient({ url, token: ada.token, fetch: unreliable })['desk/tickets']!.upload(
    'plan',
    largeFile,
    {
      resumable: true,
      onProgress: ({ sentBytes }) => sent.push(sentBytes),
    },
  );
  expect(plan).toMatchObject({ name: 'large.bin', bytes: largeFile.size });
  expect(plan.token).toBeUndefined();
  expect(sizes).toEqual([4, 4, 4, 1].map((size) => size * 2 ** 20));
  expect(sent).toEqual([...sent].sort((a, b) => a - b));
  expect(sent.at(-1)).toBe(largeFile.size);
  const { content } = await download(await tickets.create({ plan }));
  expect(content.equals(Buffer.from(await largeFile.arrayBuffer()))).toBe(true);
});

test('an upload that the field does not accept is refused with its reason', async () => {
  const png = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]);
  for (const resumable of [false, true])
    await expect(tickets.upload('notes', png, { resumable })).rejects.toMatchObject({
      status: 422,
      details: { notes: expect.any(String) },
    });
  await expect(tickets.upload('title', png)).rejects.toMatchObject({ status: 400 });
});

test('an aborted upload rejects with the reason, and the server removes what it has got', async () => {
  const reason = new Error('The user has closed the page');
  const controller = new AbortController();
  const calls: string[] = [];
  const aborting: typeof fetch = async (target, init) => {
    calls.push(`${init?.method} ${new URL(String(target)).pathname.split('/').at(-1)}`);
    if (init?.method === 'PATCH') controller.abort(reason);
    return fetch(target, init);
  };
  const { signal } = controller;
  const upload = createClient({ url, token: ada.token, fetch: aborting })['desk/tickets']!.upload('plan', largeFile, {
    resumable: true,
    signal,
  });
  await expect(upload).rejects.toBe(reason);
  await vi.waitUntil(() => calls.some((call) => call.startsWith('DELETE')));
  const id = calls.at(-1)!.split(' ')[1]!;
  const readProgress = () =>
    client.request({ method: 'GET', path: `/files/resumable/${id}`, headers: { 'Tus-Resumable': '1.0.0' } });
  await expect.poll(() => readProgress().catch((error: { status: number }) => error.status)).toBe(404);
});
