import { expect, test, vi } from 'vitest';
import type { Person } from '../../support/app.ts';
import { startKeysApp } from './app.ts';

const revoking = await startKeysApp();
const keeping = await startKeysApp({ revokeOnPasswordReset: false });

/** Requests a link and returns its token. */
async function linkOf({ app, call }: typeof revoking, who: Person): Promise<string> {
  await call('POST', '/api/auth/password/forgot', { email: who.email });
  return vi.waitFor(
    async () => {
      const mail = (await app.captured.mails()).find((one) => one.to === who.email);
      return /[?&]token=([\w-]+)/.exec(mail!.text)![1]!;
    },
    { timeout: 60_000, interval: 50 },
  );
}

const reset = ({ call }: typeof revoking, token: string) =>
  call('POST', '/api/auth/password/reset', { token, password: 'a new bell rings at dusk' });

test('a password reset revokes all keys of the user and emits one event', { timeout: 240_000 }, async () => {
  const { person, key, seen } = revoking;
  const [ann, bob] = [await person('Ann'), await person('Bob')];
  const [first, second, others] = [await key(ann), await key(ann), await key(bob)];
  const token = await linkOf(revoking, ann);
  expect((await first.call('GET', '/api/auth/me')).status).toBe(200);
  const responses = await Promise.all(Array.from({ length: 5 }, () => reset(revoking, token)));
  expect(responses.map(({ status }) => status).sort()).toEqual([204, 400, 400, 400, 400]);
  for (const { call } of [first, second]) expect((await call('GET', '/api/auth/me')).status).toBe(401);
  expect((await others.call('GET', '/api/auth/me')).status).toBe(200);
  expect(seen.api_keys_revoked).toEqual([
    { userId: ann.id, keyIds: expect.any(Array), reason: 'password_reset', ip: '127.0.0.1' },
  ]);
  expect((seen.api_keys_revoked![0]!.keyIds as string[]).sort()).toEqual([first.id, second.id].sort());
});

test('a reset with an invalid link revokes nothing', async () => {
  const { person, key } = revoking;
  const { call } = await key(await person('Cy'));
  expect((await reset(revoking, 'A'.repeat(43))).status).toBe(400);
  expect((await call('GET', '/api/auth/me')).status).toBe(200);
});

test('with revokeOnPasswordReset off, a reset does not revoke keys', { timeout: 240_000 }, async () => {
  const { person, key, seen } = keeping;
  const dan = await person('Dan');
  const { call } = await key(dan);
  expect((await reset(keeping, await linkOf(keeping, dan))).status).toBe(204);
  expect((await dan.call('GET', '/api/auth/me')).status).toBe(401);
  expect((await call('GET', '/api/auth/me')).status).toBe(200);
  expect(seen.api_keys_revoked).toEqual([]);
});
