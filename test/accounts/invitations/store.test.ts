import { afterAll, beforeEach, expect, test } from 'vitest';
import {
  createInvitationStore,
  INVITATION_RETENTION,
  type InvitationTable,
  invitationColumns,
} from '../../../src/accounts/invitations/store.ts';
import { openDatabase } from '../../../src/platform/data/postgres/database.ts';
import { pgTable } from '../../../src/platform/data/postgres/drizzle.ts';
import { createLogger } from '../../../src/platform/observability/log.ts';
import { createRetentionSweep } from '../../../src/platform/work/leased-work/sweeps.ts';
import { startTestApp } from '../../support/app.ts';

/** Invitations to clubs: limited and listed by inviter; a pending one for each address and club. */
const TABLE: InvitationTable<{ club: string; email: string }> = {
  name: 'club_invitations',
  content: ['club', 'email'],
  scope: 'invited_by',
  uniqueBy: ['club', 'email'],
};
const { env } = await startTestApp({ resources: [] });
const database = openDatabase(env.DATABASE_URL!, 'test', createLogger('silent', 'test'));
afterAll(() => database.close());
const run = (text: string, values: unknown[] = []) => database.write({ text, values });
await run(`
  create table club_invitations (
    id text primary key, club text not null, email text not null, invited_by text not null, token_hash text unique,
    created_at timestamptz(3) not null default now(), expires_at timestamptz(3) not null, accepted_at timestamptz(3), accepted_by text
  )`);
await run('create unique index on club_invitations (club, email) where accepted_at is null');
const store = createInvitationStore(database, TABLE);

const chess = { club: 'chess', email: 'guest@example.com' };
const sudoku = { club: 'sudoku', email: 'guest@example.com' };
const create = (content = chess, invitedBy = 'ann') => store.create(content, { invitedBy, days: 7 }, database);
const expire = (id: string, days = 0) =>
  run(`update club_invitations set expires_at = now() - interval '1 second' - $2 * interval '1 day' where id = $1`, [
    id,
    days,
  ]);
beforeEach(() => run('truncate club_invitations'));

test('an address has one pending invitation for the same, and a new one replaces an expired one', async () => {
  const first = await create();
  expect(first).toMatchObject({ ...chess, invitedBy: 'ann', status: 'pending', acceptedAt: null });
  expect(await store.isPending(chess)).toBe(true);
  expect(await create(chess, 'ben')).toBeUndefined();
  expect(await create(sudoku)).toBeDefined();
  await expire(first!.id);
  expect(await store.isPending(chess)).toBe(false);
  const second = await create(chess, 'ben');
  expect(second!.id).not.toBe(first!.id);
  expect(await store.find(first!.id)).toBeUndefined();
});

test('only pending invitations of the scope count', async () => {
  const [accepted, expired] = [await create(), await create(sudoku)];
  expect(await store.countPending('ann')).toBe(2);
  await store.issue(accepted!.id, 'token');
  await store.accept(accepted!.id, 'token', 'guest', database);
  await expire(expired!.id);
  expect(await store.countPending('ann')).toBe(0);
});

test('the token works until a new one is issued or the invitation is renewed, and is accepted once', async () => {
  const { id } = (await create())!;
  expect(await store.issue(id, 'first')).toBe(true);
  expect(await store.issue(id, 'second')).toBe(true);
  expect(await store.findByToken('first')).toBeUndefined();
  expect(await store.findByToken('second')).toMatchObject({ id });
  expect(await store.renew({ id, scope: 'ann', invitedBy: 'ben' }, 7, database)).toMatchObject({ invitedBy: 'ben' });
  expect(await store.findByToken('second')).toBeUndefined();
  await store.issue(id, 'third');
  expect(await store.accept(id, 'second', 'guest', database)).toBe(false);
  const accepts = await Promise.all(['guest', 'guest'].map((user) => store.accept(id, 'third', user, database)));
  expect(accepts.filter(Boolean)).toHaveLength(1);
  expect(await store.issue(id, 'fourth')).toBe(false);
  expect(await store.find(id)).toBeUndefined();
});

test('an invitation of another scope is not found, renewed or removed', async () => {
  const { id } = (await create())!;
  expect(await store.find(id, 'ben')).toBeUndefined();
  expect(await store.renew({ id, scope: 'ben' }, 7, database)).toBeUndefined();
  expect(await store.remove(id, 'ben')).toBeUndefined();
  expect(await store.renew({ id, scope: undefined }, 7, database)).toMatchObject({ invitedBy: 'ann' });
  expect(await store.remove(id, undefined)).toMatchObject({ id });
});

test('the list is in pages, newest first, by scope and status', async () => {
  const ids: string[] = [];
  for (const [club, by] of ['ann', 'ben', 'ann'].entries())
    ids.push((await create({ ...chess, club: `${club}` }, by))!.id);
  await expire(ids[0]!);
  const list = async (...args: Parameters<typeof store.list>) => {
    const { page, next } = await store.list(...args);
    return { ids: page.map(({ id }) => ids.indexOf(id)), next: next && ids.indexOf(next) };
  };
  expect(await list(undefined, { limit: 2 })).toEqual({ ids: [2, 1], next: 1 });
  expect(await list(undefined, { limit: 2, after: ids[1]! })).toEqual({ ids: [0], next: null });
  expect(await list('ann', { limit: 5 })).toEqual({ ids: [2, 0], next: null });
  expect(await list('ann', { limit: 5, status: 'expired' })).toEqual({ ids: [0], next: null });
});

test('the pending invitations of inviters end', async () => {
  const { id } = (await create())!;
  await store.issue(id, 'token');
  await store.accept(id, 'token', 'guest', database);
  await create(sudoku);
  await store.removeOfInviters(['ann'], database);
  expect((await store.list(undefined, { limit: 5 })).page).toMatchObject([{ id, status: 'accepted' }]);
});

test('invitations stay in the list for a month after they have expired', async () => {
  const [old, recent] = [(await create())!, (await create(sudoku))!];
  await expire(old.id, 31);
  await expire(recent.id, 29);
  const table = pgTable(TABLE.name, invitationColumns());
  const removals = [{ table, keep: INVITATION_RETENTION }];
  expect(await createRetentionSweep(database, { name: 'old invitations to clubs', removals }).run()).toBe(1);
  expect((await store.list(undefined, { limit: 5 })).page).toMatchObject([{ id: recent.id, status: 'expired' }]);
});
