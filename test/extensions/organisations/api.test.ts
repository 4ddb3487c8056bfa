import { beforeAll, describe, expect, test } from 'vitest';
import { defineResource, defineUser, f, type OrganisationsApi, organisations, tenant } from '../../../src/index.ts';
import { type Person, startTestApp } from '../../support/app.ts';

let api: OrganisationsApi;
const seen: (string | undefined)[] = [];

const invite = defineResource('invite', {
  fields: { guest: f.ref('user').required(), team: f.string().required(), fails: f.boolean() },
  policies: { create: 'authenticated' },
  hooks: {
    async beforeCreate({ guest, team, fails }, ctx) {
      await api.addMember(team, guest, 'admin', ctx);
      seen.push(await api.roleOf(guest, team, ctx));
      if (fails) throw new Error('the create fails after the user was added');
    },
  },
});
const ticket = defineResource('ticket', {
  fields: { organisation: tenant(), title: f.string() },
  policies: { update: 'authenticated' },
  routes: (route) => [
    route.get('/:id/role', { policy: 'authenticated' }, async (ctx) => ({
      role: (await api.roleOf(ctx.user!.id, ctx.doc.organisation, ctx)) ?? null,
    })),
    route.post('/:id/share', { policy: 'authenticated' }, async (ctx) => ({
      role: (await api.addMember(ctx.doc.organisation, (ctx.input as { user: string }).user, undefined, ctx)).role,
    })),
  ],
});
const running = await startTestApp({ resources: [defineUser(), invite, ticket], extensions: [organisations()] });
const { app, person } = running;
api = (app as typeof app & { organisations: OrganisationsApi }).organisations;

let owner: Person;
let guest: Person;
let team: string;

beforeAll(async () => {
  owner = await person('owner');
});

async function start(): Promise<void> {
  guest = await person('guest');
  team = (await api.create({ name: 'Team' }, owner.id)).id;
}

async function memberIds(): Promise<string[]> {
  const ids: string[] = [];
  for await (const { user } of api.members(team)) ids.push(user);
  return ids;
}

describe('app.organisations', () => {
  test('tells the role of a member, and none for anyone else or for what is not an id', async () => {
    await start();
    expect(await api.roleOf(owner.id, team)).toBe('owner');
    expect(await api.roleOf(guest.id, team)).toBeUndefined();
    const { id } = await api.addMember(team, guest.id);
    expect(await api.roleOf(guest.id, team)).toBe('member');
    expect((await api.changeRole(team, id, 'admin')).role).toBe('admin');
    expect(await api.roleOf(guest.id, team)).toBe('admin');
    expect(await memberIds()).toEqual([owner.id, guest.id]);
    await api.removeMember(team, id);
    expect(await api.roleOf(guest.id, team)).toBeUndefined();
    for (const bad of ['', 'x', "' or true", '0'.repeat(24)]) {
      expect(await api.roleOf(bad, team)).toBeUndefined();
      expect(await api.roleOf(owner.id, bad)).toBeUndefined();
    }
  });

  test('forgets the members of a deleted organisation at once', async () => {
    await start();
    await api.delete(team);
    expect(await api.roleOf(owner.id, team)).toBeUndefined();
    expect(await memberIds()).toEqual([]);
  });

  test('changes members in the transaction of the caller: together with it, or not at all', async () => {
    await start();
    const failure = new Error('the transaction fails');
    const add = (fails: boolean) =>
      app.transaction(async (tx) => {
        const created = await api.create({ name: 'Inside' }, guest.id, tx);
        await api.addMember(team, guest.id, 'admin', tx);
        const roles = [await api.roleOf(guest.id, team, tx), await api.roleOf(guest.id, created.id, tx)];
        if (fails) throw failure;
        return roles;
      });
    await expect(add(true)).rejects.toBe(failure);
    expect(await api.roleOf(guest.id, team)).toBeUndefined();
    expect(await add(false)).toEqual(['admin', 'owner']);
    expect(await api.roleOf(guest.id, team)).toBe('admin');
  });

  test('refuses a change inside a transaction that does not pass it', async () => {
    await start();
    const forgotten = app.transaction(() => api.addMember(team, guest.id));
    await expect(forgotten).rejects.toThrow('pass its tx or ctx as the last argument');
    expect(await api.roleOf(guest.id, team)).toBeUndefined();
  });

  test('works in a before hook, and in the handlers of routes', async () => {
    await start();
    const create = (fails: boolean) => owner.call('POST', '/api/invites', { guest: guest.id, team, fails });
    expect((await create(true)).status).toBe(500);
    expect(seen.at(-1)).toBe('admin');
    expect(await api.roleOf(guest.id, team)).toBeUndefined();
    expect((await create(false)).status).toBe(201);
    expect(await api.roleOf(guest.id, team)).toBe('admin');

    const { id } = (await owner.call('POST', '/api/tickets', { title: 't', organisation: team })).body.data;
    expect((await guest.call('GET', `/api/tickets/${id}/role`)).body.data).toEqual({ role: 'admin' });
    const third = await person('third');
    const shared = await guest.call('POST', `/api/tickets/${id}/share`, { user: third.id });
    expect(shared.body.data).toEqual({ role: 'member' });
  });

  test('refuses users that do not exist, unknown roles and the removal of the last owner', async () => {
    await start();
    for (const user of ['x', '0'.repeat(24)])
      await expect(api.addMember(team, user)).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
    await expect(api.addMember(team, guest.id, 'boss')).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
    for await (const { id } of api.members(team))
      await expect(api.removeMember(team, id)).rejects.toMatchObject({ code: 'CONFLICT' });
  });
});
