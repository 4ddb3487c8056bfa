// Files of records in batches, webhooks, the audit trail and exports.
import { Readable } from 'node:stream';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { audit, defineResource, defineUser, f, privacy, webhooks } from '../../src/index.ts';
import { findAssembly } from '../../src/runtime/create-app.ts';
import { finished } from '../extensions/privacy/export/app.ts';
import { startReceiver } from '../fakes/receiver.ts';
import { startTestApp } from '../support/app.ts';
import { readZip } from '../support/zip.ts';
import { createTestStorage, PNG, send } from './support.ts';

const { storage, listStored } = await createTestStorage();
const receiver = await startReceiver();
afterAll(() => receiver.close());
const letter = defineResource('letter', {
  fields: {
    scan: f.file(),
    draft: f.file().visibleTo('admin'),
    pages: f.array(f.file()),
    owner: f.ref('user').owner(),
  },
  policies: { read: 'owner', list: 'owner' },
  audit: true,
});
const ticket = defineResource('ticket', {
  fields: {
    title: f.string().required().unique().filterable(),
    attachment: f.file(),
    owner: f.ref('user').owner(),
  },
  policies: { list: 'authenticated', read: 'authenticated', create: 'authenticated' },
});
const { app, url, person } = await startTestApp(
  {
    resources: [defineUser({ fields: { avatar: f.file() } }), letter, ticket],
    extensions: [privacy(), audit(), webhooks({ allowPrivate: true })],
    settings: { files: { storage } },
  },
  { roles: 'all' },
);
const { database } = findAssembly(app)!.platform;
const store = (text: string, name = `${text}.txt`) =>
  app.files.store(Readable.from([Buffer.from(text)]), { name, type: 'text/plain' });

test('a webhook contains the metadata with a URL of the usual lifetime, as far as its owner may see the field', async () => {
  const ada = await person('Ada');
  await ada.call('POST', '/api/webhooks', { url: receiver.url, events: ['letter.created'] });
  const [scan, draft] = [await store('scan'), await store('draft')];
  await app.service('letter').create({ scan, draft, owner: ada.id });
  const [request] = await receiver.received(1);
  const { data } = JSON.parse(request!.body);
  expect(data.scan).toMatchObject({ id: scan.id, name: 'scan.txt', bytes: 4 });
  expect(data.draft).toBeUndefined();
  expect(await (await fetch(url + data.scan.url)).text()).toBe('scan');
});

test('the audit trail shows metadata alone, without a URL', async () => {
  const [ada, admin] = [await person('Ada'), await person('Admin', ['user', 'admin'])];
  const scan = await store('audited');
  const { id } = await app.service('letter').create({ scan, owner: ada.id });
  const entries = await vi.waitUntil(async () => {
    const { body } = await admin.call('GET', `/api/admin/audit?resource=letter&record=${id}`);
    return body.data?.length > 0 ? body.data : undefined;
  });
  expect(JSON.stringify(entries)).toContain('audited.txt');
  expect(JSON.stringify(entries)).not.toContain('signature=');
});

test('an export of a user contains the files of their records, and an erasure removes them and pending uploads', async () => {
  const ada = await person('Ada');
  const [scan, page] = [await store('my scan'), await store('my page')];
  const draft = await store('not visible');
  await app.service('letter').create({ scan, draft, pages: [page], owner: ada.id });
  const upload = await send(`${url}/api/files/uploads?field=letter.scan`, 'pending', { token: ada.token });
  expect(upload.status).toBe(201);
  const { url: link } = await finished(ada.call);
  const zip = readZip(Buffer.from(await (await fetch(url + new URL(link).pathname)).arrayBuffer()));
  expect(zip.get(`files/${scan.id}/my scan.txt`)).toBe('my scan');
  expect(zip.get(`files/${page.id}/my page.txt`)).toBe('my page');
  expect(zip.has(`files/${draft.id}/not visible.txt`)).toBe(false);
  expect(JSON.parse(zip.get('manifest.json')!).storedFiles).toEqual({ included: 2, leftOut: [] });

  const before = (await listStored()).length;
  const password = 'correct horse battery';
  expect((await ada.call('POST', '/api/auth/me/erase', { password })).status).toBeLessThan(300);
  const ids = [scan.id, page.id, draft.id, upload.body.data.id];
  const states = async () =>
    (
      await database.write<[string]>({ text: 'select state from stored_files files where id = any($1)', values: [ids] })
    ).flat();
  // The relay's own sweep may already have handled some of them.
  const handled = ['unused', 'removing', 'emptied'];
  await expect.poll(async () => (await states()).filter((state) => !handled.includes(state))).toEqual([]);
  await database.write({
    text: `update stored_files files set due_at = now() - interval '1 second' where id = any($1) and state = 'unused'`,
    values: [ids],
  });
  await findAssembly(app)!
    .parts.sweeps!.find(({ name }) => name === 'unused files')!
    .run();
  // Only the keys are kept, until no request can write to them any longer.
  await expect.poll(async () => new Set(await states())).toEqual(new Set(['emptied']));
  const rows = await database.write<unknown[]>({
    text: `select resource, field, record_id, user_id, sha256, name, uploader from stored_files files where id = any($1)`,
    values: [ids],
  });
  for (const row of rows) expect(row).toEqual([null, null, null, null, null, 'file', 'system']);
  expect((await listStored()).length).toBeLessThanOrEqual(before - 4);
});

const ada = await person('Ada');
const bob = await person('Bob');
let titles = 0;
const title = () => `title ${++titles}`;

async function upload(token = ada.token): Promise<string> {
  const headers = { 'content-type': 'image/png', 'content-disposition': 'attachment; filename="cat.png"' };
  const { status, body } = await send(`${url}/api/files/uploads?field=ticket.attachment`, PNG, { token, ...headers });
  expect(status).toBe(201);
  return body.data.id;
}

const stateOf = async (id: string) => {
  const rows = await database.write<[string]>({ text: 'select state from stored_files where id = $1', values: [id] });
  return rows[0]?.[0];
};
const batch = (operations: readonly object[], mode = 'atomic') =>
  ada.call('POST', '/api/tickets/batch', { mode, operations });
const create = (data: object) => ({ op: 'create', data: { title: title(), ...data } });

describe.each(['atomic', 'perItem'])('a batch of records with files (%s)', (mode) => {
  test('attaches, replaces and removes files as the single routes do', async () => {
    const [first, second] = [await upload(), await upload()];
    const created = await batch([create({ attachment: first }), create({})], mode);
    expect(created.body.data.map(({ status }: { status: number }) => status)).toEqual([201, 201]);
    expect(created.body.data[0].data.attachment).toMatchObject({ id: first, url: expect.any(String) });
    expect(await stateOf(first)).toBe('attached');
    const [{ data: one }, { data: other }] = created.body.data;
    const changed = await batch(
      [
        { op: 'update', id: one.id, data: { attachment: null } },
        { op: 'upsert', by: 'title', data: { title: other.title, attachment: second } },
      ],
      mode,
    );
    expect(changed.body.data.map(({ status }: { status: number }) => status)).toEqual([200, 200]);
    expect([await stateOf(first), await stateOf(second)]).toEqual(['unused', 'attached']);
    const single = await ada.call('POST', '/api/tickets', { title: title(), attachment: await upload() });
    const { id: removed } = single.body.data.attachment;
    await ada.call('DELETE', `/api/tickets/${single.body.data.id}`);
    expect((await batch([{ op: 'delete', id: other.id }], mode)).status).toBe(200);
    expect(await stateOf(second)).toBe(await stateOf(removed));
  });

  test('refuses a file of another user, and one that an earlier operation attached', async () => {
    const [foreign, own] = [await upload(bob.token), await upload()];
    for (const [operations, failed] of [
      [[create({}), create({ attachment: foreign })], 1],
      [[create({ attachment: own }), create({ attachment: own })], 1],
    ] as const) {
      const { status, body } = await batch(operations, mode);
      if (mode === 'atomic') {
        expect(status).toBe(422);
        expect(Object.keys(body.error.details)).toEqual([`operations.${failed}.attachment`]);
        expect(await stateOf(own)).not.toBe('attached');
      } else {
        expect(body.data[failed]).toMatchObject({
          status: 422,
          error: { details: { attachment: expect.any(String) } },
        });
        expect(body.data[0].status).toBe(201);
      }
    }
    expect(await stateOf(foreign)).not.toBe('attached');
  });
});
