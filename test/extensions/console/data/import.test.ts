import { expect, onTestFinished, test, vi } from 'vitest';
import { adminConsole, audit, defineResource, defineUser, f } from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';

const coupon = defineResource('coupon', {
  fields: { title: f.string().required(), sku: f.string().unique(), code: f.string().writeOnly().unique() },
});
const { app, url, person } = await startTestApp(
  { resources: [defineUser(), coupon], extensions: [audit(), adminConsole({ production: true })] },
  {
    env: () => ({
      NODE_ENV: 'production',
      DRAIN_DELAY_MS: '0',
      APP_URL: 'https://api.example.com',
      SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
      LOG_LEVEL: 'silent',
    }),
    roles: ['web', 'relay'],
  },
);
const coupons = app.service('coupon');
const admin = await person('Root', ['user', 'admin']);

async function send(query: string, body: string | ReadableStream, token = admin.token) {
  const type = query.includes('ndjson') ? 'application/x-ndjson' : 'text/csv';
  const response = await fetch(`${url}/console/api/records/coupon/import?${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': type },
    body,
    duplex: 'half',
  } as RequestInit);
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
  return { status: response.status, body: (await response.json()) as any };
}

/** A body that stays open until the test closes it. */
function openBody(): { body: ReadableStream; write(text: string): void; close(): void } {
  let controller!: ReadableStreamDefaultController;
  const body = new ReadableStream({
    start(own) {
      controller = own;
    },
  });
  return {
    body,
    write: (text) => controller.enqueue(new TextEncoder().encode(text)),
    close: () => controller.close(),
  };
}

test('an administrator who loses the role while a file is open writes none of its later rows', async () => {
  const boss = await person('Boss', ['user', 'admin']);
  const file = openBody();
  const sent = send('format=csv&mode=write', file.body, boss.token);
  file.write(`title\n${'Before\n'.repeat(501)}`);
  await expect.poll(() => coupons.count({ title: 'Before' }), { timeout: 60_000 }).toBe(500);
  await app.service('user').update(boss.id, { roles: ['user'] });
  file.write('After\n'.repeat(600));
  file.close();
  const { status, body } = await sent;
  expect([status, body.error.message]).toEqual([403, 'Your access has ended. Rows up to 500 were handled']);
  expect([await coupons.count({ title: 'Before' }), await coupons.count({ title: 'After' })]).toEqual([500, 0]);
});

test('an administrator who loses the role before the first rows are complete writes none', async () => {
  const boss = await person('Boss', ['user', 'admin']);
  const file = openBody();
  const limits = vi.spyOn(AbortSignal, 'timeout');
  onTestFinished(() => limits.mockRestore());
  const sent = send('format=csv&mode=write', file.body, boss.token);
  file.write('title\nOnly\n');
  await vi.waitUntil(() => limits.mock.calls.some(([ms]) => ms === 600_000));
  await app.service('user').update(boss.id, { roles: ['user'] });
  file.close();
  expect((await sent).status).toBe(403);
  expect(await coupons.count({ title: 'Only' })).toBe(0);
});

test.each(['csv', 'ndjson'])(
  'a %s file that stays open with empty lines is refused after a time limit',
  async (format) => {
    const ended = new AbortController();
    const { timeout } = AbortSignal;
    const limits = vi
      .spyOn(AbortSignal, 'timeout')
      .mockImplementation((ms) => (ms === 600_000 ? ended.signal : timeout.call(AbortSignal, ms)));
    onTestFinished(() => limits.mockRestore());
    const file = openBody();
    const sent = send(`format=${format}&mode=write`, file.body);
    file.write(format === 'csv' ? 'title\nSlow\n\n\n' : '{"title":"Slow"}\n\n\n');
    await vi.waitUntil(() => limits.mock.calls.some(([ms]) => ms === 600_000));
    ended.abort();
    const { status, body } = await sent;
    expect([status, body.error.details.file]).toEqual([422, expect.stringContaining('Took longer than 10 minutes')]);
    expect(await coupons.count({ title: 'Slow' })).toBe(0);
  },
);

test('rows are not matched by secret unique fields, and each check and import is in the audit trail', async () => {
  expect((await send('format=csv&mode=check&upsertBy=code', 'title,code\nx,1\n')).status).toBe(400);
  const { body: before } = await admin.call('GET', '/api/admin/audit?resource=coupon&action=console.importChecked');
  expect(before.data).toEqual([]);
  expect((await send('format=csv&mode=check', 'title,code\nx,1\n')).status).toBe(200);
  expect((await send('format=ndjson&mode=write&upsertBy=sku', '{"title":"x"}')).body.data.rejected).toBe(1);
  const read = async (action: string) =>
    (await admin.call('GET', `/api/admin/audit?resource=coupon&action=${action}&user=${admin.id}`)).body.data;
  await expect
    .poll(() => read('console.importChecked'), { timeout: 60_000 })
    .toMatchObject([{ record: null, user: admin.id, via: 'console', details: { format: 'csv' } }]);
  await expect
    .poll(async () => (await read('console.imported'))[0], { timeout: 60_000 })
    .toMatchObject({ record: null, details: { format: 'ndjson', upsertBy: 'sku' } });
});

test.each([
  ['csv', 'id,title\n,x\n'],
  ['ndjson', '{"id":"65f0c1d2e3a4b5c6d7e8f901","title":"x"}'],
])('a %s file with ids is accepted with the warning that they are ignored', async (format, file) => {
  const { body } = await send(`format=${format}&mode=check`, file);
  expect(body.data).toMatchObject({
    written: 1,
    warnings: ['The column id is ignored: every row creates a new record'],
  });
  const updating = await send(`format=${format}&mode=check&upsertBy=sku`, file.replace('title', 'sku'));
  expect(updating.body.data.warnings).toEqual([]);
});

test('a file with ids moves records in with their ids and times, once', async () => {
  const id = '65f0c1d2e3a4b5c6d7e8f902';
  const createdAt = '2020-01-02T03:04:05.000Z';
  const file = `${JSON.stringify({ id, title: 'Moved', createdAt, updatedAt: createdAt })}\n`;
  const first = await send('format=ndjson&mode=write&keepIds=true', file);
  expect(first.body.data).toMatchObject({ written: 1, rejected: 0, warnings: [] });
  const moved = await app.service('coupon').read(id);
  expect([moved.title, new Date(moved.createdAt as string).toISOString()]).toEqual(['Moved', createdAt]);
  const again = await send('format=ndjson&mode=write&keepIds=true', file);
  expect(again.body.data).toMatchObject({ written: 0, rejected: 1 });
  expect((await send('format=ndjson&mode=check&keepIds=1', file)).status).toBe(400);
});
