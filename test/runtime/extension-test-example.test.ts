import { expect, test } from 'vitest';
import { createApp, defineUser } from '../../src/index.ts';
import { createTestApp } from '../../src/testing/index.ts';
import { versionExtension } from '../fixtures/version.ts';

const { api, signInAs } = await createTestApp((environment) =>
  createApp({ resources: [defineUser()], extensions: [versionExtension({ commit: 'f00ba4' })] }, environment),
);

test('GET /api/version returns the commit, with or without a session', async () => {
  const ada = await signInAs({ name: 'Ada', roles: ['user', 'admin'] });
  const expected = { status: 200, body: { data: { commit: 'f00ba4', resources: ['user'] } } };
  expect(await api.get('/api/version')).toMatchObject(expected);
  expect(await ada.api.get('/api/version')).toMatchObject(expected);
});
