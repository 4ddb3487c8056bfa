import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { readEnvironment, StartupError } from '../../src/platform/environment.ts';

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
    return (error as StartupError).faults;
  }
}

test('defaults are filled', () => {
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
  });
});

test('every missing and malformed name is listed at once, those that only production needs included', () => {
  expect(() => readEnvironment({ PORT: 'http', RELAY: 'no', NODE_ENV: '' })).toThrow(StartupError);
  const listed = faults({
    APP_URL: undefined,
    DATABASE_URL: undefined,
    REDIS_URL: 'localhost:6379',
    SVC_ENCRYPTION_KEYS: '',
    PORT: '70000',
    LOG_LEVEL: 'loud',
    CORS_ORIGINS: 'example.com',
    TRUST_PROXY: 'yes',
    REDIS_PREFIX: 'a b',
    RELAY: 'no',
    WEBHOOKS_WORKER: '1',
    PUSH_WORKER: 'true',
  });
  const names = ['APP_URL', 'DATABASE_URL', 'REDIS_URL', 'SVC_ENCRYPTION_KEYS', 'PORT', 'LOG_LEVEL', 'CORS_ORIGINS'];
  for (const name of [...names, 'TRUST_PROXY', 'REDIS_PREFIX', 'RELAY', 'WEBHOOKS_WORKER', 'PUSH_WORKER']) {
    expect(listed.filter((fault) => fault.startsWith(name))).toHaveLength(1);
  }
});

const key = randomBytes(32).toString('base64');
test.each([
  ['NODE_ENV', 'staging'],
  ['APP_URL', 'api.example.com'],
  ['APP_URL', 'ftp://example.com'],
  ['DATABASE_URL', 'mysql://db/app'],
  ['DATABASE_URL', 'postgres'],
  ['REDIS_URL', 'http://redis'],
  ['PORT', '-1'],
  ['PORT', '0x50'],
  ['PORT', ' '],
  ['PORT', '1e3'],
  ['SVC_ENCRYPTION_KEYS', 'short'],
  ['SVC_ENCRYPTION_KEYS', `${key}x`],
  ['SVC_ENCRYPTION_KEYS', `!${key}`],
  ['SVC_ENCRYPTION_KEYS', `${key},${key}`],
  ['CORS_ORIGINS', 'https://example.com/'],
  ['CORS_ORIGINS', 'https://example.com,example.org'],
  ['TRUST_PROXY', '10.0.0.0/99'],
  ['TRUST_PROXY', 'loopback,nonsense'],
])('%s=%s is a fault that does not repeat a secret', (name, text) => {
  const listed = faults({ [name]: text });
  expect(listed).toEqual([expect.stringMatching(new RegExp(`^${name}`))]);
  if (name === 'SVC_ENCRYPTION_KEYS') expect(listed[0]).not.toContain(text);
});

test.each([
  ['PORT', '0'],
  ['CORS_ORIGINS', '*'],
  ['CORS_ORIGINS', ' https://a.example , http://localhost:3000 '],
  ['TRUST_PROXY', 'true'],
  ['TRUST_PROXY', '2'],
  ['TRUST_PROXY', 'loopback, 10.0.0.0/8, fd00::/8'],
  ['SVC_ENCRYPTION_KEYS', ` ${key} , ${randomBytes(32).toString('base64')} `],
])('%s=%s is right', (name, text) => {
  expect(faults({ [name]: text })).toEqual([]);
});
