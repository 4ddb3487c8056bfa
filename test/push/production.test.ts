import { expect, test } from 'vitest';
import { defineUser } from '../../src/index.ts';
import { createPush } from '../../src/push/index.ts';
import { startTestApp } from '../support/app.ts';
import { openPlatform } from './platform.ts';

// An app without roles creates the tables; the production platform uses the same database.
const { env } = await startTestApp({ resources: [defineUser()] }, { roles: [] });
const production = {
  ...env,
  NODE_ENV: 'production',
  APP_URL: 'https://api.example.com',
  SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
};

test('in production a push that no transport accepts fails for every device, and nothing is captured', async () => {
  const platform = await openPlatform(production);
  const push = createPush(platform, []);
  const events: unknown[] = [];
  platform.events.on('push.failed', (payload) => events.push(payload));
  const worker = await push.parts.workers!['push-worker']!();
  try {
    const result = await push.sender.send({ tokens: ['one', 'two'], title: 'Hi' });
    const failed = { device: null, ok: false, error: 'No push transport accepts this device' };
    expect(result).toEqual({ id: result.id, status: 'failed', devices: 2, results: [failed, failed] });
    expect(events).toEqual([{ id: result.id, status: 'failed', devices: 2 }]);
    expect(await push.captured.pushes()).toEqual([]);
  } finally {
    await worker.stop();
    await platform.close();
  }
});

test('while Redis is down a send is stored and queued within its wait time, and sent once Redis is available again', async () => {
  const away = await openPlatform({ ...env, REDIS_URL: 'redis://127.0.0.1:1' }, { waitMs: 400 });
  const push = createPush(away, []);
  const ids: string[] = [];
  try {
    const started = performance.now();
    const result = await push.sender.send({ tokens: ['one'], title: 'Hi' });
    expect(result).toMatchObject({ status: 'queued', devices: 1 });
    const { id } = await push.sender.enqueue({ tokens: ['two'], title: 'Hi' });
    ids.push(result.id, id);
    expect(performance.now() - started).toBeLessThan(8000);
    await away.database.write({ text: `update push_chunks set due_at = now() - interval '1 minute'`, values: [] });
  } finally {
    await away.close();
  }
  const back = await openPlatform(env);
  const other = createPush(back, []);
  const worker = await other.parts.workers!['push-worker']!();
  try {
    await other.parts.sweeps!.find((sweep) => sweep.name === 'push jobs')!.run();
    await expect.poll(async () => (await other.captured.pushes()).map((push) => push.id).sort()).toEqual(ids.sort());
  } finally {
    await worker.stop();
    await back.close();
  }
});
