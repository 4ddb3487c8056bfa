import { expect, test } from 'vitest';
import { readVapidCredentials } from '../../../../src/push/transports/web-push/vapid.ts';
import { vapid } from './local.ts';

const VARIABLES = {
  VAPID_PUBLIC_KEY: vapid.publicKey,
  VAPID_PRIVATE_KEY: vapid.privateKey,
  VAPID_SUBJECT: vapid.subject,
};

function read(changes: Record<string, string> = {}) {
  const faults: string[] = [];
  return { vapid: readVapidCredentials({ ...VARIABLES, ...changes }, (text) => faults.push(text)), faults };
}

test.each(['mailto:push@example.com', 'mailto:a%26b@example.xn--fiqs8s', 'https://example.com/contact'])(
  'accepted: a key pair and %s',
  (subject) => {
    expect(read({ VAPID_SUBJECT: subject })).toEqual({ vapid: { ...vapid, subject }, faults: [] });
  },
);

test.each<[string, Record<string, string>, RegExp[]]>([
  [
    'nothing',
    { VAPID_PUBLIC_KEY: '', VAPID_PRIVATE_KEY: '', VAPID_SUBJECT: '' },
    [/_PUBLIC_KEY/, /_PRIVATE_KEY/, /_SUBJECT/],
  ],
  [
    'the keys changed about',
    { VAPID_PUBLIC_KEY: vapid.privateKey, VAPID_PRIVATE_KEY: vapid.publicKey },
    [/_PUBLIC_KEY/, /_PRIVATE_KEY/],
  ],
  ['base64 instead of base64url', { VAPID_PRIVATE_KEY: `${vapid.privateKey}=` }, [/_PRIVATE_KEY/]],
  ['a key of another pair', { VAPID_PRIVATE_KEY: Buffer.alloc(32, 1).toString('base64url') }, [/are not a key pair/]],
  ['a key out of range', { VAPID_PRIVATE_KEY: Buffer.alloc(32).toString('base64url') }, [/are not a key pair/]],
])('refused: %s', (_, changes, faults) => {
  expect(read(changes).faults).toEqual(faults.map((fault) => expect.stringMatching(fault)));
});

test.each([
  'mailto:x@localhost',
  'mailto:',
  'push@example.com',
  'http://example.com',
  'https://localhost',
  'mailto:a@b@c.de',
  'mailto:push@example-.com',
  'mailto:push%@example.com',
])('the subject %s is refused, because push services refuse every message from such a sender', (subject) => {
  expect(read({ VAPID_SUBJECT: subject }).faults).toEqual([expect.stringMatching(/^VAPID_SUBJECT must be/)]);
});
