import { expect, test } from 'vitest';
import { readSettings } from '../../src/platform/settings.ts';

test('what a project does not say about limits, lockout and the cost of passwords is as the contract says', () => {
  const { rateLimit, auth } = readSettings({});
  expect(rateLimit).toMatchObject({
    global: { limit: 300, windowMs: 60_000 },
    auth: { limit: 10, windowMs: 15 * 60_000 },
  });
  expect(auth.lockout).toEqual({ maxAttempts: 5, windowMinutes: 15, lockMinutes: 15 });
  expect(auth.password).toEqual({ logN: 15, r: 8, p: 3 });
});
