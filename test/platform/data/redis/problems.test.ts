import { expect, test } from 'vitest';
import { describeRedisProblem, explainRedisProblem } from '../../../../src/platform/data/redis/problems.ts';

test.each([
  ["READONLY You can't write against a read only replica.", 'is a read-only replica: '],
  ['ERR Error running script: @user_script:1: -READONLY You can’t write', 'is a read-only replica: '],
  ["OOM command not allowed when used memory > 'maxmemory'.", 'is full: '],
  [
    "NOPERM this user has no permissions to run the 'evalsha' command",
    'refuses the user of REDIS_URL: the user lacks a permission (NOPERM',
  ],
  ['NOAUTH HELLO must be called with the client already authenticated', 'needs a password: '],
  ['WRONGPASS invalid username-password pair or user is disabled.', 'refuses the user name or password of REDIS_URL'],
  ['LOADING Redis is loading the dataset in memory', 'is still loading its data from disk'],
  ['MISCONF Redis is configured to save RDB snapshots', 'refuses writes, because it cannot save its data to disk'],
  ['NOREPLICAS Not enough good replicas to write.', 'refuses writes, because it has too few replicas'],
  ['CLUSTERDOWN The cluster is down', 'is not complete: CLUSTERDOWN The cluster is down'],
  ['self-signed certificate in certificate chain', 'cannot be trusted: self-signed certificate'],
  ['connect ECONNREFUSED 127.0.0.1:6379', 'cannot be reached: connect ECONNREFUSED 127.0.0.1:6379'],
])('%s is described as what to fix', (text, start) => {
  const sentence = describeRedisProblem(new Error(text), 'belfry');
  expect(sentence.slice(0, start.length)).toBe(start);
});

test('an error without a text is described by its code', () => {
  const error = Object.assign(new Error(''), { code: 'ECONNREFUSED' });
  expect(describeRedisProblem(error, 'belfry')).toBe('cannot be reached: ECONNREFUSED');
});

test.each([
  "Stream isn't writeable and enableOfflineQueue options is false",
  "Socket timeout. Expecting data, but didn't receive any in 5000ms.",
  'Reached the max retries per request limit (which is 0). Refer to "maxRetriesPerRequest" option for details.',
  'connect ETIMEDOUT',
  'Connection is closed.',
])('a Redis that does not respond is described without the text of the client: %s', (text) => {
  expect(explainRedisProblem(new Error(text), 'redis.example.com:6379', 'belfry')).toBe(
    'Redis does not respond (redis.example.com:6379). Check REDIS_URL, and that Redis runs.',
  );
});

test('a problem that says what to do gets no further advice', () => {
  expect(explainRedisProblem(new Error('OOM command not allowed'), 'redis.example.com:6379', 'belfry')).toBe(
    'Redis at redis.example.com:6379 is full: raise its maxmemory, or use a larger server.',
  );
});
