import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { createExportSweeps } from '../../../../src/extensions/privacy/export/index.ts';
import { createExportStore } from '../../../../src/extensions/privacy/export/store.ts';
import { defineResource, defineUser, f, privacy } from '../../../../src/index.ts';
import { openPlatform } from '../../../push/platform.ts';
import { readContract } from '../../../runtime/openapi/contract.ts';
import { faultsOf } from '../../../runtime/openapi/validators.ts';
import { startTestApp } from '../../../support/app.ts';
import { readZip } from '../../../support/zip.ts';
import { exportOf, fetched, finished, hereOf, startPrivacyApp } from './app.ts';

const running = await startPrivacyApp();
const { app, url, call, env, person } = running;
const platform = await openPlatform(env);
afterAll(() => platform.close());
const exports = createExportStore(platform);
const users = { table: 'users', declaration: { fields: { status: {}, roles: {} } } } as never;
const sweep = createExportSweeps(platform, users, { exports, enqueue: async () => undefined })[1]!;
const client = new Client({ connectionString: env.DATABASE_URL! });
await client.connect();
afterAll(() => client.end());

const PATH = '/api/auth/me/export';
const statusOf = async (link: string) => (await fetch(hereOf(link, url))).status;
const waitFor = (check: () => Promise<unknown>) => vi.waitFor(check, { timeout: 60_000, interval: 100 });

test('the first call starts an export and responds 202, later calls return its state and then the link, which needs no sign-in', async () => {
  const ada = await person('Ada');
  const first = await ada.call('GET', PATH);
  expect(first).toMatchObject({ status: 202, body: { data: { status: 'preparing', url: null, expiresAt: null } } });
  expect(first.headers.get('retry-after')).toBe('3');
  const ready = await finished(ada.call);
  expect(ready).toMatchObject({ id: first.body.data.id, status: 'ready', records: expect.any(Number) });
  expect(Date.parse(ready.expiresAt) - Date.parse(ready.finishedAt)).toBe(72 * 3_600_000);
  expect(ready.url).toMatch(/^http:\/\/localhost:\d+\/api\/auth\/exports\/svc_ex_[0-9a-f]{64}$/);

  const response = await fetch(hereOf(ready.url, url));
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('application/zip');
  expect(response.headers.get('cache-control')).toBe('private, no-store');
  expect(response.headers.get('content-disposition')).toMatch(/^attachment; filename="export-[\d-]+\.zip"$/);
  expect((await response.arrayBuffer()).byteLength).toBe(ready.bytes);
  const head = await fetch(hereOf(ready.url, url), { method: 'HEAD' });
  expect(head.headers.get('content-length')).toBe(String(ready.bytes));
});

test('concurrent requests of a user start one export', async () => {
  const ada = await person('Ada');
  const responses = await Promise.all(Array.from({ length: 20 }, () => ada.call('GET', PATH)));
  expect(new Set(responses.map(({ body }) => body.data.id)).size).toBe(1);
  const { rows } = await client.query('select count(*)::int as n from privacy_exports where user_id = $1', [ada.id]);
  expect(rows[0].n).toBe(1);
});

test('the link is sent by e-mail, and the database reveals neither the link nor any of the data', async () => {
  const ada = await person('Ada');
  const sentence = 'she sells sea shells on the sea shore'.repeat(20);
  await app.service('diary').create({ text: sentence, author: ada.id } as never);
  const { id, url: link } = await finished(ada.call);
  const mail = await waitFor(async () => {
    const found = (await app.captured.mails()).find(({ to }) => to === ada.email);
    expect(found).toBeDefined();
    return found;
  });
  expect(mail).toMatchObject({ subject: 'Your data is ready', text: expect.stringContaining(link) });
  const { rows } = await client.query(
    `select e::text as row, string_agg(encode(c.data, 'escape'), '') as data from privacy_exports e
     join privacy_export_chunks c on c.export_id = e.id where e.id = $1 group by e.id`,
    [id],
  );
  expect(rows[0].row + rows[0].data).not.toMatch(/svc_ex_|shells|manifest/);
});

test.each([
  ['expired', 'update privacy_exports set expires_at = now() - make_interval(secs => 1) where user_id = $1'],
  ['of a disabled account', `update users set status = 'disabled' where id = $1`],
  ['of an account that is being erased', `update users set status = 'deleting' where id = $1`],
])('the link of an export %s stops working, and the sweep removes the export', async (_, change) => {
  const ada = await person('Ada');
  const bob = await person('Bob');
  const { id, url: link } = await finished(ada.call);
  const other = await finished(bob.call);
  expect(await statusOf(link)).toBe(200);
  await client.query(change, [ada.id]);
  expect(await statusOf(link)).toBe(404);
  await sweep.run();
  const { rows } = await client.query('select id from privacy_exports where id = any($1)', [[id, other.id]]);
  expect(rows).toEqual([{ id: other.id }]);
});

test('a new password invalidates the links of earlier exports', async () => {
  const ada = await person('Ada');
  const { url: link } = await finished(ada.call);
  const newPassword = 'incorrect horse battery';
  await ada.call('POST', '/api/auth/password', { currentPassword: 'correct horse battery', newPassword });
  await waitFor(async () => expect(await statusOf(link)).toBe(404));
});

test('an export is deleted with its account', async () => {
  const ada = await person('Ada');
  const { url: link } = await finished(ada.call);
  await app.service('user').delete(ada.id);
  expect(await statusOf(link)).toBe(404);
  await waitFor(async () => {
    const { rows } = await client.query('select 1 from privacy_exports where user_id = $1', [ada.id]);
    expect(rows).toEqual([]);
  });
});

test('after an export has expired or was removed, a call starts a new one with another link', async () => {
  const ada = await person('Ada');
  const first = await finished(ada.call);
  await client.query('update privacy_exports set expires_at = now() - make_interval(secs => 1) where id = $1', [
    first.id,
  ]);
  const second = await finished(ada.call);
  expect((await ada.call('DELETE', PATH)).status).toBe(204);
  expect((await ada.call('DELETE', PATH)).status).toBe(204);
  expect(await statusOf(second.url)).toBe(404);
  const third = await finished(ada.call);
  expect(new Set([first, second, third].map(({ url: link }) => link)).size).toBe(3);
  expect(await statusOf(third.url)).toBe(200);
});

test('an admin can export the data of a user; only the admin gets the link, which stops working once they lose the role', async () => {
  const ada = await person('Ada');
  const root = await person('Root', ['admin']);
  const path = `/api/admin/users/${ada.id}/export`;
  expect((await ada.call('GET', path)).status).toBe(403);
  expect((await call('GET', path)).status).toBe(401);
  expect((await root.call('GET', '/api/admin/users/0123456789abcdef01234567/export')).status).toBe(404);
  expect((await root.call('GET', '/api/admin/users/me/export')).status).toBe(404);
  // Disabled users have a right to their data too.
  await app.service('user').update(ada.id, { status: 'disabled' } as never);
  const { url: link } = await finished(root.call, path);
  expect((await fetched(link, running))['records/users.ndjson']).toMatchObject([{ id: ada.id }]);
  await waitFor(async () => {
    const mails = await app.captured.mails();
    expect(mails.some(({ to, text }) => to === root.email && text.includes(link))).toBe(true);
    expect(mails.some(({ text }) => text.includes(link) && text.includes('Your data'))).toBe(false);
  });
  await app.service('user').update(root.id, { roles: ['user'] } as never);
  expect(await statusOf(link)).toBe(404);
  const { url: own } = await finished(root.call);
  await sweep.run();
  const left = await client.query('select user_id from privacy_exports where requested_by = $1', [root.id]);
  expect(left.rows).toEqual([{ user_id: root.id }]);
  expect(await statusOf(own)).toBe(200);
});

test('an account that is being erased cannot be exported', async () => {
  const ada = await person('Ada');
  const root = await person('Root', ['admin']);
  await client.query(`update users set status = 'deleting' where id = $1`, [ada.id]);
  expect(await root.call('GET', `/api/admin/users/${ada.id}/export`)).toMatchObject({
    status: 409,
    body: { error: { code: 'CONFLICT', message: 'The account is being erased' } },
  });
});

test('every response matches the OpenAPI document', async () => {
  const contract = await readContract(url);
  expect(await faultsOf(contract.document)).toEqual([]);
  const ada = await person('Ada');
  const root = await person('Root', ['admin']);
  const admin = `/api/admin/users/${ada.id}/export`;
  contract.check('exportMe', await ada.call('GET', PATH));
  contract.check('exportUser', await root.call('GET', admin));
  await Promise.all([finished(ada.call), finished(root.call, admin)]);
  contract.check('exportMe', await ada.call('GET', PATH));
  contract.check('exportUser', await root.call('GET', admin));
  contract.check('removeMyExport', await ada.call('DELETE', PATH));
  contract.check('removeUserExport', await root.call('DELETE', admin));
  contract.check('exportUser', await root.call('GET', '/api/admin/users/me/export'));
  contract.check('fetchExport', await call('GET', '/api/auth/exports/none'));
  const { content } = contract.response(contract.operations.get('fetchExport')!, 200)!;
  expect(content).toEqual({ 'application/zip': {} });
});

test.each(['svc_ex_', `svc_ex_${'0'.repeat(64)}`, `svc_${'0'.repeat(64)}`, '..', '%00'])(
  'the malformed or unknown link %s is not found',
  async (token) => {
    expect((await call('GET', `/api/auth/exports/${token}`)).status).toBe(404);
  },
);

test('an interrupted export starts over', async () => {
  const ada = await person('Ada');
  const { id, bytes } = await finished(ada.call);
  await client.query(
    `update privacy_exports set status = 'running', expires_at = null, lease_until = now() - interval '1 second' where id = $1`,
    [id],
  );
  await client.query(
    `insert into privacy_export_chunks select export_id, position + 1, data from privacy_export_chunks where export_id = $1`,
    [id],
  );
  const again = await finished(ada.call);
  expect(again.id).toBe(id);
  expect(Math.abs(again.bytes - bytes)).toBeLessThan(500);
  expect(await fetched(again.url, running)).toHaveProperty('manifest.json');
  const { rows } = await client.query('select count(*)::int as n from privacy_export_chunks where export_id = $1', [
    id,
  ]);
  expect(rows[0].n).toBe(1);
});

test('an export that fails repeatedly is reported as failed', async () => {
  const ada = await person('Ada');
  await app.service('diary').create({ text: 'x', iban: 'DE1', author: ada.id } as never);
  const { id } = await finished(ada.call);
  await client.query(`update diaries set iban = 'v1.00000000' || substr(iban, 12) where author = $1`, [ada.id]);
  await client.query(
    `update privacy_exports set status = 'running', attempts = 4, expires_at = null, lease_until = now() - make_interval(secs => 1) where id = $1`,
    [id],
  );
  expect(await finished(ada.call)).toMatchObject({ id, status: 'failed', url: null, expiresAt: expect.any(String) });
});

test('the audit trail records who requested an export and that it was downloaded', async () => {
  const ada = await person('Ada');
  await exportOf(ada, running);
  await waitFor(async () => {
    const { rows } = await client.query(
      `select action, user_id from audit_entries where record_id = $1 and action like 'security.export%' order by id`,
      [ada.id],
    );
    expect(rows).toEqual([
      { action: 'security.export_requested', user_id: ada.id },
      { action: 'security.export_fetched', user_id: null },
    ]);
  });
});

test('a client that reads slowly receives the whole export, even if it takes longer than the stall limit', {
  timeout: 120_000,
}, async () => {
  const STALL_MS = 1500;
  const diary = defineResource('diary', { fields: { text: f.text(), author: f.ref('user').owner() } });
  const { app, person, url } = await startTestApp(
    { resources: [defineUser(), diary], extensions: [privacy()], settings: { http: { stallMs: STALL_MS } } },
    { roles: 'all' },
  );
  const ada = await person('Ada');
  // Random bytes do not compress, so the file is larger than the kernel buffers for a client that does not read.
  const texts = Array.from({ length: 150 }, () => randomBytes(60_000).toString('base64'));
  for (const text of texts) await app.service('diary').create({ text, author: ada.id });
  const link = (await finished(ada.call)).url;

  const sent = get(hereOf(link, url), { agent: false });
  const [response] = await once(sent, 'response');
  const chunks: Buffer[] = [];
  const startedAt = performance.now();
  for await (const chunk of response) {
    chunks.push(chunk);
    if (performance.now() - startedAt < 2 * STALL_MS) await sleep(50);
  }
  const lines = readZip(Buffer.concat(chunks)).get('records/diaries.ndjson')!.trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line).text).toSorted()).toEqual(texts.toSorted());
});

// No worker runs, so every export stays pending.
const limited = await startTestApp({
  resources: [defineUser()],
  extensions: [privacy({ exportsPerDay: 2 })],
  settings: { rateLimit: { enabled: true } },
});

test('a requester can start exportsPerDay exports of a user per day; polling their state does not count', async () => {
  const ada = await limited.person('Ada');
  const root = await limited.person('Root', ['admin']);
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
  expect(await limited.app.captured.mails()).toEqual([]);
});

test('one of many concurrent calls starts an export, and the others do not count towards the limit', async () => {
  const bea = await limited.person('Bea');
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
