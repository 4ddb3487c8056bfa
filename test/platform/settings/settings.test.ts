import { expect, test } from 'vitest';
import { readSettings, type SettingsInput } from '../../../src/platform/settings/settings.ts';

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

/** Settings without a default. */
const OPTIONAL = [
  'auth.resetUrl',
  'auth.legacyPassword',
  'rateLimit.enabled',
  'openapi.description',
  'mail.templates.passwordReset',
  'files.storage',
];

/** The paths of all groups of settings, and of all settings in them. */
function pathsIn(value: unknown, path: string[] = []): { groups: string[][]; settings: string[][] } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { groups: [], settings: [path] };
  const parts = Object.entries(value).map(([name, member]) => pathsIn(member, [...path, name]));
  return { groups: [path, ...parts.flatMap(({ groups }) => groups)], settings: parts.flatMap((part) => part.settings) };
}

/** The settings with one value at a path. A rule and a password cost are only valid with all of their members. */
function settingsWith(path: readonly string[], value: unknown): SettingsInput {
  const defaults = structuredClone(readSettings({})) as unknown as Record<string, unknown>;
  const parent = path.slice(0, -1).reduce((at, name) => at[name] as Record<string, unknown>, defaults);
  parent[path.at(-1)!] = value;
  return defaults as SettingsInput;
}

const { groups, settings: withDefault } = pathsIn(readSettings({}));
const ALL_SETTINGS = [...withDefault.map((path) => path.join('.')), ...OPTIONAL];
const WORDS_OF_ZOD = /Invalid|Too (?:big|small)|expected|received|Unrecognized/;

test.each(ALL_SETTINGS)('%s refuses values of wrong types and sizes in our own words', (name) => {
  const messages = [
    null,
    'x\0'.repeat(1000),
    -1,
    1e300,
    Number.NaN,
    true,
    [],
    {},
    [null],
    { a: 1 },
    () => 1,
    1n,
  ].flatMap((value) => {
    try {
      readSettings(settingsWith(name.split('.'), value));
      return [];
    } catch (error) {
      return (error as { errors: string[] }).errors;
    }
  });
  expect(messages.length).toBeGreaterThan(3);
  for (const message of messages) {
    expect(message).not.toMatch(WORDS_OF_ZOD);
    expect(message).toMatch(/^settings\.[\w.]+: .*\b(?:must|required|need)\b/);
  }
});

test.each(groups.map((path) => path.join('.')))('a misspelled setting in "%s" is unknown, not ignored', (name) => {
  const path = name === '' ? [] : name.split('.');
  const setting = ['settings', ...path, 'colour'].join('.');
  expect(within(settingsWith([...path, 'colour'], 'red'))).toThrow(`${setting}: there is no such setting`);
});

const DURATION = 'must be a duration such as "30s", "15m", "12h" or "7d", greater than 0 and at most 30d';

test.each<[unknown, string]>([
  [{ files: { pendingTtl: '721h' } }, `settings.files.pendingTtl: ${DURATION}`],
  [{ files: { pendingTtl: '0s' } }, `settings.files.pendingTtl: ${DURATION}`],
  [{ files: { pendingTtl: 24 } }, `settings.files.pendingTtl: ${DURATION}`],
  [{ jobs: { keepDays: Number.NaN } }, 'settings.jobs.keepDays: must be a number, not NaN'],
  [{ jobs: { keepFailedDays: null } }, 'settings.jobs.keepFailedDays: must be a number, not null'],
  [{ jobs: { keepDay: 5 } }, 'settings.jobs.keepDay: there is no such setting. Did you mean "keepDays"?'],
  [{ jobs: 5 }, 'settings.jobs: must be an object, not a number'],
  [{ http: { bodyLimit: 1.5 } }, 'settings.http.bodyLimit: must be a whole number'],
  [{ auth: { register: 'no' } }, 'settings.auth.register: must be true or false, not a string'],
  [{ pagination: { count: 'all' } }, 'settings.pagination.count: must be one of "exact", "capped", "none"'],
  [{ openapi: { title: '' } }, 'settings.openapi.title: must have at least 1 character'],
  [
    { files: { uploadLimit: { limit: 5, windowMs: 999 } } },
    'settings.files.uploadLimit.windowMs: must be at least 1000',
  ],
  [{ files: { uploadLimit: { limit: 5 } } }, 'settings.files.uploadLimit.windowMs: is required'],
  [{ push: { endpointHosts: '*' } }, 'settings.push.endpointHosts: must be a list, not a string'],
  ['fast', 'settings: must be an object, not a string'],
])('%j is refused with a message that says what to write', (settings, message) => {
  expect(within(settings as SettingsInput)).toThrow(message);
});
