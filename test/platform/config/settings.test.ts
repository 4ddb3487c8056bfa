import { expect, test } from 'vitest';
import { readSettings, type SettingsInput } from '../../../src/platform/config/settings.ts';

test('a setting that a project omits has the documented default', () => {
  expect(readSettings(undefined)).toEqual(readSettings({}));
  expect(readSettings({})).toMatchObject({
    auth: {
      enabled: true,
      register: true,
      sessionTtlDays: 30,
      devicesFollowSessions: true,
      resetTokenTtlMinutes: 30,
      lockout: { maxAttempts: 5, windowMinutes: 15, lockMinutes: 15 },
      password: { logN: 15, r: 8, p: 3 },
    },
    unknownFields: 'reject',
    pagination: { defaultLimit: 20, maxLimit: 100, count: 'exact' },
    http: { bodyLimit: 1_048_576 },
    rateLimit: { global: { limit: 300, windowMs: 60_000 }, auth: { limit: 10, windowMs: 900_000 } },
    openapi: { enabled: true, docs: true, title: 'API', version: '1.0.0' },
    relay: { pollMs: 1000, sweepMs: 5000, batch: 500, streams: 2 },
    push: { waitMs: 10_000, endpointHosts: [] },
    log: { sampleRate: 1 },
    graceMs: 15_000,
  });
});

const within = (settings: SettingsInput) => () => readSettings(settings);
const password = (logN: number, r: number, p: number) => ({ auth: { password: { logN, r, p } } });
const lockout = (more: object) => ({ auth: { lockout: more } });

test.each<[string, SettingsInput]>([
  ['the cheapest password hash', password(1, 1, 1)],
  ['a password hash of exactly 256 MiB', password(16, 32, 16)],
  ['the largest logN whose hash needs 256 MiB', password(20, 2, 1)],
  ['sessions of one hundred years', { auth: { sessionTtlDays: 36_500 } }],
  ['reset links valid for one year', { auth: { resetTokenTtlMinutes: 525_600 } }],
  ['no lockout', lockout({ maxAttempts: 0 })],
  ['the longest lock', lockout({ maxAttempts: 1000, windowMinutes: 525_600, lockMinutes: 525_600 })],
  ['no rate limits', { rateLimit: { global: false, auth: false } }],
])('%s can be set', (_, settings) => {
  expect(within(settings)).not.toThrow();
});

test.each<[SettingsInput, string]>([
  [password(0, 1, 1), 'settings.auth.password.logN'],
  [password(21, 1, 1), 'settings.auth.password.logN'],
  [password(1, 0, 1), 'settings.auth.password.r'],
  [password(1, 33, 1), 'settings.auth.password.r'],
  [password(1, 1, 0), 'settings.auth.password.p'],
  [password(1, 1, 17), 'settings.auth.password.p'],
  [password(20, 3, 1), 'one hash would need more than 256 MiB'],
  [password(17, 17, 1), 'one hash would need more than 256 MiB'],
  [{ auth: { sessionTtlDays: 36_501 } }, 'settings.auth.sessionTtlDays'],
  [{ auth: { sessionTtlDays: 0 } }, 'settings.auth.sessionTtlDays'],
  [{ auth: { resetTokenTtlMinutes: 525_601 } }, 'settings.auth.resetTokenTtlMinutes'],
  [lockout({ maxAttempts: -1 }), 'settings.auth.lockout.maxAttempts'],
  [lockout({ maxAttempts: 1001 }), 'settings.auth.lockout.maxAttempts'],
  [lockout({ windowMinutes: 0 }), 'settings.auth.lockout.windowMinutes'],
  [lockout({ lockMinutes: 525_601 }), 'settings.auth.lockout.lockMinutes'],
  [{ pagination: { maxLimit: 0 } }, 'settings.pagination.maxLimit'],
  [{ pagination: { count: 'all' as 'none' } }, 'settings.pagination.count'],
  [{ log: { sampleRate: 1.1 } }, 'settings.log.sampleRate'],
  [{ http: { bodyLimit: 0 } }, 'settings.http.bodyLimit'],
  [{ push: { endpointHosts: ['https://push.example.com'] } }, 'settings.push.endpointHosts.0'],
  [{ auth: { resetUrl: 'javascript:alert(1)' } }, 'settings.auth.resetUrl'],
])('%j is refused with an error that names %s', (settings, name) => {
  expect(within(settings)).toThrow(name);
});

test('all unknown and malformed settings are listed together, each by its full name', () => {
  const settings = { colour: 'red', auth: { registr: false, lockout: { tries: 3 } }, graceMs: -1 } as SettingsInput;
  expect(within(settings)).toThrow(/settings\.graceMs: /);
  expect(within(settings)).toThrow(/settings\.auth\.lockout\.tries: there is no such setting/);
  expect(within(settings)).toThrow(/settings\.auth\.registr: there is no such setting/);
  expect(within(settings)).toThrow(/settings\.colour: there is no such setting/);
});
