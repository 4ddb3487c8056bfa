import { expect, test } from 'vitest';
import { apiKeys, defineResource, defineUser, f } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';
import { createTestStorage, send } from './support.ts';

const { storage } = await createTestStorage();
const note = defineResource('note', {
  fields: { scan: f.file() },
  policies: { list: 'authenticated', read: 'authenticated', create: 'authenticated' },
});
const { url, person } = await startTestApp({
  resources: [defineUser(), note],
  extensions: [apiKeys()],
  settings: { files: { storage } },
});
const ada = await person('Ada');

async function createKey(...scopes: string[]): Promise<string> {
  const { body } = await ada.call('POST', '/api/auth/api-keys', { name: scopes.join(), scopes });
  return body.data.key;
}

test('an API key uploads only with the scope files:write, and the upload belongs to its user', async () => {
  const upload = (token: string) => send(`${url}/api/files/uploads?field=note.scan`, 'text', { token });
  const refused = await upload(await createKey('notes:write'));
  expect([refused.status, refused.body.error.message]).toEqual([403, 'This needs the scope "files:write"']);
  const { status, body } = await upload(await createKey('files:write'));
  expect(status).toBe(201);
  expect((await ada.call('POST', '/api/notes', { scan: body.data.id })).status).toBe(201);
});

test('an app without a file field has no route for files', async () => {
  const bare = await startTestApp({ resources: [defineUser()] });
  expect((await bare.call('POST', '/api/files/uploads?field=note.scan')).status).toBe(404);
  const { paths } = (await bare.call('GET', '/api/openapi.json')).body;
  expect(Object.keys(paths).filter((path) => path.startsWith('/api/files'))).toEqual([]);
});
