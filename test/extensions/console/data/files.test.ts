import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { adminConsole, defineResource, defineUser, f, softDelete } from '../../../../src/index.ts';
import { createTestStorage } from '../../../files/support.ts';
import { startTestApp } from '../../../support/app.ts';

const { storage } = await createTestStorage();
const report = defineResource('report', {
  fields: { title: f.string().required(), paper: f.file({ types: ['text/plain'] }), pages: f.array(f.file()) },
  softDelete: true,
});
const { app, url, call } = await startTestApp({
  resources: [defineUser(), report],
  settings: { files: { storage } },
  extensions: [softDelete(), adminConsole()],
});
const API = '/console/api';
const store = (text: string, name: string) =>
  app.files.store(Readable.from([Buffer.from(text)]), { name, type: 'text/plain' });

test('the description of a file field has its limits', async () => {
  const { body } = await call('GET', `${API}/app`);
  expect(body.data.features.files).toBe(true);
  const { fields } = body.data.resources.find(({ name }: { name: string }) => name === 'report');
  expect(fields[1].file).toEqual({ maxBytes: 10 * 2 ** 20, types: ['text/plain'], image: false, many: false });
  expect(fields[2].file).toMatchObject({ types: ['*/*'], many: true });
});

test('files come as metadata with a signed URL, until their record is deleted', async () => {
  const [paper, first] = [await store('hello', 'a.txt'), await store('one', 'one.txt')];
  const { id } = await app.service('report').create({ title: 'With files', paper, pages: [first] });
  const path = `${API}/records/report/${id}`;
  const { data } = (await call('GET', path)).body;
  expect(data.paper).toEqual({ id: paper.id, name: 'a.txt', type: 'text/plain', bytes: 5, url: expect.any(String) });
  expect(await (await fetch(new URL(data.paper.url, url))).text()).toBe('hello');
  expect(data.pages).toMatchObject([{ name: 'one.txt', url: expect.any(String) }]);
  expect((await call('GET', `${API}/records/report`)).body.data[0].paper.url).toEqual(expect.any(String));
  await call('DELETE', path, undefined, { 'if-match': '*' });
  expect((await call('GET', path)).body.data.paper).not.toHaveProperty('url');
});

test('a record takes stored files, and refuses those that its field does not accept', async () => {
  const { id } = await store('text', 'b.txt');
  const created = await call('POST', `${API}/records/report`, { title: 'Attached', paper: id });
  expect([created.status, created.body.data.paper.name]).toEqual([201, 'b.txt']);
  const refused = await call('POST', `${API}/records/report`, { title: 'Twice', paper: id });
  expect([refused.status, Object.keys(refused.body.error.details)]).toEqual([422, ['paper']]);
});

const upload = (path: string, body: string, type = 'text/plain') =>
  fetch(`${url}${API}/records/${path}`, { method: 'POST', headers: { 'content-type': type }, body });

test('a file is uploaded for a field whose records visitors cannot create, and its record takes it', async () => {
  const response = await upload('report/files/paper?name=notes.txt', 'hello');
  const { data } = (await response.json()) as { data: { id: string } };
  expect([response.status, data]).toEqual([201, { id: data.id, name: 'notes.txt', type: 'text/plain', bytes: 5 }]);
  const created = await call('POST', `${API}/records/report`, { title: 'Uploaded', paper: data });
  expect(created.body.data.paper).toMatchObject({ id: data.id, url: expect.any(String) });
});

test.each([
  ['a type that the field refuses', 'report/files/paper', '\x89PNG\r\n', 'image/png', 422],
  ['an unknown field', 'report/files/nothing', 'x', 'text/plain', 404],
  ['a field of another type', 'report/files/title', 'x', 'text/plain', 404],
  ['a name of an object', 'report/files/constructor', 'x', 'text/plain', 404],
  ['an unknown resource', 'nothing/files/paper', 'x', 'text/plain', 404],
  ['an unknown parameter', 'report/files/paper?as=visitor', 'x', 'text/plain', 400],
])('an upload for %s is refused', async (_fault, path, body, type, status) => {
  expect((await upload(path, body, type)).status).toBe(status);
});
