import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { defineResource, defineUser, f, softDelete } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';
import { createTestStorage, PNG, send } from './support.ts';

const { storage, listStored } = await createTestStorage();

const ticket = defineResource('ticket', {
  fields: {
    title: f.string().required(),
    attachment: f.file({ maxBytes: 10_000, types: ['image/png', 'text/plain', 'text/csv'] }),
    pictures: f.array(f.file({ types: ['image/png'] })).max(3),
    secret: f.file().visibleTo('admin'),
    owner: f.ref('user').owner(),
    points: f.integer(),
    tags: f.array(f.string()),
  },
  policies: { list: 'authenticated', read: 'authenticated', create: 'authenticated' },
});
const letter = defineResource('letter', {
  fields: { scan: f.file(), note: f.string() },
  policies: { list: 'public', read: 'public', create: 'public', delete: 'public', update: 'public' },
  softDelete: true,
});
const album = defineResource('album', {
  fields: { pictures: f.array(f.file({ types: ['image/png'] })).max(80) },
  policies: { create: 'authenticated' },
});

const { app, url, call, person } = await startTestApp({
  resources: [defineUser(), ticket, letter, album],
  extensions: [softDelete()],
  settings: { files: { storage } },
});
const ada = await person('Ada');
const bob = await person('Bob');
const uploads = `${url}/api/files/uploads`;

async function upload(field = 'ticket.attachment', body: Buffer | string = PNG, name = 'cat.png', token = ada.token) {
  const headers = { 'content-type': 'image/png', 'content-disposition': `attachment; filename="${name}"` };
  const response = await send(`${uploads}?field=${field}`, body, { token, ...headers });
  expect(response).toMatchObject({ status: 201 });
  return response.body.data;
}

const stateOf = async (id: string) => {
  const { findAssembly } = await import('../../src/runtime/create-app.ts');
  const rows = await findAssembly(app)!.platform.database.write<[string]>({
    text: 'select state from stored_files files where id = $1',
    values: [id],
  });
  return rows[0]?.[0];
};

describe('a field holds a file', () => {
  test('that was uploaded before, and responses contain its metadata with a URL that serves it', async () => {
    const uploaded = await upload();
    expect(uploaded).toEqual({ id: expect.any(String), name: 'cat.png', type: 'image/png', bytes: PNG.length });
    const { status, body } = await ada.call('POST', '/api/tickets', { title: 'a', attachment: uploaded.id });
    expect(status).toBe(201);
    expect(body.data.attachment).toEqual({ ...uploaded, url: expect.stringContaining('/api/files/') });
    expect(await stateOf(uploaded.id)).toBe('attached');
    const list = await ada.call('GET', '/api/tickets?sort=-createdAt');
    const served = await fetch(url + list.body.data[0].attachment.url);
    expect(served.status).toBe(200);
    expect(Buffer.from(await served.arrayBuffer())).toEqual(PNG);
  });

  test('that is sent back as it was received, without a change', async () => {
    const uploaded = await upload();
    const { body } = await ada.call('POST', '/api/tickets', { title: 'a', attachment: { id: uploaded.id } });
    const again = await ada.call('PATCH', `/api/tickets/${body.data.id}`, { ...body.data, owner: undefined });
    expect(again.status).toBe(200);
    expect(again.body.data.attachment).toMatchObject(uploaded);
    expect(await stateOf(uploaded.id)).toBe('attached');
  });

  test('that null removes, and the URL stops working at once', async () => {
    const uploaded = await upload();
    const { body } = await ada.call('POST', '/api/tickets', { title: 'a', attachment: uploaded.id });
    const { url: link } = body.data.attachment;
    const cleared = await ada.call('PATCH', `/api/tickets/${body.data.id}`, { attachment: null });
    expect(cleared.body.data.attachment).toBeUndefined();
    expect(await stateOf(uploaded.id)).toBe('unused');
    expect((await fetch(url + link)).status).toBe(404);
  });

  test('that another file replaces', async () => {
    const [first, second] = [await upload(), await upload()];
    const { body } = await ada.call('POST', '/api/tickets', { title: 'a', attachment: first.id });
    await ada.call('PATCH', `/api/tickets/${body.data.id}`, { attachment: second.id });
    expect([await stateOf(first.id), await stateOf(second.id)]).toEqual(['unused', 'attached']);
  });

  test('or a list of files, from which single ones can be removed', async () => {
    const files = [await upload('ticket.pictures'), await upload('ticket.pictures'), await upload('ticket.pictures')];
    const ids = files.map(({ id }) => id);
    const { body } = await ada.call('POST', '/api/tickets', { title: 'a', pictures: ids });
    expect(body.data.pictures.map(({ id }: { id: string }) => id)).toEqual(ids);
    const changed = await ada.call('PATCH', `/api/tickets/${body.data.id}`, { pictures: [ids[2], ids[0]] });
    expect(changed.body.data.pictures.map(({ id }: { id: string }) => id)).toEqual([ids[2], ids[0]]);
    expect(await Promise.all(ids.map(stateOf))).toEqual(['attached', 'unused', 'attached']);
  });

  test('that the record loses when it is deleted', async () => {
    const uploaded = await upload();
    const { body } = await ada.call('POST', '/api/tickets', { title: 'a', attachment: uploaded.id });
    await ada.call('DELETE', `/api/tickets/${body.data.id}`);
    expect(await stateOf(uploaded.id)).toBe('unused');
    expect((await fetch(url + body.data.attachment.url)).status).toBe(404);
  });

  test('that code stores and sets', async () => {
    const stored = await app.files.store(Readable.from([Buffer.from('a;b\n')]), { name: 'list.csv', type: 'text/csv' });
    const record = await app.service('ticket').create({ title: 'by code', attachment: stored });
    expect(record.attachment).toEqual({ id: stored.id, name: 'list.csv', type: 'text/csv', bytes: 4 });
    const chunks = await (await app.files.read(record.attachment!)).toArray();
    expect(Buffer.concat(chunks).toString()).toBe('a;b\n');
  });

  test('that only viewers who may see the field get a URL for', async () => {
    const admin = await person('Admin', ['user', 'admin']);
    const uploaded = await upload('ticket.secret');
    const { body } = await ada.call('POST', '/api/tickets', { title: 'a', secret: uploaded.id });
    expect(body.data.secret).toBeUndefined();
    const seen = await admin.call('GET', `/api/tickets/${body.data.id}`);
    expect(seen.body.data.secret.url).toContain(uploaded.id);
  });
});

describe('an upload', () => {
  const refused = { attachment: 'Must be the id of a file that you have uploaded for this field' };

  test('of another user, for another field, or unknown is refused alike', async () => {
    const foreign = await upload('ticket.attachment', PNG, 'x.png', bob.token);
    const other = await upload('ticket.secret');
    for (const id of [foreign.id, other.id, '0123456789abcdef01234567', 'nonsense', 7, { id: 1 }, [foreign.id]]) {
      const { status, body } = await ada.call('POST', '/api/tickets', { title: 'a', attachment: id });
      expect([status, body.error.details]).toEqual([422, refused]);
    }
    expect(await stateOf(foreign.id)).toBe('pending');
  });

  test('can be used once, however many requests use it at the same time', async () => {
    const uploaded = await upload();
    const create = () => ada.call('POST', '/api/tickets', { title: 'race', attachment: uploaded.id });
    const results = await Promise.all(Array.from({ length: 8 }, create));
    expect(results.map(({ status }) => status).sort()).toEqual([201, 422, 422, 422, 422, 422, 422, 422]);
    const { body } = await ada.call('GET', '/api/tickets?limit=100');
    expect(body.data.filter(({ title }: { title: string }) => title === 'race')).toHaveLength(1);
  });

  test('cannot be moved from a record to another one', async () => {
    const uploaded = await upload();
    await ada.call('POST', '/api/tickets', { title: 'a', attachment: uploaded.id });
    const second = await ada.call('POST', '/api/tickets', { title: 'b', attachment: uploaded.id });
    expect([second.status, second.body.error.details]).toEqual([422, refused]);
    const twice = await upload('ticket.pictures');
    const list = await ada.call('POST', '/api/tickets', { title: 'b', pictures: [twice.id, twice.id] });
    expect(list.status).toBe(422);
  });

  test('stays pending if the write fails', async () => {
    const uploaded = await upload();
    expect((await ada.call('POST', '/api/tickets', { attachment: uploaded.id })).status).toBe(422);
    expect(await stateOf(uploaded.id)).toBe('pending');
    await expect(
      app.transaction(async (tx) => {
        await tx.service('ticket').create({ title: 'x', attachment: uploaded.id }, { as: 'system' });
        throw new Error('undo');
      }),
    ).rejects.toThrow('undo');
    expect(await stateOf(uploaded.id)).toBe('pending');
  });

  test('of a caller who is not signed in needs the token of its response', async () => {
    const { body } = await send(`${uploads}?field=letter.scan`, PNG, { 'content-type': 'image/png' });
    const { id, token, name } = body.data;
    expect([typeof token, name]).toEqual(['string', 'file']);
    expect((await call('POST', '/api/letters', { scan: id })).status).toBe(422);
    expect((await call('POST', '/api/letters', { scan: { id, token: 'svc_1' } })).status).toBe(422);
    expect((await call('POST', '/api/letters', { scan: { id, token } })).status).toBe(201);
  });
});

test('a soft-deleted record keeps its file, whose URL does not work until the record is restored', async () => {
  const { body } = await send(`${uploads}?field=letter.scan`, PNG, { token: ada.token });
  const created = await call('POST', '/api/letters', { scan: body.data.id });
  expect(created.status).toBe(422);
  const mine = await ada.call('POST', '/api/letters', { scan: body.data.id });
  const { id, scan } = mine.body.data;
  await ada.call('DELETE', `/api/letters/${id}`);
  expect(await stateOf(scan.id)).toBe('archived');
  expect((await fetch(url + scan.url)).status).toBe(404);
  const restored = await ada.call('POST', `/api/letters/${id}/restore`);
  expect(restored.status).toBe(200);
  expect(await stateOf(scan.id)).toBe('attached');
  expect((await fetch(url + scan.url)).status).toBe(200);
});

test('a form creates and changes records with files and typed values in one request', async () => {
  const form = new FormData();
  form.append('title', 'from a form');
  form.append('points', '7');
  form.append('tags', 'a');
  form.append('tags', 'b');
  form.append('attachment', new Blob(['hello'], { type: 'text/plain' }), 'hello.txt');
  form.append('pictures', new Blob([PNG], { type: 'image/png' }), 'one.png');
  form.append('pictures', new Blob([PNG], { type: 'image/png' }), 'two.png');
  const { status, body } = await send(`${url}/api/tickets`, form as never, { token: ada.token });
  expect([status, body]).toMatchObject([
    201,
    {
      data: {
        title: 'from a form',
        points: 7,
        tags: ['a', 'b'],
        attachment: { name: 'hello.txt', type: 'text/plain' },
      },
    },
  ]);
  expect(body.data.pictures.map(({ name }: { name: string }) => name)).toEqual(['one.png', 'two.png']);
  const change = new FormData();
  change.append('attachment', '');
  change.append('pictures', JSON.stringify([body.data.pictures[1].id]));
  const changed = await send(`${url}/api/tickets/${body.data.id}`, change as never, {
    token: ada.token,
    method: 'PATCH',
  });
  expect(changed.status).toBe(200);
  expect([changed.body.data.attachment, changed.body.data.pictures.length]).toEqual([undefined, 1]);
});

describe('a file input with nothing chosen', () => {
  /** A part as browsers send it: an empty file name and no bytes. The `FormData` of Node leaves the empty file name out. */
  const nothing = (name: string, headers = 'Content-Type: application/octet-stream\r\n') =>
    `Content-Disposition: form-data; name="${name}"; filename=""\r\n${headers}\r\n`;
  const text = (name: string, value: string) => `Content-Disposition: form-data; name="${name}"\r\n\r\n${value}`;
  const chosen = (name: string, filename: string, content: string) =>
    `Content-Disposition: form-data; name="${name}"; filename="${filename}"\r\nContent-Type: image/png\r\n\r\n${content}`;
  const submit = (path: string, parts: readonly string[], method = 'POST', more: Record<string, string> = {}) =>
    send(`${url}${path}`, Buffer.from(`${parts.map((part) => `--B\r\n${part}\r\n`).join('')}--B--\r\n`, 'latin1'), {
      ...{ token: ada.token, method, 'content-type': 'multipart/form-data; boundary=B' },
      ...more,
    });
  const picture = PNG.toString('latin1');

  test.each([
    ['with a type', nothing('attachment')],
    ['without further headers', nothing('attachment', '')],
    ['with a type of its own', nothing('attachment', 'Content-Type: image/png\r\nContent-Length: 0\r\n')],
    ['before the other fields', nothing('pictures')],
    ['for a field that the caller may not write', nothing('secret')],
    ['with both forms of the name', nothing('attachment').replace('""', `""; filename*=UTF-8''`)],
  ])('is left out of a new record: %s', async (_what, part) => {
    const { status, body } = await submit('/api/tickets', [part, text('title', 'a'), part]);
    expect([status, Object.keys(body.data)]).toEqual([201, expect.not.arrayContaining(['attachment', 'pictures'])]);
  });

  test('leaves the files of a record unchanged', async () => {
    const parts = [text('title', 'a'), chosen('attachment', 'a.png', picture), chosen('pictures', 'b.png', picture)];
    const { data } = (await submit('/api/tickets', parts)).body;
    const edited = await submit(
      `/api/tickets/${data.id}`,
      [text('title', 'b'), nothing('attachment'), nothing('pictures')],
      'PATCH',
    );
    expect([edited.status, edited.body.data]).toMatchObject([
      200,
      { title: 'b', attachment: { name: 'a.png' }, pictures: [{ name: 'b.png' }] },
    ]);
  });

  test('is not an item of a list, and does not count as a file', async () => {
    const parts = [nothing('pictures'), chosen('pictures', 'b.png', picture), ...Array(120).fill(nothing('pictures'))];
    const { status, body } = await submit('/api/tickets', [text('title', 'a'), ...parts]);
    expect([status, body.data.pictures]).toMatchObject([201, [{ name: 'b.png' }]]);
    expect(body.data.pictures).toHaveLength(1);
  });

  test('is the same as no part for an Idempotency-Key', async () => {
    const more = { 'idempotency-key': 'nothing-chosen' };
    const first = await submit('/api/tickets', [text('title', 'a'), nothing('attachment')], 'POST', more);
    const second = await submit('/api/tickets', [text('title', 'a')], 'POST', more);
    expect([first.status, second.body.data.id]).toEqual([201, first.body.data.id]);
  });

  test('is skipped by the route for uploads, which then needs another file', async () => {
    const path = '/api/files/uploads?field=ticket.attachment';
    const two = await submit(path, [nothing('file'), chosen('file', 'a.png', picture)]);
    expect([two.status, two.body.data?.name]).toEqual([201, 'a.png']);
    expect(await submit(path, [nothing('file')])).toMatchObject({
      status: 422,
      body: { error: { details: { attachment: 'Is required' } } },
    });
  });

  test('differs from an empty file with a name, and from content without a name', async () => {
    const empty = await submit('/api/tickets', [text('title', 'a'), chosen('attachment', 'a.png', '')]);
    expect([empty.status, empty.body.error.details]).toEqual([422, { attachment: 'Must not be empty' }]);
    const unnamed = await submit('/api/tickets', [text('title', 'a'), chosen('attachment', '', picture)]);
    expect([unnamed.status, unnamed.body.data.attachment.name]).toEqual([201, 'file']);
  });
});

test('a form can have as many files as a user can have pending uploads, and the error for more names both limits', async () => {
  const dora = await person('Dora');
  const create = (count: number) => {
    const form = new FormData();
    for (let i = 0; i < count; i++) form.append('pictures', new Blob([PNG], { type: 'image/png' }), `${i}.png`);
    return send(`${url}/api/albums`, form as never, { token: dora.token });
  };
  expect((await create(50)).body.data.pictures).toHaveLength(50);
  const { status, body } = await create(51);
  expect([status, body.error.message]).toEqual([
    400,
    'The form must have at most 50 files, because you can have at most 50 uploads that no record uses yet',
  ]);
});

test('a file that code stored and that a field does not accept is refused in the words for uploads', async () => {
  const store = (bytes: Buffer) => app.files.store(Readable.from([bytes]), { name: 'a.bin', type: 'text/plain' });
  const create = (attachment: object) => app.service('ticket').create({ title: 'a', attachment } as never);
  const large = await store(Buffer.alloc(10_001, 'a'));
  await expect(create(large)).rejects.toMatchObject({
    code: 'VALIDATION_ERROR',
    details: { attachment: 'A file of attachment must be at most 10000 bytes; this one has 10001' },
  });
  await expect(create(await store(Buffer.from('%PDF-1.7\n')))).rejects.toMatchObject({
    details: { attachment: 'Must be image/png or text/plain or text/csv, not application/pdf' },
  });
  expect(await stateOf(large.id)).toBe('pending');
});

test('a form that is refused leaves no upload behind', async () => {
  const form = new FormData();
  form.append('attachment', new Blob(['hello'], { type: 'text/plain' }), 'hello.txt');
  const { status, body } = await send(`${url}/api/tickets`, form as never, { token: ada.token });
  expect([status, body.error.details]).toEqual([422, { title: 'Is required' }]);
  const { findAssembly } = await import('../../src/runtime/create-app.ts');
  const sweep = findAssembly(app)!.parts.sweeps!.find(({ name }) => name === 'unused files')!;
  const before = (await listStored()).length;
  expect(await sweep.run()).toBeGreaterThan(0);
  expect((await listStored()).length).toBeLessThan(before);
});

test('a repeated form with the same Idempotency-Key creates one record', async () => {
  const create = (text: string) => {
    const form = new FormData();
    form.append('title', 'once');
    form.append('attachment', new Blob([text], { type: 'text/plain' }), 'a.txt');
    return send(`${url}/api/tickets`, form as never, { token: ada.token, 'idempotency-key': 'form-1' });
  };
  const [first, second, other] = [await create('one'), await create('one'), await create('two')];
  expect([first.status, second.body.data?.id]).toEqual([201, first.body.data.id]);
  expect([other.status, other.body.error?.code]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
});

test('the files of a form that a precondition refuses do not count as waiting uploads', async () => {
  const dora = await person('Dora');
  const create = () => {
    const form = new FormData();
    form.append('title', 'never');
    form.append('attachment', new Blob(['text'], { type: 'text/plain' }), 'a.txt');
    return send(`${url}/api/tickets`, form as never, { token: dora.token, 'if-match': '*' });
  };
  const errors = [];
  for (let i = 0; i < 52; i++) errors.push((await create()).body.error.message);
  expect(errors).toEqual(Array(52).fill('If-Match is only for changes to a single record'));
});

test('the files of a repeated form do not count as waiting uploads', async () => {
  const cleo = await person('Cleo');
  const create = () => {
    const form = new FormData();
    form.append('title', 'once');
    form.append('attachment', new Blob(['text'], { type: 'text/plain' }), 'a.txt');
    return send(`${url}/api/tickets`, form as never, { token: cleo.token, 'idempotency-key': 'form-2' });
  };
  const statuses = [];
  for (let i = 0; i < 52; i++) statuses.push((await create()).status);
  expect(statuses).toEqual(Array(52).fill(201));
});
