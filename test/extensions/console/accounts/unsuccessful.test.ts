import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { defineUser, developerConsole } from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';
import { startTcpProxy } from '../../../support/tcp-proxy.ts';

const declaration = { resources: [defineUser()], extensions: [developerConsole()] };
const { app, call, person, env } = await startTestApp(
  {
    ...declaration,
    settings: { rateLimit: { enabled: true, auth: { limit: 3, windowMs: 600_000 } } },
  },
  { roles: 'all' },
);

test('while Redis is down, clearing a lock fails in every place, and the lock remains', async () => {
  const proxy = await startTcpProxy(new URL(env.REDIS_URL!));
  const other = await startTestApp(
    { ...declaration, settings: { auth: { lockout: { maxAttempts: 1 } } } },
    { env: () => ({ REDIS_URL: proxy.url }), roles: ['web', 'relay'] },
  );
  const user = await other.person('Locked');
  await other.call('POST', '/api/auth/login', { email: user.email, password: 'wrong' });
  const limits = '/console/api/operations/limits';
  const accounts = '/console/api/accounts';
  const { body } = await other.call('GET', `${limits}/lookup?q=${encodeURIComponent(user.email)}`);
  const { id } = body.data.lockouts[0];
  await proxy.close();

  const clearings = [
    () => other.call('POST', `${accounts}/users/${user.id}/panels/password/lockoutCleared`, {}),
    () => other.call('POST', `${accounts}/sections/lockouts/lockoutCleared`, { row: user.email }),
    () => other.call('POST', `${limits}/lockouts/${id}/clear`),
    () => other.call('POST', `${limits}/accounts/${user.id}/unlock`),
  ];
  for (const clear of clearings) {
    const { status, body: refused } = await clear();
    expect([status, refused.error.code]).toEqual([503, 'UNAVAILABLE']);
  }
  const redis = new Redis(env.REDIS_URL!);
  onTestFinished(() => redis.disconnect());
  expect(await redis.exists(`${other.env.REDIS_PREFIX}:lockout:${id}`)).toBe(1);
});

test('an administrator learns that an account has got all reset e-mails that its limit allows', async () => {
  const user = await person('Flooded');
  const send = () => call('POST', `/console/api/accounts/users/${user.id}/panels/password/passwordResetRequested`, {});
  expect((await send()).status).toBe(204);
  await expect.poll(async () => (await send()).status, { timeout: 30_000, interval: 200 }).toBe(429);
  const { body, headers } = await send();
  expect(body.error).toMatchObject({ code: 'RATE_LIMITED', message: expect.stringContaining('3 reset e-mails') });
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  const mails = (await app.captured.mails()).filter(({ to }) => to === user.email);
  expect(mails.length).toBeLessThanOrEqual(3);
});
