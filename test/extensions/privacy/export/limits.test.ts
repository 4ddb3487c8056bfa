import { expect, test } from 'vitest';
import { defineUser, privacy } from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';

// No worker runs, so every export stays pending.
const { person, app } = await startTestApp({
  resources: [defineUser()],
  extensions: [privacy({ exportsPerDay: 2 })],
  settings: { rateLimit: { enabled: true } },
});
const PATH = '/api/auth/me/export';

test('a requester can start exportsPerDay exports of a user per day; polling their state does not count', async () => {
  const ada = await person('Ada');
  const root = await person('Root', ['admin']);
  const begin = async (by = ada, path = PATH) => {
    const states = [await by.call('GET', path), await by.call('GET', path)];
    expect(states[1]).toMatchObject({ status: 202, body: { data: { id: states[0]!.body.data.id } } });
    expect((await by.call('DELETE', path)).status).toBe(204);
  };
  await begin();
  await begin();
  const refused = await ada.call('GET', PATH);
  expect(refused).toMatchObject({
    status: 429,
    body: { error: { code: 'RATE_LIMITED', message: 'Too many requests; try again later' } },
  });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(80_000);
  await begin(root, `/api/admin/users/${ada.id}/export`);
  await begin(root);
  expect(await app.captured.mails()).toEqual([]);
});

test('one of many concurrent calls starts an export, and the others do not count towards the limit', async () => {
  const bea = await person('Bea');
  const responses = await Promise.all(Array.from({ length: 20 }, () => bea.call('GET', PATH)));
  expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 202));
  expect(new Set(responses.map(({ body }) => body.data.id)).size).toBe(1);
  await bea.call('DELETE', PATH);
  expect((await bea.call('GET', PATH)).status).toBe(202);
  await bea.call('DELETE', PATH);
  expect((await bea.call('GET', PATH)).status).toBe(429);
  // The refused call did not store an export either.
  expect((await bea.call('GET', PATH)).status).toBe(429);
});

test('in development the response names the limit, the wait and the setting', async () => {
  const development = await startTestApp(
    { resources: [defineUser()], extensions: [privacy({ exportsPerDay: 1 })] },
    { env: () => ({ NODE_ENV: 'development', LOG_LEVEL: 'silent' }) },
  );
  const cleo = await development.person('Cleo');
  expect((await cleo.call('GET', PATH)).status).toBe(202);
  await cleo.call('DELETE', PATH);
  const { status, headers, body } = await cleo.call('GET', PATH);
  expect([status, body.error.message]).toEqual([
    429,
    `Too many requests: exports are limited to 1 per user and day (privacy({ exportsPerDay })). Try again in ${headers.get('retry-after')} seconds.`,
  ]);
});
