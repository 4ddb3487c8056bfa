import { Readable } from 'node:stream';
import { afterAll, expect, test, vi } from 'vitest';
import { audit, defineResource, defineUser, f, privacy, webhooks } from '../../src/index.ts';
import { assemblyOf } from '../../src/runtime/create-app.ts';
import { finished } from '../extensions/privacy/export/app.ts';
import { startReceiver } from '../fakes/receiver.ts';
import { startTestApp } from '../support/app.ts';
import { readZip } from '../support/zip.ts';
import { createTestStorage, send } from './support.ts';

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
const { app, url, person } = await startTestApp(
  {
    resources: [defineUser({ fields: { avatar: f.file() } }), letter],
    extensions: [privacy(), audit(), webhooks({ allowPrivate: true })],
    settings: { files: { storage } },
  },
  { roles: 'all' },
);
const { database } = assemblyOf(app)!.platform;
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

  const password = 'correct horse battery';
  expect((await ada.call('POST', '/api/auth/me/erase', { password })).status).toBeLessThan(300);
  const ids = [scan.id, page.id, draft.id, upload.body.data.id];
  const states = async () =>
    (
      await database.write<[string]>({ text: 'select state from stored_files files where id = any($1)', values: [ids] })
    ).flat();
  await expect.poll(states, { timeout: 30_000 }).toEqual(['unused', 'unused', 'unused', 'unused']);
  const before = (await listStored()).length;
  await database.write({
    text: `update stored_files files set due_at = now() - interval '1 second' where id = any($1)`,
    values: [ids],
  });
  await assemblyOf(app)!
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
