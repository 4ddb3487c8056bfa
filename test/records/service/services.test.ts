import { expect, test } from 'vitest';
import { defineResource, defineUser, f, type ScopeFilter } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const member = defineResource('TeamMember', {
  timestamps: false,
  fields: { team: f.string().required().index(), person: f.ref('user').required().index() },
});
const board = defineResource('board', {
  fields: {
    team: f.string().required(),
    title: f.string().required(),
    budget: f.integer().visibleTo(async ({ service, user }) => (await service(member).count({ person: user!.id })) > 1),
    boards: f.integer().readOnly(),
  },
  policies: {
    create: 'authenticated',
    update: async ({ service, doc, user }) => (await service(member).count({ team: doc.team, person: user!.id })) > 0,
  },
  async scope({ service, user }): Promise<ScopeFilter> {
    const { data } = await service(member).list({ person: user?.id ?? null });
    return { team: data.map((one) => one.team) };
  },
  hooks: {
    async beforeCreate(values, { service }) {
      values.boards = (await service(board).count({ team: values.team })) + 1;
    },
  },
  routes: (route) => [
    route.post('/:id/copy', { policy: 'authenticated' }, ({ doc, transaction }) =>
      transaction((tx) => tx.service(board).create({ team: doc.team, title: `${doc.title} 2` })),
    ),
    route.get('/count', { policy: 'public' }, async ({ service }) => ({ count: await service(board).count() })),
  ],
});

const { app, person } = await startTestApp({ resources: [defineUser(), member, board] });

test('a declaration identifies its resource wherever services are available', async () => {
  const ann = await person('Ann');
  const ben = await person('Ben');
  for (const team of ['red', 'blue']) await app.service(member).create({ team, person: ann.id });
  await app.service(member).create({ team: 'red', person: ben.id });
  const { body } = await ann.call('POST', '/api/boards', { team: 'red', title: 'Plan', budget: 5 });
  expect(body.data).toMatchObject({ boards: 1, budget: 5 });
  const copied = await ben.call('POST', `/api/boards/${body.data.id}/copy`);
  expect(copied.body.data).toMatchObject({ title: 'Plan 2', boards: 2 });
  const changed = await ben.call('PATCH', `/api/boards/${body.data.id}`, { title: 'Plans' });
  expect([changed.status, changed.body.data.title]).toEqual([200, 'Plans']);
  expect(changed.body.data).not.toHaveProperty('budget');
  await app.service(board).create({ team: 'green', title: 'Out of reach' });
  expect((await ben.call('GET', '/api/boards')).body.meta.total).toBe(2);
  expect((await ben.call('GET', '/api/boards/count')).body.data).toEqual({ count: 3 });
});

test('a resource name can be written in any case style', async () => {
  const byName = app.service as (name: string) => { count(): Promise<number> };
  expect(await byName('TeamMember').count()).toBe(3);
  expect(await byName('team-member').count()).toBe(3);
  expect(await app.transaction((tx) => (tx.service as typeof byName)('team_member').count())).toBe(3);
});

test.each([
  ['a declaration that the app does not have', defineResource('absent', { fields: {} }), 'absent'],
  ['a name that the app does not have', 'absent', 'absent'],
  ['nothing', undefined, 'undefined'],
])('the error for %s names it and lists the resources', async (_what, given, namedResource) => {
  const message = `there is no resource "${namedResource}"; resources: user, team-member, board`;
  expect(() => app.service(given as never)).toThrow(message);
  await expect(app.transaction(async (tx) => tx.service(given as never))).rejects.toThrow(message);
});
