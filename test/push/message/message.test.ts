import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ApiError } from '../../../src/platform/helpers/errors.ts';
import { parsePushMessage } from '../../../src/push/message/message.ts';
import { anyCharacter } from '../../support/any-text.ts';

const USER = 'a'.repeat(24);
const read = (message: unknown) => parsePushMessage(message, { allowPrivate: false, hosts: ['push.example.com'] });

function detailsOf(message: unknown): unknown {
  try {
    read(message);
  } catch (error) {
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ code: 'VALIDATION_ERROR', status: 422 });
    return (error as ApiError).details;
  }
  return undefined;
}

test('defaults are set for sound and priority, and the url is also in the data', () => {
  expect(read({ to: USER, title: 'Hi', url: '/posts/1' }).content).toEqual({
    title: 'Hi',
    url: '/posts/1',
    sound: 'default',
    priority: 'high',
    data: { url: '/posts/1' },
  });
});

test('a silent message has no sound, even if one is given', () => {
  expect(read({ to: USER, silent: true, data: { a: 1 } }).content).toEqual({
    silent: true,
    sound: false,
    priority: 'high',
    data: { a: 1 },
  });
  expect(read({ to: USER, silent: true, sound: 'ping', data: {} }).content.sound).toBe(false);
});

test('raw tokens are android unless a platform is given, and are not part of the stored message', () => {
  const message = read({ tokens: ['one', 'two'], title: 'Hi' });
  expect(message.audience).toMatchObject({ platform: 'android', tokens: ['one', 'two'] });
  expect(JSON.stringify([message.content, message.given])).not.toContain('one');
});

test.each<[string, object, object]>([
  ['a user', { to: USER }, { to: USER }],
  ['users and devices, repeated', { to: [USER, USER], deviceIds: [USER] }, { to: [USER, USER], deviceIds: [USER] }],
  ['devices', { deviceIds: [USER] }, { deviceIds: [USER] }],
  ['tokens', { tokens: ['one'] }, {}],
])('the audience is stored as given: %s', (_, audience, given) => {
  expect(read({ ...audience, title: 'Hi' }).given).toEqual(given);
});

test('100,000 users, devices and tokens are accepted, and duplicates count', () => {
  const users = Array<string>(100_000).fill(USER);
  expect(read({ to: users, deviceIds: users, tokens: users, title: 'Hi' }).audience).toMatchObject({
    userIds: [USER],
    deviceIds: [USER],
    tokens: [USER],
  });
});

test('every field is accepted at its limit', () => {
  const full = {
    to: [USER],
    deviceIds: [USER],
    tokens: ['t'],
    platform: 'ios',
    title: 'é'.repeat(250),
    subtitle: 's',
    body: 'b'.repeat(2000),
    image: 'https://a.example/'.padEnd(2048, 'i'),
    icon: 'https://a.example/i.png',
    url: 'app://open',
    badge: 2 ** 31 - 1,
    sound: false,
    channel: 'c'.repeat(200),
    category: 'c',
    group: 'g',
    collapseId: '😀'.repeat(64),
    priority: 'normal',
    ttl: 0,
    silent: false,
    data: { text: 'x', number: 1, deep: { list: [null, true] } },
  };
  expect(detailsOf(full)).toBeUndefined();
});

describe('a message is refused with 422', () => {
  const ok = { to: USER, title: 'Hi' };
  const circular: Record<string, unknown> = {};
  circular.self = circular;
  test.each<[string, unknown, string[]]>([
    ['when it is no object', 'Hi', ['message']],
    ['when it is missing', undefined, ['message']],
    ['when it is a list', [ok], ['message']],
    ['without anybody to send it to', { title: 'Hi' }, ['to']],
    ['without title and body', { to: USER }, ['title']],
    ['with empty title and body', { to: USER, title: '', body: '' }, ['title']],
    ['when it is silent without data', { to: USER, silent: true, title: 'Hi' }, ['data']],
    ['with data only, not silent', { to: USER, data: {} }, ['title']],
    ['with an unknown field', { ...ok, titel: 'Hi' }, ['titel']],
    ['with a malformed user id', { ...ok, to: 'ann' }, ['to']],
    ['with a malformed user id in a list', { ...ok, to: [USER, 'ann'] }, ['to.1']],
    ['with an upper-case id', { ...ok, to: USER.toUpperCase() }, ['to']],
    ['with a malformed device id', { ...ok, deviceIds: [USER, 5] }, ['deviceIds.1']],
    ['with a token for a simulated device', { ...ok, tokens: ['a', 'sim_1'] }, ['tokens.1']],
    ['with an empty token', { ...ok, tokens: [''] }, ['tokens.0']],
    ['with a web token that is no subscription', { ...ok, tokens: ['a'], platform: 'web' }, ['tokens.0']],
    ['with another platform', { ...ok, platform: 'symbian' }, ['platform']],
    ['with too many users', { ...ok, to: Array(100_001).fill(USER) }, ['to']],
    ['with too many devices', { ...ok, deviceIds: Array(100_001).fill(USER) }, ['deviceIds']],
    ['with too many tokens', { ...ok, tokens: Array(100_001).fill('t') }, ['tokens']],
    ['with a title too long', { ...ok, title: 'x'.repeat(251) }, ['title']],
    ['with a body too long', { ...ok, body: 'x'.repeat(2001) }, ['body']],
    ['with NUL in the title', { ...ok, title: 'a\0b' }, ['title']],
    ['with half a character in the body', { ...ok, body: '\udc00' }, ['body']],
    ['with an http image', { ...ok, image: 'http://a.example/i.png' }, ['image']],
    ['with an image URL too long', { ...ok, image: 'https://a.example/'.padEnd(2049, 'i') }, ['image']],
    ['with a url too long', { ...ok, url: 'u'.repeat(2049) }, ['url']],
    ['with a channel name too long', { ...ok, channel: 'c'.repeat(201) }, ['channel']],
    ['with an icon that is no URL', { ...ok, icon: 'icon' }, ['icon']],
    ['with an empty url', { ...ok, url: '' }, ['url']],
    ['with a negative badge', { ...ok, badge: -1 }, ['badge']],
    ['with a badge that is no 32-bit integer', { ...ok, badge: 2 ** 31 }, ['badge']],
    ['with a ttl that is no 32-bit integer', { ...ok, ttl: 2 ** 31 }, ['ttl']],
    ['with a badge in parts', { ...ok, badge: 1.5 }, ['badge']],
    ['with a badge as text', { ...ok, badge: '1' }, ['badge']],
    ['with sound switched on', { ...ok, sound: true }, ['sound']],
    ['with an empty sound', { ...ok, sound: '' }, ['sound']],
    ['with a collapseId too long', { ...ok, collapseId: 'x'.repeat(65) }, ['collapseId']],
    ['with another priority', { ...ok, priority: 'urgent' }, ['priority']],
    ['with an endless ttl', { ...ok, ttl: Infinity }, ['ttl']],
    ['with silent as text', { ...ok, silent: 'true' }, ['silent']],
    ['with a list as data', { ...ok, data: [] }, ['data']],
    ['with null as data', { ...ok, data: null }, ['data']],
    ['with a date as data', { ...ok, data: new Date(0) }, ['data']],
    ['with data in a circle', { ...ok, data: circular }, ['data']],
    ['with a bigint in its data', { ...ok, data: { n: 1n } }, ['data']],
    ['with NaN in its data', { ...ok, data: { n: Number.NaN } }, ['data']],
    ['with NUL deep in its data', { ...ok, data: { a: [{ b: '\0' }] } }, ['data']],
    ['with NUL in a name in its data', { ...ok, data: { 'a\0': 1 } }, ['data']],
    ['with data of more than 4 KB', { ...ok, data: { text: 'x'.repeat(4090) } }, ['data']],
    [
      'with texts and data that are too much together',
      { ...ok, body: 'x'.repeat(2000), data: { text: 'x'.repeat(2090) } },
      ['data'],
    ],
    ['with texts of more than 4 KB', { ...ok, body: '漢'.repeat(1400) }, ['body']],
  ])('%s', (_, message, fields) => {
    expect(Object.keys((detailsOf(message) as object | undefined) ?? {})).toEqual(fields);
  });
});

test.each<[string, object, object]>([
  [
    'texts',
    { title: 'Hi', body: '漢'.repeat(1400) },
    { body: 'Texts and data have 4202 bytes together; providers accept at most 4096' },
  ],
  [
    'data',
    { title: 'Hi', data: { text: 'x'.repeat(4090) } },
    { data: 'Must be at most 4096 bytes as JSON, but has 4101' },
  ],
])('%s over the limit of every provider are refused with their size', (_, message, details) => {
  expect(detailsOf({ to: USER, ...message })).toEqual(details);
});

test('any input is either a message or a 422 that names a field', () => {
  const names = [
    'to',
    'deviceIds',
    'tokens',
    'platform',
    'title',
    'body',
    'url',
    'sound',
    'silent',
    'data',
    'badge',
    'x',
  ];
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withNullPrototype: true,
    withMap: true,
    withSparseArray: true,
  });
  const plausible = fc.record(
    {
      to: fc.oneof(fc.constant(USER), anything),
      title: fc.oneof(fc.string({ unit: anyCharacter }), anything),
      data: fc.oneof(fc.dictionary(fc.string({ unit: anyCharacter }), anything), anything),
      silent: fc.boolean(),
      tokens: fc.array(fc.string({ unit: anyCharacter })),
      url: fc.string(),
    },
    { requiredKeys: [] },
  );
  const odd = fc.dictionary(fc.oneof(fc.constantFrom(...names), fc.string()), anything);
  fc.assert(
    fc.property(fc.oneof(anything, plausible, odd), (input) => {
      const details = detailsOf(input);
      if (details !== undefined) {
        expect(Object.keys(details as object).length).toBeGreaterThan(0);
        return;
      }
      const { content, given } = read(input);
      // Every accepted message can be stored.
      expect(JSON.stringify([content, given]).replaceAll('\\\\', '')).not.toMatch(/\\u0000|\\ud[89a-f]/);
    }),
    { numRuns: 1000 },
  );
});
