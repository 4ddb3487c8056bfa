import { Client } from 'pg';
import { Webhook } from 'standardwebhooks';
import { afterAll, expect, test, vi } from 'vitest';
import { createApp, defineResource, defineUser, f, verifyWebhook, webhooks } from '../../../../src/index.ts';
import { startReceiver } from '../../../fakes/receiver.ts';
import { type Person, startTestApp } from '../../../support/app.ts';

const note = defineResource('note', {
  fields: { text: f.text(), owner: f.ref('user').owner() },
  policies: { read: 'owner' },
});
const made = (options: object = {}) =>
  ({ resources: [defineUser(), note], extensions: [webhooks({ cleanMs: 100, ...options })] }) as const;
const { person, env, call } = await startTestApp(made(), { roles: 'all' });
const withoutGrace = createApp(made({ secretGraceHours: 0 }), env);
const { url: urlWithoutGrace } = await withoutGrace.start({ port: 0, roles: ['web'] });
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
const receiver = await startReceiver();
afterAll(async () => {
  await withoutGrace.close();
  await client.end();
  await receiver.close();
});

async function subscriber(name: string) {
  const who = await person(name);
  const { body } = await who.call('POST', '/api/webhooks', { url: receiver.url, events: ['note.created'] });
  return { who, id: body.data.id as string, secret: body.data.secret as string };
}
const rotate = async (who: Person, id: string) => {
  const { status, body } = await who.call('POST', `/api/webhooks/${id}/rotate-secret`);
  expect(status).toBe(200);
  return body.data.secret as string;
};
/** Returns the next message that arrives, for any endpoint. */
async function sent(who: Person) {
  const before = receiver.requests.length;
  await who.call('POST', '/api/notes', { text: 'x' });
  return (await receiver.received(before + 1))[before]!;
}
const row = async (id: string) => (await client.query('select * from webhook_endpoints where id = $1', [id])).rows[0];
const accepts = (secret: string, { headers, body }: Awaited<ReturnType<typeof sent>>) => {
  try {
    verifyWebhook(secret, headers, body);
    new Webhook(secret).verify(body, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
};

test('a rotation responds 200 with the new secret, only this once and uncached, and all secrets are stored encrypted', async () => {
  const { who, id, secret } = await subscriber('Ann');
  const shown = (await who.call('GET', `/api/webhooks/${id}`)).body.data;
  const { status, headers, body } = await who.call('POST', `/api/webhooks/${id}/rotate-secret`);
  expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(body.data).toEqual({
    ...shown,
    updatedAt: expect.any(String),
    secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
  });
  expect(body.data.secret).not.toBe(secret);
  expect((await who.call('GET', `/api/webhooks/${id}`)).body.data).toEqual({
    ...shown,
    updatedAt: body.data.updatedAt,
  });
  const stored = await row(id);
  expect([stored.secret, stored.previous_secret]).toEqual([
    expect.stringMatching(/^v1\./),
    expect.stringMatching(/^v1\./),
  ]);
  for (const one of [secret, body.data.secret]) expect(JSON.stringify(stored)).not.toContain(one.slice(6, 20));
});

test('a rotation responds 404 for another user’s, malformed or unknown endpoint, and 401 without a session', async () => {
  const { id } = await subscriber('Owner');
  const other = await person('Other');
  for (const path of [id, 'f'.repeat(24), 'nonsense']) {
    expect((await other.call('POST', `/api/webhooks/${path}/rotate-secret`)).status).toBe(404);
    expect((await call('POST', `/api/webhooks/${path}/rotate-secret`)).status).toBe(401);
  }
});

test('during the grace time messages have two signatures, the new one first, and afterwards one', async () => {
  const { who, id, secret } = await subscriber('Grace');
  const before = await sent(who);
  expect(before.headers['webhook-signature']).toMatch(/^v1,\S+$/);
  const next = await rotate(who, id);
  const during = await sent(who);
  const signatures = String(during.headers['webhook-signature']).split(' ');
  expect(signatures).toHaveLength(2);
  const withOnly = (signature: string) => ({
    ...during,
    headers: { ...during.headers, 'webhook-signature': signature },
  });
  expect(accepts(next, withOnly(signatures[0]!))).toBe(true);
  expect(accepts(secret, withOnly(signatures[1]!))).toBe(true);

  await client.query(
    `update webhook_endpoints set previous_secret_until = now() - make_interval(secs => 1) where id = $1`,
    [id],
  );
  const after = await sent(who);
  expect(after.headers['webhook-signature']).toMatch(/^v1,\S+$/);
  expect([accepts(next, after), accepts(secret, after)]).toEqual([true, false]);
});

test('the grace time is 24 hours', async () => {
  const { who, id } = await subscriber('Hours');
  await rotate(who, id);
  const left = (await row(id)).previous_secret_until - Date.now();
  expect(Math.abs(left - 24 * 3_600_000)).toBeLessThan(60_000);
});

test('after two rotations within the grace time all three secrets verify a message; after three rotations the first does not', async () => {
  const { who, id, secret } = await subscriber('Thrice');
  const secrets = [secret, await rotate(who, id), await rotate(who, id)];
  const message = await sent(who);
  expect(secrets.map((one) => accepts(one, message))).toEqual([true, true, true]);
  secrets.push(await rotate(who, id));
  const later = await sent(who);
  expect(secrets.map((one) => accepts(one, later))).toEqual([false, true, true, true]);
});

test('a rotation does not use a secret again whose grace time is over, and its ciphertext is removed', async () => {
  const { who, id, secret } = await subscriber('Over');
  const second = await rotate(who, id);
  await client.query(
    `update webhook_endpoints set previous_secret_until = now() - make_interval(secs => 1) where id = $1`,
    [id],
  );
  const third = await rotate(who, id);
  const message = await sent(who);
  expect([secret, second, third].map((one) => accepts(one, message))).toEqual([false, true, true]);
  await client.query(
    `update webhook_endpoints set previous_secret_until = now() - make_interval(secs => 1) where id = $1`,
    [id],
  );
  await vi.waitUntil(async () => (await row(id)).previous_secret === null, { timeout: 60_000, interval: 20 });
  expect(accepts(third, await sent(who))).toBe(true);
});

test('without a grace time the old secret is removed at once', async () => {
  const { who, id, secret } = await subscriber('None');
  const answer = await fetch(`${urlWithoutGrace}/api/webhooks/${id}/rotate-secret`, {
    method: 'POST',
    headers: { authorization: `Bearer ${who.token}` },
  });
  const next = ((await answer.json()) as { data: { secret: string } }).data.secret;
  expect(await row(id)).toMatchObject({ previous_secret: null, previous_secret_until: null, older_secret: null });
  const message = await sent(who);
  expect([accepts(next, message), accepts(secret, message)]).toEqual([true, false]);
});

test('after ten concurrent rotations the secret of one of them is in use, and at most the three newest are stored', async () => {
  const { who, id } = await subscriber('Ten');
  const secrets = await Promise.all(Array.from({ length: 10 }, () => rotate(who, id)));
  const message = await sent(who);
  expect(secrets.filter((one) => accepts(one, message))).toHaveLength(3);
});

test('deleting an endpoint removes all of its secrets', async () => {
  const { who, id } = await subscriber('Deleted');
  await rotate(who, id);
  await rotate(who, id);
  expect((await who.call('DELETE', `/api/webhooks/${id}`)).status).toBe(204);
  expect((await who.call('POST', `/api/webhooks/${id}/rotate-secret`)).status).toBe(404);
  const { rows } = await client.query(
    `select from webhook_endpoints where id = $1 and coalesce(secret, '') || coalesce(previous_secret, '') || coalesce(older_secret, '') <> ''`,
    [id],
  );
  expect(rows).toEqual([]);
});
