import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Role } from '../../src/declare/extension.ts';
import { clientOf } from '../support/app.ts';
import { createTestDatabase } from '../support/database.ts';
import { BARE_ENV, startBlog } from '../support/processes.ts';

// Each starts processes, which take long on a busy machine.
vi.setConfig({ testTimeout: 240_000 });

/** Runs a process of the blog until it ends, or 40 seconds have passed. */
async function run(role: Role, env: Record<string, string>) {
  const child = spawn(process.execPath, ['test/fixtures/blog/process.ts', role], {
    env: { ...BARE_ENV, ...env },
    timeout: 60_000,
    killSignal: 'SIGKILL',
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, said };
}

test('the other three processes list every fault of the environment at once too, and exit with 1', async () => {
  const roles = ['relay', 'webhook-worker', 'push-worker'] as const;
  const ended = await Promise.all(roles.map((role) => run(role, { PORT: 'http', REDIS_URL: 'nowhere' })));
  for (const { code, said } of ended) {
    expect(code).toBe(1);
    for (const name of ['PORT', 'REDIS_URL', 'DATABASE_URL', 'APP_URL', 'SVC_ENCRYPTION_KEYS']) {
      expect(said).toContain(`- ${name}`);
    }
    expect(said).not.toContain('    at ');
  }
});

test('a database without the declared tables stops production from starting, with the command that mends it', async () => {
  const database = await createTestDatabase();
  const { code, said } = await run('web', {
    NODE_ENV: 'production',
    APP_URL: 'https://api.example.com',
    SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
    LOG_LEVEL: 'silent',
    PORT: '0',
    DATABASE_URL: database.databaseUrl,
    REDIS_URL: database.redisUrl,
    REDIS_PREFIX: database.redisPrefix,
  });
  await database.drop();
  expect(code).toBe(1);
  expect(said).toContain('npm run migrate');
});

test('no password, token or hash is in the log, at any level', async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const web = startBlog('web', {
    NODE_ENV: 'development',
    LOG_LEVEL: 'trace',
    PORT: '0',
    DATABASE_URL: database.databaseUrl,
    REDIS_URL: database.redisUrl,
    REDIS_PREFIX: database.redisPrefix,
  });
  const call = clientOf(await web.url());
  const password = 'a very secret passphrase';
  const body = { name: 'Ann', email: 'ann@example.com', password };
  const { token } = (await call('POST', '/api/auth/register', body)).body.data;
  await call('POST', '/api/auth/register', body);
  await call('POST', '/api/auth/login', { ...body, name: undefined });
  await call('POST', '/api/auth/login', { email: body.email, password: `${password} wrong` });
  await call('POST', '/api/auth/login', `{"password":"${password}"`);
  await call('GET', `/api/auth/me?token=${token}`, undefined, { authorization: `Bearer ${token}` });
  await call('PATCH', '/api/auth/me', { password, name: 5 }, { authorization: `Bearer ${token}` });
  await call(
    'POST',
    '/api/auth/devices',
    { token: 'device-secret', platform: 'ios' },
    { authorization: `Bearer ${token}` },
  );
  web.child.kill('SIGTERM');
  expect(await web.ended).toBe(0);
  const said = web.said();
  expect(said.split('\n').filter((line) => line.includes('"msg":"request"'))).toHaveLength(8);
  expect(said).not.toMatch(/secret passphrase|device-secret|scrypt\$/);
  expect(said).not.toContain(token);
});
