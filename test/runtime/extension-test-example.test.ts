import { expect, test } from 'vitest';
import { defineUser } from '../../src/index.ts';
import { versionExtension } from '../fixtures/version.ts';
import { startTestApp } from '../support/app.ts';

const { call, person } = await startTestApp({
  resources: [defineUser()],
  extensions: [versionExtension({ commit: 'f00ba4' })],
});

test('GET /api/version returns the commit, with or without a session', async () => {
  const ada = await person('Ada', ['user', 'admin']);
  const expected = { status: 200, body: { data: { commit: 'f00ba4', resources: ['user'] } } };
  expect(await call('GET', '/api/version')).toMatchObject(expected);
  expect(await ada.call('GET', '/api/version')).toMatchObject(expected);
});
