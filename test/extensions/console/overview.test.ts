import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import {
  adminConsole,
  audit,
  defineExtension,
  defineJob,
  defineResource,
  defineUser,
  f,
  softDelete,
  webhooks,
} from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const fixture = defineResource('fixture', {
  title: 'opponent',
  icon: 'trophy',
  fields: {
    opponent: f.string().required(),
    rank: f.string().hidden(),
    pin: f.string().writeOnly(),
    account: f.string().encrypted(),
  },
  softDelete: true,
});
/** Only secret fields could name its records. */
const secret = defineResource('secret', { fields: { name: f.string().hidden(), code: f.string().writeOnly() } });
const many = defineResource('many', { fields: { name: f.string() }, timestamps: false });
const broken = defineResource('broken', { fields: { name: f.string() } });
const fails = defineJob('fails', {
  retry: { attempts: 1 },
  run() {
    throw new Error('It fails with the token abc');
  },
});
const folder = mkdtempSync(join(tmpdir(), 'belfry-overview-'));
afterAll(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, 'tab.js'), 'export const tab = {}');

/** A tab whose concerns cannot be read. */
const unreadable = (concerns: () => Promise<never>) =>
  defineExtension({
    name: 'unreadable',
    setup: () => ({
      consoleTabs: [
        {
          id: 'unreadable',
          label: 'Unreadable',
          page: pathToFileURL(`${folder}/`),
          routes: [],
          concerns,
        },
      ],
    }),
  });
const failing = () => {
  throw new Error('password=abc');
};
const { app, call, person, env } = await startTestApp(
  {
    resources: [defineUser(), fixture, secret, many, broken],
    jobs: [fails],
    extensions: [softDelete(), audit(), webhooks(), unreadable(failing), adminConsole()],
  },
  { roles: 'all' },
);
const OVERVIEW = '/console/api/overview';

async function query(text: string, values: unknown[] = []): Promise<void> {
  const client = new Client({ connectionString: env.DATABASE_URL });
  await client.connect();
  try {
    await client.query(text, values);
  } finally {
    await client.end();
  }
}

const read = async () => (await call('GET', OVERVIEW)).body.data;
const readResource = async (name: string) =>
  (await read()).resources.find((one: { name: string }) => one.name === name);
const readConcern = async (text: string) =>
  (await read()).concerns.find(({ message }: { message: string }) => message.includes(text));

test('each resource has its number and its newest records, without deleted ones and without secret values', async () => {
  const fixtures = app.service('fixture');
  for (const opponent of ['Reds', 'Blues', 'Greens', 'Whites', 'Blacks'])
    await fixtures.create({ opponent, rank: 'RANK-1', pin: 'PIN-1', account: 'IBAN-1' });
  const gone = await fixtures.create({ opponent: 'Gone' });
  await fixtures.delete(gone.id);
  await app.service('secret').create({ name: 'NAME-1', code: 'CODE-1' });
  await expect.poll(async () => (await readResource('fixture')).records).toEqual({ count: 5, isMore: false });
  const { newest } = await readResource('fixture');
  expect(newest.map(({ label }: { label: string }) => label)).toEqual(['Blacks', 'Whites', 'Greens', 'Blues']);
  expect(Math.abs(Date.parse(newest[0].createdAt) - Date.now())).toBeLessThan(60_000);
  const [named] = (await readResource('secret')).newest;
  expect(named.label).toBe(named.id);
  const { headers, body } = await call('GET', OVERVIEW);
  expect(headers.get('cache-control')).toBe('no-store');
  expect(JSON.stringify(body)).not.toMatch(/RANK-1|PIN-1|IBAN-1|NAME-1|CODE-1|Gone/);
});

test('counting stops at 10,000, and the overview says that there are more', async () => {
  await query(`insert into manies (id, name) select '6'||lpad(g::text, 23, '0'), 'n' from generate_series(1, 10001) g`);
  await expect.poll(async () => (await readResource('many')).records).toEqual({ count: 10_000, isMore: true });
  await query('delete from manies where name = $1 and id = (select min(id) from manies)', ['n']);
  await expect.poll(async () => (await readResource('many')).records).toEqual({ count: 10_000, isMore: false });
});

test('a resource that cannot be read does not keep the others from being shown', async () => {
  await query('alter table brokens rename to elsewhere');
  onTestFinished(() => query('alter table elsewhere rename to brokens'));
  await expect.poll(() => readResource('broken')).toEqual({ name: 'broken', records: null, newest: null });
  expect((await readResource('fixture')).records).not.toBeNull();
});

test('a tab whose concerns cannot be read is named, without its error', async () => {
  const { body } = await call('GET', OVERVIEW);
  expect(body.data.unread).toEqual(['Unreadable']);
  expect(JSON.stringify(body)).not.toContain('password');
});

test('a part that takes too long is left out after seconds', async () => {
  const { promise: never } = Promise.withResolvers<never>();
  const slow = await startTestApp(
    { resources: [defineUser()], extensions: [unreadable(() => never), adminConsole()] },
    { roles: 'all' },
  );
  const { body } = await slow.call('GET', OVERVIEW);
  expect(body.data.unread).toEqual(['Unreadable']);
  expect(body.data.resources[0].records).toEqual({ count: 0, isMore: false });
});

test('while everything works, there are no concerns', async () => {
  await expect.poll(async () => (await read()).concerns).toEqual([]);
});

test('failed jobs are a concern until they are retried or removed', async () => {
  await app.jobs.enqueue(fails);
  await expect
    .poll(() => readConcern('job'), { timeout: 30_000 })
    .toEqual({ level: 'error', message: '1 job has failed and can be retried', href: '/console/jobs/failed' });
  expect(JSON.stringify(await read())).not.toContain('token abc');
  await query(`delete from background_jobs where status = 'failed'`);
  await expect.poll(() => readConcern('job')).toBeUndefined();
});

test('endpoints that fail, are retried or were disabled, and failed deliveries, are concerns; what their owner disabled is none', async () => {
  const { id } = await person('Ada');
  await query(
    `insert into webhook_endpoints (id, owner_id, url, events, scope, secret, enabled, disabled_reason, consecutive_failures, last_failure_at)
     select lpad(g::text, 24, '0'), $1, 'https://example.com/hook-SECRET', '{fixture.*}', 'own', 'x', g not in (3, 4), (array[null, null, 'failing', 'manual', null])[g], case when g < 3 then 3 else 0 end, now()
     from generate_series(1, 5) g`,
    [id],
  );
  await query(
    `insert into webhook_delivery_log (id, endpoint_id, event_id, message_id, type, body, status, attempts, attempt_log, created_at, finished_at, mentions)
     select to_hex(extract(epoch from at)::bigint) || lpad(g::text, 16, '0'), lpad('1', 24, '0'), to_hex(extract(epoch from at)::bigint) || lpad(g::text, 16, '0'),
       'msg_' || g, 'fixture.created', '{}', case when g = 3 then 'succeeded' else 'failed' end, 1, '[]', at, at, '{}'
     from generate_series(1, 3) g, lateral (select now() - g * interval '1 minute' as at) t`,
  );
  await expect
    .poll(() => readConcern('endpoints fail'))
    .toMatchObject({ level: 'error', message: '2 webhook endpoints fail' });
  expect(await readConcern('disabled')).toEqual({
    level: 'error',
    message: '1 webhook endpoint was disabled automatically',
    href: '/console/webhooks/endpoints?state=disabled',
  });
  expect(await readConcern('last attempt')).toEqual({
    level: 'warning',
    message: '1 webhook endpoint failed at its last attempt',
    href: '/console/webhooks/endpoints?state=retrying',
  });
  expect(await readConcern('deliveries')).toEqual({
    level: 'warning',
    message: '2 deliveries of the last 24 hours failed in all attempts',
    href: '/console/webhooks/deliveries?status=failed',
  });
  const inGerman = (await call('GET', OVERVIEW, undefined, { 'belfry-language': 'de' })).body.data.concerns;
  const shown = inGerman.filter(({ href }: { href: string }) => href.startsWith('/console/webhooks'));
  expect(shown.map(({ message }: { message: string }) => message)).toEqual([
    '2 Webhook-Endpunkte schlagen fehl',
    '1 Webhook-Endpunkt wurde automatisch deaktiviert',
    'Bei 1 Webhook-Endpunkt ist der letzte Versuch fehlgeschlagen',
    '2 Zustellungen der letzten 24 Stunden sind in allen Versuchen fehlgeschlagen',
  ]);
  expect(shown.map(({ level }: { level: string }) => level)).toEqual(['error', 'error', 'warning', 'warning']);
  expect(JSON.stringify(inGerman)).not.toContain('SECRET');
  await query('delete from webhook_endpoints');
});

test('pushes and e-mails of the last day that failed are concerns, older ones are not', async () => {
  await query(
    `insert into pushes (id, message, audience, status, devices, open_chunks, created_at)
     select lpad(g::text, 24, '0'), '{}', '{}', 'failed', 1, 0, now() - (g - 1) * interval '2 days' from generate_series(1, 2) g`,
  );
  await query(
    `insert into mails (id, recipient, status, error, finished_at)
     select lpad(g::text, 24, '0'), 'ada@example.com', 'failed', 'refused', now() - (g - 1) * interval '2 days' from generate_series(1, 2) g`,
  );
  await expect
    .poll(() => readConcern('push'))
    .toEqual({
      level: 'warning',
      message: '1 push of the last 24 hours reached no device',
      href: '/console/push/sends?status=failed',
    });
  expect(await readConcern('e-mail')).toEqual({
    level: 'error',
    message: '1 e-mail of the last 24 hours could not be sent',
    href: '/console/mails',
  });
  expect(JSON.stringify(await read())).not.toContain('ada@example.com');
});

test('the newest sign-ins have the user and the time, and no address', async () => {
  const { id, email } = await person('Grace');
  await call('POST', '/api/auth/login', { email, password: 'correct horse battery' });
  await expect.poll(async () => (await read()).signIns[0]?.user).toEqual({ id, label: 'Grace' });
  const { signIns } = await read();
  expect(signIns.length).toBeLessThanOrEqual(5);
  expect(Object.keys(signIns[0]).sort()).toEqual(['at', 'user']);
});

test('an app without an audit trail shows no sign-ins, and one without webhooks no webhooks', async () => {
  const other = await startTestApp({ resources: [defineUser()], extensions: [adminConsole()] }, { roles: 'all' });
  const { body } = await other.call('GET', OVERVIEW);
  expect(Object.keys(body.data).sort()).toEqual(['concerns', 'resources', 'unread']);
  expect(body.data.unread).toEqual([]);
});

test('in production, failed e-mails are a concern, too', async () => {
  const production = await startTestApp(
    { resources: [defineUser()], extensions: [audit(), adminConsole({ production: true })] },
    {
      env: () => ({
        NODE_ENV: 'production',
        DRAIN_DELAY_MS: '0',
        APP_URL: 'https://api.example.com',
        SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
        LOG_LEVEL: 'silent',
      }),
      roles: 'all',
    },
  );
  const admin = await production.person('Root', ['user', 'admin']);
  const client = new Client({ connectionString: production.env.DATABASE_URL });
  await client.connect();
  await client.query(
    `insert into mails (id, recipient, status, finished_at) values (lpad('1', 24, '0'), 'a@example.com', 'failed', now())`,
  );
  await client.end();
  const readMail = async () =>
    (await admin.call('GET', OVERVIEW)).body.data.concerns.find(({ message }: { message: string }) =>
      message.includes('e-mail'),
    );
  await expect.poll(readMail).toMatchObject({ level: 'error', href: '/console/mails' });
});

test('the description of the app has the icon of each resource, and a neutral one', async () => {
  const { body } = await call('GET', '/console/api/app');
  const icons = new Map(body.data.resources.map(({ name, icon }: { name: string; icon: string }) => [name, icon]));
  expect(icons.get('fixture')).toMatch(/^M[\d.]/);
  expect(icons.get('user')).not.toBe(icons.get('secret'));
  expect(icons.get('many')).toBe(icons.get('secret'));
});
