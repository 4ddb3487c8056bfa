import { expect, test } from 'vitest';
import { developerConsole } from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';
import { API, resources, startOperationsApp } from './operations-app.ts';

const { call, admin, read, entryOf } = await startOperationsApp();

test('requests and statements above the thresholds are listed, without values', async () => {
  const { body } = await call('POST', '/api/notes', { title: 'a secret title' }, { 'x-request-id': 'request-of-test' });
  await call('GET', `/api/notes/${body.data.id}`);
  const slow = await read('/slow');
  expect(slow.thresholds).toEqual({ requestMs: 0, statementMs: 0 });
  const created = slow.newest.find(({ requestId }: { requestId: string }) => requestId === 'request-of-test');
  expect(created).toMatchObject({ method: 'POST', route: '/api/notes', status: 201, ms: expect.any(Number) });
  expect(created.statements).toBeGreaterThan(0);
  expect(slow.statements.length).toBeGreaterThan(3);
  expect(JSON.stringify(slow)).not.toContain('secret title');
  expect(JSON.stringify(slow)).not.toContain(body.data.id);
});

test('the list can be cleared, which is recorded', async () => {
  await call('GET', '/api/notes', undefined, { 'x-request-id': 'before-the-clearing' });
  expect((await admin.call('POST', `${API}/slow/clear`)).status).toBe(204);
  expect(JSON.stringify(await read('/slow'))).not.toContain('before-the-clearing');
  expect(await entryOf('console.slowLogCleared')).toMatchObject({ resource: 'operations', user: admin.id });
});

test('the statistics of Postgres say how to switch them on, or list statements', async () => {
  const { missing, statements } = await read('/slow/statistics');
  expect(missing ?? 'available').toBeOneOf(['not installed', 'not loaded', 'not permitted', 'available']);
  expect(statements).toEqual(missing === undefined ? expect.any(Array) : []);
});

test('without slow work, the slow log stays empty with the default thresholds', async () => {
  const other = await startTestApp({ resources, extensions: [developerConsole()] });
  await other.call('GET', '/api/notes');
  const { body } = await other.call('GET', `${API}/slow`);
  expect(body.data.thresholds).toEqual({ requestMs: 500, statementMs: 200 });
});
