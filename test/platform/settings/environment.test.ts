import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { StartupError } from '../../../src/platform/helpers/config-errors.ts';
import { readEnvironment } from '../../../src/platform/settings/environment.ts';

const right = {
  NODE_ENV: 'production',
  APP_URL: 'https://api.example.com',
  DATABASE_URL: 'postgres://user:secret@db:5432/app',
  REDIS_URL: 'redis://redis:6379',
  SVC_ENCRYPTION_KEYS: randomBytes(32).toString('base64'),
};

function faults(changes: Record<string, string | undefined>): readonly string[] {
  try {
    readEnvironment({ ...right, ...changes });
    return [];
  } catch (error) {
    return (error as StartupError).errors;
  }
}

test('missing settings get their defaults', () => {
  expect(readEnvironment(right)).toMatchObject({
    nodeEnv: 'production',
    port: 5001,
    logLevel: 'info',
    corsOrigins: [],
    trustProxy: undefined,
    redisPrefix: 'belfry',
    relay: true,
    webhooksWorker: true,
    pushWorker: true,
    jobWorker: true,
  });
});

test('the replica has settings of its own, and each error names its variable', () => {
  expect(readEnvironment(right).replica).toBeUndefined();
  const url = 'postgres://user:secret@replica:5432/app';
  expect(readEnvironment({ ...right, DATABASE_REPLICA_URL: url }).replica).toEqual({
    url,
    pooler: 'auto',
    poolMax: 6,
    maxLagMs: 5000,
  });
  const malformed = {
    DATABASE_REPLICA_URL: 'replica:5432',
    DATABASE_REPLICA_POOLER: 'yes',
    DATABASE_REPLICA_POOL_MAX: '3',
    DATABASE_REPLICA_MAX_LAG_MS: '999',
  };
  expect(faults(malformed)).toEqual([
    'DATABASE_REPLICA_URL is malformed: it should look like postgres://user:password@host:5432/name',
    'DATABASE_REPLICA_POOLER must be auto, none, session or transaction',
    'DATABASE_REPLICA_POOL_MAX must be a number from 4 to 1000',
    'DATABASE_REPLICA_MAX_LAG_MS must be a number from 1000 to 300000',
  ]);
});

test('all missing and malformed names are reported together, those required only in production included', () => {
  expect(() => readEnvironment({ PORT: 'http', RELAY: 'no', NODE_ENV: '' })).toThrow(StartupError);
  const listed = faults({
    APP_URL: undefined,
    DATABASE_URL: undefined,
    REDIS_URL: 'localhost:6379',
    SVC_ENCRYPTION_KEYS: '',
    PORT: '70000',
    HOST: 'example.com',
    LOG_LEVEL: 'loud',
    LOG_PROCESS: 'a b',
    LOOPBACK_RATE_LIMITS: 'no',
    CORS_ORIGINS: 'example.com',
    TRUST_PROXY: 'yes',
    REDIS_PREFIX: 'a b',
    RELAY: 'no',
    WEBHOOKS_WORKER: '1',
    PUSH_WORKER: 'true',
  });
  const names = ['APP_URL', 'DATABASE_URL', 'REDIS_URL', 'SVC_ENCRYPTION_KEYS', 'PORT', 'LOG_LEVEL', 'CORS_ORIGINS'];
  for (const name of [
    ...names,
    'HOST',
    'LOG_PROCESS',
    'LOOPBACK_RATE_LIMITS',
    'TRUST_PROXY',
    'REDIS_PREFIX',
    'RELAY',
    'WEBHOOKS_WORKER',
    'PUSH_WORKER',
  ]) {
    expect(listed.filter((fault) => fault.startsWith(name))).toHaveLength(1);
  }
});

test('rate limits for clients on the same machine can be lifted in development and tests but not in production', () => {
  const off = { LOOPBACK_RATE_LIMITS: 'off' };
  expect(faults(off)).toEqual([expect.stringContaining('LOOPBACK_RATE_LIMITS must not be off in production')]);
  for (const NODE_ENV of ['development', 'test'])
    expect(readEnvironment({ ...right, ...off, NODE_ENV }).loopbackRateLimits).toBe(false);
  expect(readEnvironment(right).loopbackRateLimits).toBe(true);
});

const key = randomBytes(32).toString('base64');
test.each([
  ['NODE_ENV', 'staging'],
  ['APP_URL', 'api.example.com'],
  ['APP_URL', 'ftp://example.com'],
  ['DATABASE_URL', 'mysql://db/app'],
  ['DATABASE_URL', 'postgres'],
  ['REDIS_URL', 'http://redis'],
  ['REDIS_URL', 'redis://:pass%word@redis:6379'],
  ['DATABASE_URL', 'postgres://u:pass%word@db/app'],
  ['PORT', '-1'],
  ['PORT', '0x50'],
  ['PORT', ' '],
  ['PORT', '1e3'],
  ['METRICS_PORT', '70000'],
  ['METRICS_PORT', 'on'],
  ['HEALTH_PORT', '65536'],
  ['DRAIN_DELAY_MS', '5s'],
  ['DRAIN_DELAY_MS', '300001'],
  ['METRICS_TOKEN', 'two words'],
  ['SVC_ENCRYPTION_KEYS', 'short'],
  ['SVC_ENCRYPTION_KEYS', `${key}x`],
  ['SVC_ENCRYPTION_KEYS', `!${key}`],
  ['SVC_ENCRYPTION_KEYS', `${key},${key}`],
  ['CORS_ORIGINS', 'https://example.com/'],
  ['CORS_ORIGINS', 'https://example.com,example.org'],
  ['CORS_ORIGINS', 'https://*.example.com'],
  ['CORS_ORIGINS', 'https://app.example.com,*.example.com'],
  ['TRUST_PROXY', '10.0.0.0/99'],
  ['TRUST_PROXY', '1.5'],
  ['TRUST_PROXY', '1.5/8'],
  ['TRUST_PROXY', '0x7f.1'],
  ['TRUST_PROXY', '-1'],
  ['TRUST_PROXY', 'loopback,nonsense'],
  ['MAIL_FROM', 'no-reply'],
  ['MAIL_FROM', 'a@example.com, b@example.com'],
  ['MAIL_FROM', 'Belfry <no-reply@example.com> <b@example.com>'],
  ['MAIL_FROM', 'Belfry\r\nBcc: b@example.com <no-reply@example.com>'],
])('%s=%s is an error that does not repeat a secret', (name, text) => {
  const listed = faults({ [name]: text });
  expect(listed).toEqual([expect.stringMatching(new RegExp(`^${name}`))]);
  if (name === 'SVC_ENCRYPTION_KEYS') expect(listed[0]).not.toContain(text);
});

test.each([
  ['PORT', '0'],
  ['METRICS_PORT', '9090'],
  ['HEALTH_PORT', '8080'],
  ['DRAIN_DELAY_MS', '0'],
  ['DRAIN_DELAY_MS', '300000'],
  ['METRICS_TOKEN', 'a-long/one+with=signs'],
  ['CORS_ORIGINS', '*'],
  ['CORS_ORIGINS', ' https://a.example , http://localhost:3000 '],
  ['TRUST_PROXY', 'true'],
  ['TRUST_PROXY', '2'],
  ['TRUST_PROXY', '203.0.113.7, ::1'],
  ['TRUST_PROXY', 'loopback, 10.0.0.0/8, fd00::/8'],
  ['SVC_ENCRYPTION_KEYS', ` ${key} , ${randomBytes(32).toString('base64')} `],
])('%s=%s is accepted', (name, text) => {
  expect(faults({ [name]: text })).toEqual([]);
});

test('development and tests require only the database and Redis URLs, and an empty value counts as missing', () => {
  const stores = { DATABASE_URL: right.DATABASE_URL, REDIS_URL: right.REDIS_URL };
  for (const nodeEnv of ['development', 'test']) {
    const env = readEnvironment({ ...stores, NODE_ENV: nodeEnv, APP_URL: '', SVC_ENCRYPTION_KEYS: ',', PORT: '' });
    expect(env).toMatchObject({ nodeEnv, appUrl: undefined, port: 5001 });
    expect(env.encryptionKeys).toHaveLength(1);
  }
});

test('a stopping process drains for five seconds in production only, unless DRAIN_DELAY_MS says otherwise', () => {
  const drainDelayOf = (variables: Record<string, string>) => readEnvironment({ ...right, ...variables }).drainDelayMs;
  expect(drainDelayOf({})).toBe(5000);
  expect(drainDelayOf({ NODE_ENV: 'development' })).toBe(0);
  expect(drainDelayOf({ NODE_ENV: 'test' })).toBe(0);
  expect(drainDelayOf({ DRAIN_DELAY_MS: '0' })).toBe(0);
  expect(drainDelayOf({ NODE_ENV: 'development', DRAIN_DELAY_MS: '100' })).toBe(100);
});

test('one or several encryption keys are accepted, newest first', () => {
  const keys = [key, randomBytes(32).toString('base64')];
  for (const given of [keys.slice(0, 1), keys]) {
    expect(readEnvironment({ ...right, SVC_ENCRYPTION_KEYS: given.join(',') }).encryptionKeys).toEqual(given);
  }
});

test.each(['', ',', ' , '])(
  'in production SVC_ENCRYPTION_KEYS="%s" counts as missing; the development key is not used',
  (text) => {
    expect(faults({ SVC_ENCRYPTION_KEYS: text })).toEqual([expect.stringMatching(/^SVC_ENCRYPTION_KEYS is missing/)]);
  },
);

test.each(['smtp.example.com', 'https://smtp.example.com', 'smtp://', 'smtp:host'])(
  'SMTP_URL=%s is an error',
  (url) => {
    const listed = faults({ SMTP_URL: url, MAIL_FROM: 'a@example.com' });
    expect(listed).toEqual(['SMTP_URL is malformed: it should look like smtp://user:password@host:587']);
  },
);

test('SMTP_URL requires MAIL_FROM, an address with or without a name; without either there is no mail server', () => {
  expect(faults({ SMTP_URL: 'smtp://a:secret@host:587' })).toEqual([expect.stringMatching(/^MAIL_FROM is missing/)]);
  for (const from of ['a@example.com', 'Belfry <a@example.com>']) {
    const env = readEnvironment({ ...right, SMTP_URL: 'smtps://host', MAIL_FROM: from });
    expect(env.smtp).toEqual({ url: 'smtps://host', from });
  }
  expect(readEnvironment(right).smtp).toBeUndefined();
});

test('push credentials are passed on unchanged, and a name that only resembles one is refused', () => {
  const push = { FCM_SERVICE_ACCOUNT: '/account.json', APNS_TOPIC: 'com.example.app', VAPID_SUBJECT: 'x' };
  expect(readEnvironment({ ...right, ...push, APNS_KEY: '' }).push).toEqual(push);
  expect(readEnvironment(right).push).toEqual({});
  expect(faults({ APNS_TEAM: 'x', FCM_KEY: 'x' })).toEqual([
    expect.stringMatching(/^APNS_TEAM is unknown\. The push variables are: FCM_SERVICE_ACCOUNT, APNS_KEY/),
    expect.stringMatching(/^FCM_KEY is unknown/),
  ]);
});

test('.env.example contains no setting that is refused', () => {
  const example = readFileSync('.env.example', 'utf8');
  const named = [...example.matchAll(/^# ([A-Z_]+)=/gm)].map(([, name]) => name!);
  expect(named).toContain('DATABASE_URL');
  const refused = faults(Object.fromEntries(named.map((name) => [name, 'x'])));
  expect(refused.filter((line) => line.includes('not known'))).toEqual([]);
});
