import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { DELIVERY_TABLES } from '../../../../src/extensions/webhooks/deliveries/deliveries-sql.ts';
import { encryptedDeliveryColumns } from '../../../../src/extensions/webhooks/deliveries/stored-body.ts';
import { createApp, defineResource, defineUser, f, privacy, webhooks } from '../../../../src/index.ts';
import { surveyEncryption } from '../../../../src/platform/data/crypto/rotation/survey.ts';
import { createTablePlace } from '../../../../src/platform/data/crypto/rotation/table-place.ts';
import { openDatabase } from '../../../../src/platform/data/postgres/database.ts';
import { createLogger } from '../../../../src/platform/observability/log.ts';
import { startReceiver } from '../../../fakes/receiver.ts';
import { createClient, startTestApp } from '../../../support/app.ts';
import { generateKey, getKeyId } from '../../../support/database/encrypted-patients.ts';
import { ALL_DELIVERIES, reopenDeliveries } from '../../../support/webhooks/deliveries.ts';

const PASSWORD = 'correct horse battery';
const patience = { timeout: 60_000, interval: 25 };

const patient = defineResource('patient', {
  fields: {
    name: f.string(),
    diagnosis: f.text().encrypted().pii(),
    code: f.string().encrypted().visibleTo('owner'),
    doctor: f.ref('user').owner(),
  },
  policies: { create: 'authenticated', read: ({ user, doc }) => doc.code === 'open' || doc.doctor === user?.id },
});
const visit = defineResource('visit', {
  fields: { at: f.string(), patient: f.ref('patient').populate() },
  policies: { create: 'authenticated', read: 'authenticated' },
});
const [old, next] = [generateKey(), generateKey()];
const made = {
  resources: [defineUser(), patient, visit],
  extensions: [webhooks({ retrySchedule: ['1h'], pollMs: 50 }), privacy()],
} as const;
const { app, person, env } = await startTestApp(made, { roles: 'all', env: () => ({ SVC_ENCRYPTION_KEYS: old }) });
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
afterAll(() => client.end());

async function receive() {
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  return receiver;
}
const bodies = async (endpoint: string) =>
  (await client.query(`select body, encrypted_body from ${ALL_DELIVERIES} d where endpoint_id = $1`, [endpoint])).rows;
const subscribe = async (who: { call: ReturnType<typeof createClient> }, url: string, events: string[]) =>
  (await who.call('POST', '/api/webhooks', { url, events })).body.data.id as string;

/** Resolves once the results of this many first attempts are stored. */
const attempted = (endpoint: string, count: number) =>
  vi.waitUntil(async () => {
    const { rowCount } = await client.query(
      `select from webhook_deliveries where endpoint_id = $1 and attempts = 1 and status = 'pending'`,
      [endpoint],
    );
    return rowCount === count;
  }, patience);

/** Returns every row of the delivery tables as text. */
async function everyText(): Promise<string> {
  const { rows } = await client.query(
    `select d::text as text from ${ALL_DELIVERIES} d union all select r::text from webhook_deleted_records r`,
  );
  return rows.map(({ text }) => text).join('\n');
}

test('a body with the value of an encrypted field is stored encrypted, shown decrypted in the log, and sent unchanged by every attempt', async () => {
  const [ann, receiver] = [await person('Ann'), await receive()];
  const id = await subscribe(ann, receiver.url, ['patient.*', 'visit.*']);
  receiver.answer(500, 500, 500, 204);
  const created = await ann.call('POST', '/api/patients', { name: 'plain', diagnosis: 'grippe', code: 'x' });
  await receiver.received(1);
  await ann.call('POST', '/api/visits', { at: 'noon', patient: created.body.data.id });
  await receiver.received(2);
  await ann.call('POST', '/api/visits', { at: 'dusk' });
  await receiver.received(3);
  expect(receiver.requests.slice(0, 2).every(({ body }) => body.includes('grippe'))).toBe(true);
  expect(await everyText()).not.toContain('grippe');
  const stored = await bodies(id);
  expect(stored.filter(({ encrypted_body }) => encrypted_body?.startsWith(`v1.${getKeyId(old)}.`))).toHaveLength(2);
  // A body without such a value is stored as it is.
  expect(stored.filter(({ body }) => body.includes('dusk'))).toHaveLength(1);
  await attempted(id, 3);
  await client.query('update webhook_deliveries set next_attempt_at = now() where endpoint_id = $1', [id]);
  await receiver.received(6);
  const bySentAgain = (i: number) =>
    receiver.requests
      .slice(i, i + 3)
      .map(({ body }) => body)
      .sort();
  expect(bySentAgain(3)).toEqual(bySentAgain(0));
  const { body } = await ann.call('GET', `/api/webhooks/${id}/deliveries`);
  expect(body.data.map(({ payload }: { payload: string }) => payload).sort()).toEqual(bySentAgain(0));
});

test('a response that repeats an encrypted body is stored encrypted, and the log shows it to readers of the body', async () => {
  const [ann, receiver] = [await person('Ann'), await receive()];
  const id = await subscribe(ann, receiver.url, ['patient.*']);
  receiver.answer((request, res) => void res.writeHead(500).end(request.body));
  await ann.call('POST', '/api/patients', { name: 'plain', diagnosis: 'grippe', code: 'echo' });
  const log = async () => (await ann.call('GET', `/api/webhooks/${id}/deliveries`)).body.data;
  // An attempt counts from its start; its response is there once it has ended.
  const ended = (attempts: number) =>
    vi.waitUntil(async () => {
      const [delivery] = await log();
      return delivery?.attempts === attempts && delivery.status !== 'sending';
    }, patience);
  await ended(1);
  expect((await log())[0].response).toBe(receiver.requests[0]!.body);
  expect(await everyText()).not.toContain('grippe');

  // The same applies to a delivery that is sent because its owner requested it.
  const [{ id: delivery }] = await log();
  const retried = await ann.call('POST', `/api/webhooks/${id}/deliveries/${delivery}/retry`);
  expect([retried.status, retried.body.data.response]).toEqual([200, receiver.requests[0]!.body]);
  await ended(2);
  expect((await log())[0].response).toBe(receiver.requests[1]!.body);
  expect(await everyText()).not.toContain('grippe');

  await client.query(`update patients set code = null, doctor = null where name = 'plain'`);
  expect((await log())[0]).toMatchObject({ payload: null, response: null });
});

test('the value of an encrypted field that looks like an id is not among the mentions, also if its record is expanded', async () => {
  const [ann, receiver] = [await person('Ann'), await receive()];
  const endpoint = await subscribe(ann, receiver.url, ['patient.*', 'visit.*']);
  const diagnosis = 'abcdef0123456789abcdef01';
  const { id } = (await ann.call('POST', '/api/patients', { name: 'plain', diagnosis })).body.data;
  const visit = (await ann.call('POST', '/api/visits', { at: 'noon', patient: id })).body.data.id;
  const sent = await receiver.received(2);
  expect(sent.every(({ body }) => body.includes(diagnosis))).toBe(true);
  expect(await everyText()).not.toContain(diagnosis);
  const { rows } = await client.query(
    `select array(select unnest(mentions) order by 1) as mentions from ${ALL_DELIVERIES} d where endpoint_id = $1 order by type`,
    [endpoint],
  );
  expect(rows.map(({ mentions }) => mentions)).toEqual([[id, ann.id].sort(), [visit, id, ann.id].sort()]);
});

test('a survey of the keys counts a delivery that a retry moves from the log while the survey runs', async () => {
  const [ann, receiver] = [await person('Ann'), await receive()];
  const endpoint = await subscribe(ann, receiver.url, ['patient.*']);
  await ann.call('POST', '/api/patients', { name: 'moving', diagnosis: 'grippe' });
  const finished = 'select from webhook_delivery_log where endpoint_id = $1';
  await vi.waitUntil(async () => (await client.query(finished, [endpoint])).rowCount === 1, patience);
  const database = openDatabase(env.DATABASE_URL!, 'test', createLogger('silent', 'test'));
  onTestFinished(() => database.close());
  const [waiting, log] = DELIVERY_TABLES.map((name) => {
    const columns = encryptedDeliveryColumns.filter(({ table }) => table === name);
    return createTablePlace(database, columns);
  }) as [ReturnType<typeof createTablePlace>, ReturnType<typeof createTablePlace>];
  const countBodies = async (places: (typeof log)[]) => {
    const { counts } = await surveyEncryption(database, places, getKeyId(old));
    const ofBodies = [...counts.values()].flat().filter(({ name }) => name.endsWith('.encrypted_body'));
    return ofBodies.reduce((sum, { count }) => sum + count, 0);
  };
  const before = await countBodies([waiting, log]);
  const retried: typeof log = {
    ...log,
    async findRowRange() {
      const later = { next_attempt_at: `now() + interval '1 hour'` };
      expect(await reopenDeliveries(client, 'endpoint_id = $1', [endpoint], later)).toBe(1);
      return log.findRowRange();
    },
  };
  expect(await countBodies([waiting, retried])).toBe(before);
});

test('a deleted record that cannot be decrypted hides its own deliveries and delays no others', async () => {
  const [ann, receiver] = [await person('Ann'), await receive()];
  const id = await subscribe(ann, receiver.url, ['patient.*']);
  receiver.answer(500);
  const created = await ann.call('POST', '/api/patients', { name: 'broken', diagnosis: 'grippe' });
  await receiver.received(1);
  await app.service('patient').delete(created.body.data.id);
  await receiver.received(2);
  const { rowCount } = await client.query(
    `update webhook_deleted_records set encrypted_record = left(encrypted_record, -8) || 'AAAAAAAA' where record_id = $1`,
    [created.body.data.id],
  );
  expect(rowCount).toBe(1);
  await attempted(id, 2);
  receiver.answer(204);
  await client.query('update webhook_deliveries set next_attempt_at = now() where endpoint_id = $1', [id]);
  await ann.call('POST', '/api/patients', { name: 'whole', diagnosis: 'gout' });
  const log = async () => (await ann.call('GET', `/api/webhooks/${id}/deliveries`)).body.data ?? [];
  await vi.waitUntil(async () => {
    const ended: { status: string }[] = await log();
    return ended.length === 3 && ended.every(({ status }) => status === 'failed' || status === 'succeeded');
  }, patience);
  const [whole, ...broken] = await log();
  expect(whole).toMatchObject({ status: 'succeeded', payload: expect.stringContaining('gout') });
  for (const one of broken) expect(one).toMatchObject({ status: 'failed', payload: null, response: null });
  expect(receiver.requests).toHaveLength(3);
  await client.query('delete from webhook_deleted_records where record_id = $1', [created.body.data.id]);
});

test('a key rotation re-encrypts bodies, responses and deleted records with the newest key, and deliveries are sent as before', async () => {
  const [ann, receiver] = [await person('Ann'), await receive()];
  const id = await subscribe(ann, receiver.url, ['patient.*']);
  receiver.answer((request, res) => void res.writeHead(500).end(request.body));
  const created = await ann.call('POST', '/api/patients', { name: 'plain', diagnosis: 'grippe', code: 'y' });
  await receiver.received(1);
  await app.service('patient').delete(created.body.data.id);
  await receiver.received(2);
  await attempted(id, 2);
  expect(await everyText()).not.toContain('grippe');
  await app.close();

  const rotator = createApp(made, { ...env, SVC_ENCRYPTION_KEYS: `${next},${old}` });
  onTestFinished(() => rotator.close());
  await rotator.start({ roles: ['web'], port: 0 });
  const { left, undecryptable } = await rotator.encryption.rotate();
  expect([left, undecryptable]).toEqual([0, []]);
  await rotator.close();
  const heads = await client.query(
    `select distinct split_part(text, '.', 2) as id from (
       select unnest(array[encrypted_body, encrypted_response]) as text from ${ALL_DELIVERIES} d
       union all select encrypted_record from webhook_deleted_records) t
     where text is not null`,
  );
  expect(heads.rows).toEqual([{ id: getKeyId(next) }]);

  receiver.answer(204);
  await client.query('update webhook_deliveries set next_attempt_at = now() where endpoint_id = $1', [id]);
  const own = createApp(made, { ...env, SVC_ENCRYPTION_KEYS: next });
  onTestFinished(() => own.close());
  const { url } = await own.start({ port: 0 });
  await receiver.received(4);
  const types = receiver.requests.slice(2).map(({ body }) => JSON.parse(body));
  expect(types.map(({ type }) => type).sort()).toEqual(['patient.created', 'patient.deleted']);
  expect(types[0].data).toMatchObject({ diagnosis: 'grippe', code: 'y' });

  // Bob may read the record because of its encrypted value. Then Ann's account is erased, and her patients leave Bob's log.
  const register = async (name: string) => {
    const email = `${name}@encrypted.example.com`;
    const { body } = await createClient(url)('POST', '/api/auth/register', { name, email, password: PASSWORD });
    return createClient(url, body.data.token);
  };
  const [eve, bob, bobs] = [await register('Eve'), await register('Bob'), await receive()];
  const bobsId = await subscribe({ call: bob }, bobs.url, ['patient.*', 'visit.*']);
  const shared = await eve('POST', '/api/patients', { name: 'plain', diagnosis: 'gout', code: 'open' });
  await eve('POST', '/api/visits', { at: 'noon', patient: shared.body.data.id });
  await bob('POST', '/api/visits', { at: 'dusk' });
  await bobs.received(3);
  expect(await bodies(bobsId)).toHaveLength(3);
  await own.service('patient').delete(shared.body.data.id);
  await bobs.received(4);
  expect((await eve('POST', '/api/auth/me/erase', { password: PASSWORD })).status).toBe(202);
  await vi.waitUntil(async () => (await bodies(bobsId)).length === 1, patience);
  expect((await bodies(bobsId))[0].body).toContain('dusk');
  const kept = 'select from webhook_deleted_records where record_id = $1';
  await vi.waitUntil(async () => (await client.query(kept, [shared.body.data.id])).rowCount === 0, patience);
});
