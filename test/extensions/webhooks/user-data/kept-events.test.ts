import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import type { WebhookPublisher } from '../../../../src/extensions/webhooks/engine/fanout/publish.ts';
import { createApp, defineResource, defineUser, f, privacy, webhooks } from '../../../../src/index.ts';
import { startReceiver } from '../../../fakes/receiver.ts';
import { startTestApp } from '../../../support/app.ts';
import { generateKey, getKeyId } from '../../../support/database/encrypted-patients.ts';

const owner = f.ref('user').owner();
const letter = defineResource('letter', {
  onOwnerDelete: 'anonymize',
  fields: { title: f.string(), phone: f.string().pii(), writer: owner },
  policies: { read: 'authenticated', create: 'authenticated', delete: 'owner' },
});
const diary = defineResource('diary', {
  path: '/diaries',
  onOwnerDelete: 'delete',
  fields: { text: f.string().pii(), writer: owner },
  policies: { read: 'authenticated', create: 'authenticated', delete: 'owner' },
});
let gate: Promise<void> | undefined;
let blocked = 0;
const card = defineResource('card', {
  onOwnerDelete: 'anonymize',
  fields: { phone: f.string().pii(), writer: owner },
  policies: {
    create: 'authenticated',
    async read() {
      if (gate !== undefined) blocked++;
      await gate;
      return true;
    },
  },
});
const patient = defineResource('patient', {
  fields: { diagnosis: f.text().encrypted(), doctor: owner },
  policies: { read: 'authenticated', create: 'authenticated' },
});
const [old, next] = [generateKey(), generateKey()];
const made = {
  resources: [defineUser(), letter, diary, patient, card],
  extensions: [
    webhooks({
      keepEventsDays: 7,
      pollMs: 50,
      events: { 'number.drawn': { schema: z.object({ number: z.number() }) } },
    }),
    privacy(),
  ],
} as const;
const { app, person, env } = await startTestApp(made, { roles: 'all', env: () => ({ SVC_ENCRYPTION_KEYS: old }) });
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
afterAll(() => client.end());
const { publish } = (app as unknown as { webhooks: WebhookPublisher }).webhooks;
const until = (condition: () => Promise<boolean>) => vi.waitUntil(condition, { timeout: 60_000, interval: 25 });
const handled = () => until(async () => (await client.query('select from outbox')).rowCount === 0);
const everything = async () => JSON.stringify((await client.query('select * from webhook_event_log')).rows);

test('an erasure removes the personal values of a user from kept events, and leaves those of other users', async () => {
  const [ann, bob] = [await person('Ann'), await person('Bob')];
  for (const [who, word] of [
    [ann, 'hers'],
    [bob, 'his'],
  ] as const) {
    await who.call('POST', '/api/letters', { title: `open ${word}`, phone: `phone ${word}` });
    const { body } = await who.call('POST', '/api/letters', { title: 'x', phone: `gone ${word}` });
    await who.call('DELETE', `/api/letters/${body.data.id}`);
    await who.call('POST', '/api/diaries', { text: `diary ${word}` });
    await who.call('POST', '/api/patients', { diagnosis: `flu ${word}` });
    await publish('number.drawn', { number: word.length }, { owner: who.id });
  }
  await handled();
  expect(await everything()).toContain('phone hers');
  const encryptedOf = async (id: string) =>
    (await client.query('select from webhook_event_log where owner_id = $1 and encrypted_record is not null', [id]))
      .rowCount;
  expect(await encryptedOf(ann.id)).toBe(1);
  const { status } = await ann.call('POST', '/api/auth/me/erase', { password: 'correct horse battery' });
  expect(status).toBe(202);
  await until(async () => (await client.query('select from users where id = $1', [ann.id])).rowCount === 0);
  await handled();
  const kept = await everything();
  for (const word of ['phone hers', 'gone hers', 'diary hers', ann.email]) expect(kept).not.toContain(word);
  for (const word of ['open hers', 'phone his', 'gone his', 'diary his', bob.email]) expect(kept).toContain(word);
  expect([await encryptedOf(ann.id), await encryptedOf(bob.id)]).toEqual([0, 1]);
  // Her letters stay, and no longer name her.
  const letters = await client.query(`select owner_id, record from webhook_event_log where resource = 'letter'`);
  expect(JSON.stringify(letters.rows)).not.toContain(ann.id);
  const published = `select owner_id from webhook_event_log where name = 'number.drawn'`;
  expect((await client.query(published)).rows).toEqual([{ owner_id: bob.id }]);

  // What is left can be sent.
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const { body } = await bob.call('POST', '/api/webhooks', { url: receiver.url, events: ['letter.created'] });
  const begun = await bob.call('POST', `/api/webhooks/${body.data.id}/backfill`, { since: '2020-01-01' });
  await until(
    async () =>
      (await bob.call('GET', `/api/webhooks/${body.data.id}/backfills/${begun.body.data.id}`)).body.data.status ===
      'finished',
  );
  await receiver.received(1);
  expect(receiver.requests.map((request) => request.body).join()).not.toContain('phone hers');
});

test('an erasure also removes what a page of a backfill has read before', async () => {
  const [ann, bob] = [await person('Ann'), await person('Bob')];
  await ann.call('POST', '/api/cards', { phone: 'phone of Ann' });
  await handled();
  const { body } = await bob.call('POST', '/api/webhooks', { delivery: 'poll', events: ['card.created'] });
  const { promise, resolve } = Promise.withResolvers<void>();
  gate = promise;
  onTestFinished(() => resolve());
  const begun = await bob.call('POST', `/api/webhooks/${body.data.id}/backfill`, { since: '2020-01-01' });
  await until(async () => blocked > 0);
  expect((await ann.call('POST', '/api/auth/me/erase', { password: 'correct horse battery' })).status).toBe(202);
  const isGone = async () => (await client.query('select from users where id = $1', [ann.id])).rowCount === 0;
  const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%from webhook_backfills%for share%' and pid <> pg_backend_pid()`;
  await until(async () => (await isGone()) || (await client.query(waiting)).rowCount === 1);
  expect(await everything()).not.toContain('phone of Ann');
  gate = undefined;
  resolve();
  await until(isGone);
  const path = `/api/webhooks/${body.data.id}`;
  await until(async () => {
    const { data } = (await bob.call('GET', `${path}/backfills/${begun.body.data.id}`)).body;
    return data.status === 'finished';
  });
  expect((await bob.call('GET', `${path}/poll`)).body.data).toEqual([]);
  const deliveries = await client.query(
    'select body from webhook_deliveries union all select body from webhook_delivery_log',
  );
  expect(JSON.stringify(deliveries.rows)).not.toContain('phone of Ann');
});

test('a key rotation re-encrypts kept events', async () => {
  await app.close();
  const rotator = createApp(made, { ...env, SVC_ENCRYPTION_KEYS: `${next},${old}` });
  onTestFinished(() => rotator.close());
  await rotator.start({ roles: ['web'], port: 0 });
  const { left, undecryptable } = await rotator.encryption.rotate();
  expect([left, undecryptable]).toEqual([0, []]);
  const heads = await client.query(
    `select distinct split_part(encrypted_record, '.', 2) as id from webhook_event_log where encrypted_record is not null`,
  );
  expect(heads.rows).toEqual([{ id: getKeyId(next) }]);
});
