import { expect, test } from 'vitest';
import { createPush } from '../../src/push/index.ts';
import type { Transport } from '../../src/push/transport.ts';
import { generateVapidKeys } from '../support/vapid-keys.ts';
import { openPlatform } from './platform.ts';

const { publicKey, privateKey } = generateVapidKeys();
const VAPID = {
  VAPID_PUBLIC_KEY: publicKey,
  VAPID_PRIVATE_KEY: privateKey,
  VAPID_SUBJECT: 'mailto:push@example.com',
};
const transport = (name: string): Transport => ({
  name,
  send: async (_, devices) => devices.map(() => ({ ok: true })),
});

test.each([
  ['VAPID keys and the transport web-push', VAPID, 'web-push', ['/push/client.js', '/push/sw.js', '/push/key.js']],
  ['VAPID keys and no transport web-push', VAPID, 'other', []],
  ['a transport web-push of its own and no VAPID keys', {}, 'web-push', []],
])('an app with %s serves the right pages to browsers', async (_, variables, name, paths) => {
  const servers = { DATABASE_URL: process.env.TEST_DATABASE_URL!, REDIS_URL: process.env.TEST_REDIS_URL! };
  const platform = await openPlatform({ NODE_ENV: 'test', ...servers, ...variables });
  try {
    expect(createPush(platform, [transport(name)]).parts.pages!.map(({ path }) => path)).toEqual(paths);
  } finally {
    await platform.close();
  }
});
