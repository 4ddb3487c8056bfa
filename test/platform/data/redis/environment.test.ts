import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { StartupError } from '../../../../src/platform/helpers/config-errors.ts';
import { readEnvironment } from '../../../../src/platform/settings/environment.ts';

const CA = join(import.meta.dirname, '../../../data/tls/push-ca.crt');

const read = (variables: Record<string, string>) =>
  readEnvironment({ NODE_ENV: 'test', DATABASE_URL: 'postgres://u@db/app', REDIS_URL: 'redis://redis', ...variables })
    .redis;

function errorsOf(variables: Record<string, string>): readonly string[] {
  try {
    read(variables);
    return [];
  } catch (error) {
    return (error as StartupError).errors;
  }
}

test('one server needs only its URL, whose password may contain commas', () => {
  const REDIS_URL = 'rediss://bell:a,b,c@redis.example.com:6380/3';
  expect(read({ REDIS_URL })).toEqual({ urls: [REDIS_URL], cluster: false, ca: undefined });
});

test('a cluster may have several seeds, separated by commas', () => {
  const urls = ['redis://a:7000', 'redis://b:7001', 'redis://[::1]:7002'];
  expect(read({ REDIS_URL: urls.join(', '), REDIS_CLUSTER: 'on' })).toMatchObject({ urls, cluster: true });
});

test('Sentinels have the port 26379 by default, and the master the name mymaster', () => {
  expect(read({ REDIS_SENTINELS: 'one, two:5000,[::1]:5001' }).sentinels).toEqual({
    addresses: [
      { host: 'one', port: 26_379 },
      { host: 'two', port: 5000 },
      { host: '::1', port: 5001 },
    ],
    master: 'mymaster',
    password: undefined,
  });
  const named = { REDIS_SENTINELS: 'one', REDIS_SENTINEL_MASTER: 'bell', REDIS_SENTINEL_PASSWORD: 'ring' };
  expect(read(named).sentinels).toMatchObject({ master: 'bell', password: 'ring' });
});

test('certificates are read from a file or given as text', () => {
  const ca = read({ REDIS_URL: 'rediss://redis', REDIS_CA: CA }).ca!;
  expect(ca).toContain('-----BEGIN CERTIFICATE-----');
  expect(read({ REDIS_URL: 'rediss://redis', REDIS_CA: ca }).ca).toBe(ca);
});

test.each([
  [{ REDIS_URL: 'redis:6379' }, 'REDIS_URL is malformed'],
  [{ REDIS_URL: 'redis://a:6379,b:6379' }, 'REDIS_URL is malformed'],
  [{ REDIS_URL: 'redis://a/name' }, 'REDIS_URL is malformed'],
  [{ REDIS_URL: 'redis://a,redis://b' }, 'REDIS_URL lists several servers: set REDIS_CLUSTER=on'],
  [{ REDIS_URL: 'redis://a,rediss://b', REDIS_CLUSTER: 'on' }, 'REDIS_URL mixes redis:// and rediss://'],
  [{ REDIS_URL: 'redis://a/1', REDIS_CLUSTER: 'on' }, 'REDIS_URL names a database number'],
  [{ REDIS_CLUSTER: 'yes' }, 'REDIS_CLUSTER must be on or off'],
  [{ REDIS_SENTINELS: 'a:b' }, 'REDIS_SENTINELS is malformed'],
  [{ REDIS_SENTINELS: 'a:70000' }, 'REDIS_SENTINELS is malformed'],
  [{ REDIS_SENTINELS: 'a', REDIS_CLUSTER: 'on' }, 'REDIS_CLUSTER and REDIS_SENTINELS are both set'],
  [{ REDIS_URL: 'rediss://a', REDIS_CA: '/missing.pem' }, 'REDIS_CA must be certificates'],
  [{ REDIS_URL: 'rediss://a', REDIS_CA: import.meta.filename }, 'REDIS_CA must be certificates'],
  [{ REDIS_CA: CA }, 'REDIS_CA requires TLS'],
])('%o is refused', (variables, message) => {
  expect(errorsOf(variables)).toEqual([expect.stringContaining(message)]);
});
