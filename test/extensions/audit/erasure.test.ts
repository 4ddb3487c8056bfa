import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import type { AuditApi } from '../../../src/extensions/audit/index.ts';
import { audit, defineResource, defineUser, f, privacy, softDelete } from '../../../src/index.ts';
import { type Person, startTestApp } from '../../support/app.ts';

const open = { list: 'public', read: 'public', create: 'authenticated', update: 'owner', delete: 'owner' } as const;
const author = f.ref('user').owner();
const place = f.object({ phone: f.string(), floor: f.string() });
const { app, person, call, env } = await startTestApp(
  {
    resources: [
      defineUser({ fields: { email: f.email().required().unique() }, audit: true }),
      defineResource('note', {
        fields: { title: f.string(), count: f.integer(), author },
        policies: open,
        audit: true,
        softDelete: true,
      }),
      defineResource('card', {
        fields: { title: f.string(), place, author },
        policies: open,
        audit: true,
        onOwnerDelete: 'anonymize',
      }),
      defineResource('bill', {
        fields: { title: f.string(), author },
        policies: open,
        audit: true,
        onOwnerDelete: 'keep',
      }),
    ],
    extensions: [audit(), privacy(), softDelete()],
  },
  { roles: 'all' },
);
const trail = (app as unknown as { audit: AuditApi }).audit;
const root = await person('Root', ['admin']);
const database = new Client({ connectionString: env.DATABASE_URL! });
await database.connect();
afterAll(() => database.end());

const make = async (who: Person, path: string, values: object): Promise<string> =>
  (await who.call('POST', `/api/${path}`, values)).body.data.id;
const entries = async (record: string) => (await root.call('GET', `/api/admin/audit?record=${record}`)).body.data;
/** Returns the changes in the trail by action, once they are written. */
async function changesByAction(record: string, ...actions: string[]) {
  const found = await vi.waitUntil(
    async () => {
      const all = await entries(record);
      return actions.every((action) => all.some((one: { action: string }) => one.action === action)) && all;
    },
    { timeout: 60_000 },
  );
  return Object.fromEntries(found.map((one: { action: string; changes: unknown }) => [one.action, one.changes]));
}
async function erase(who: Person): Promise<void> {
  expect((await who.call('POST', '/api/auth/me/erase', { password: 'correct horse battery' })).status).toBe(202);
  const finished = `select 1 from privacy_erasures where user_id = $1 and status = 'finished'`;
  await vi.waitUntil(async () => (await database.query(finished, [who.id])).rows.length > 0, { timeout: 60_000 });
}
const stored = async () => {
  const text =
    "select (select json_agg(e)::text from audit_entries e) || (select coalesce(json_agg(v)::text, '') from audit_values v) as all";
  return (await database.query(text)).rows[0].all as string;
};
const changed = { changed: true };

test('an erasure removes the same values from the trail as from the records, and the chain stays valid', async () => {
  const ann = await person('Ann');
  const [deletedUser, live] = [
    await make(ann, 'notes', { title: 'velvet gone', count: 7 }),
    await make(ann, 'notes', { title: 'velvet live' }),
  ];
  await ann.call('PATCH', `/api/notes/${deletedUser}`, { title: 'velvet again' });
  await ann.call('DELETE', `/api/notes/${deletedUser}`);
  const card = await make(ann, 'cards', {
    title: 'plain card',
    place: { phone: '0123456789', floor: 'velvet floor' },
  });
  const bill = await make(ann, 'bills', { title: 'velvet bill' });
  expect(await changesByAction(deletedUser, 'created', 'updated', 'deleted')).toMatchObject({
    created: { title: { to: 'velvet gone' }, count: { to: 7 } },
    updated: { title: { from: 'velvet gone', to: 'velvet again' } },
    deleted: { title: { from: 'velvet again' } },
  });
  expect((await changesByAction(card, 'created')).created.place).toEqual({
    to: { phone: '0***', floor: 'velvet floor' },
  });
  await changesByAction(bill, 'created');
  expect((await trail.verify()).broken).toBeUndefined();

  await erase(ann);
  const note = { title: changed, count: changed, author: changed };
  expect(await changesByAction(deletedUser, 'deleted')).toEqual({
    created: note,
    updated: { title: changed },
    deleted: note,
  });
  expect(await changesByAction(live, 'deleted')).toEqual({
    created: { title: changed, author: changed },
    deleted: { title: changed, author: changed },
  });
  const anonymized = await changesByAction(card, 'updated');
  expect(anonymized.created).toEqual({ title: { to: 'plain card' }, place: changed, author: { to: ann.id } });
  expect((await changesByAction(bill, 'created')).created.title).toEqual({ to: 'velvet bill' });
  expect((await stored()).replaceAll('velvet bill', '')).not.toMatch(/velvet/);
  expect(await trail.verify()).toMatchObject({ broken: undefined, guarded: true });
});

test('entries of other users keep their values, and a manipulated value is detected', async () => {
  const [bob, cat] = [await person('Bob'), await person('Cat')];
  const [kept, removed] = [await make(bob, 'notes', { title: 'silk' }), await make(cat, 'notes', { title: 'cotton' })];
  await changesByAction(kept, 'created');
  await changesByAction(removed, 'created');
  await erase(cat);
  expect((await changesByAction(kept, 'created')).created.title).toEqual({ to: 'silk' });
  const { rows } = await database.query(
    `update audit_values set values_by_field = jsonb_set(values_by_field, '{title,to}', '"forged"') where values_by_field::text like '%silk%' returning entry_id::int`,
  );
  expect((await trail.verify()).broken).toEqual({ id: rows[0].entry_id, fault: 'changed' });
  await database.query(
    `update audit_values set values_by_field = jsonb_set(values_by_field, '{title,to}', '"silk"') where entry_id = $1`,
    [rows[0].entry_id],
  );
});

test('an erasure removes e-mails to former addresses of the user, and no others', async () => {
  const [dan, eve] = [await person('Dan'), await person('Eve')];
  for (const { email } of [dan, eve]) await call('POST', '/api/auth/password/forgot', { email });
  const to = async (...addresses: string[]) =>
    (await database.query('select recipient from mails where recipient = any($1)', [addresses])).rows.length;
  await vi.waitFor(async () => expect(await to(dan.email, eve.email)).toBe(2), { timeout: 60_000 });
  await app.service('user').update(dan.id, { email: 'dan-next@people.example.com' });
  await app.service('user').update(dan.id, { email: 'dan-last@people.example.com' });
  // The address is free again, and another user registers with it.
  const body = { name: 'Fay', email: dan.email, password: 'correct horse battery' };
  expect((await call('POST', '/api/auth/register', body)).status).toBe(201);
  await vi.waitFor(async () => expect((await database.query('select 1 from outbox')).rows).toEqual([]), {
    timeout: 60_000,
  });
  expect(await to(dan.email, eve.email)).toBe(2);
  await erase(dan);
  expect([await to(dan.email), await to(eve.email)]).toEqual([0, 1]);
});
