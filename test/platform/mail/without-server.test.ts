import { Redis } from 'ioredis';
import { Client } from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createApp, defineUser } from '../../../src/index.ts';
import { generateKey } from '../../support/database/encrypted-patients.ts';
import { createTestDatabase } from '../../support/database/test-database.ts';
import { startBlog } from '../../support/processes/app-process.ts';

vi.setConfig({ testTimeout: 240_000 });
const until = <T>(look: () => T | Promise<T>) => vi.waitUntil(look, { timeout: 60_000, interval: 20 });

/** Creates a database, and the environment of an app that uses it. */
async function place() {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const sql = new Client({ connectionString: database.databaseUrl });
  await sql.connect();
  onTestFinished(() => sql.end());
  const env = {
    DATABASE_URL: database.databaseUrl,
    REDIS_URL: database.redisUrl,
    REDIS_PREFIX: database.redisPrefix,
    SVC_ENCRYPTION_KEYS: generateKey(),
    APP_URL: 'https://api.example.com',
  };
  return { sql, env };
}

test('in production an e-mail waits for a mail server, is not captured, and the log states why', async () => {
  const { sql, env } = await place();
  const app = createApp({ resources: [defineUser()] }, { ...env, NODE_ENV: 'production', LOG_LEVEL: 'silent' });
  onTestFinished(() => app.close());
  await app.migrate({ mode: 'sync' });
  await app.start({ roles: ['relay', 'push-worker'] });
  const { id } = await app.mail.send({ to: 'ann@example.com', subject: 'Hello', text: 'Good day' });
  const row = await until(async () => (await sql.query('select * from mails where error is not null')).rows[0]);
  expect(row).toMatchObject({ id, status: 'queued', attempts: 1, error: 'Error: SMTP_URL is not set' });
  expect(row.content).toMatch(/^v1\./);
  expect(await app.captured.mails()).toEqual([]);
});

test('in development an e-mail is logged as one line with its recipient, which Redis does not get, and without its text', async () => {
  const { env } = await place();
  const web = startBlog('web', { ...env, NODE_ENV: 'development', PORT: '0', OWN_DATABASE: 'yes' });
  const url = await web.url();
  const post = (path: string, body: object) =>
    fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  await post('/api/auth/register', { name: 'Ann', email: 'ann@example.com', password: 'a bell rings at noon' });
  await post('/api/auth/password/forgot', { email: 'ann@example.com' });
  const isCaptureLine = (line: string) => line.includes('"outcome":"captured"');
  await until(() => isCaptureLine(web.output()));
  const lines = web.output().split('\n').filter(isCaptureLine);
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0]!)).toMatchObject({ to: 'ann@example.com', subject: 'Choose a new password' });
  expect(web.output()).not.toMatch(/token=/);
  const redis = new Redis(env.REDIS_URL);
  onTestFinished(() => redis.disconnect());
  const readTail = async () => (await redis.xrange(`${env.REDIS_PREFIX}:log`, '-', '+')).map(([, [, line]]) => line!);
  const [kept] = await until(async () => {
    const captured = (await readTail()).filter(isCaptureLine);
    return captured.length > 0 && captured;
  });
  expect(JSON.parse(kept!)).not.toHaveProperty('to');
  expect(kept).not.toMatch(/ann@example\.com|Choose a new password/);
  web.child.kill('SIGTERM');
  await web.ended;
});
