import { expect, test } from 'vitest';
import {
  defineResource,
  defineUser,
  f,
  type OrganisationsApi,
  organisations,
  softDelete,
  tenant,
} from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const project = defineResource('project', { fields: { organisation: tenant(), name: f.string().required() } });
const ticket = defineResource('ticket', {
  fields: {
    organisation: tenant(),
    project: f.ref('project', { onDelete: 'restrict' }),
    blockedBy: f.ref('ticket', { onDelete: 'restrict' }),
  },
});

test('the deletion of an organisation completes although its records refer to each other by references that restrict deletions', async () => {
  const { app, person } = await startTestApp(
    {
      resources: [defineUser(), project, ticket],
      extensions: [organisations()],
      settings: { relay: { sweepMs: 50, pollMs: 50 } },
    },
    { roles: 'all' },
  );
  const { organisations: api } = app as typeof app & { organisations: OrganisationsApi };
  const owner = await person('owner');
  const { id: organisation } = await api.create({ name: 'Acme' }, owner.id);
  const { id } = await app.service('project').create({ organisation, name: 'p' });
  const [first, second] = [
    await app.service('ticket').create({ organisation, project: id }),
    await app.service('ticket').create({ organisation, project: id }),
  ];
  // The older ticket refers to the newer one, and the newer one to the newest.
  const third = await app.service('ticket').create({ organisation });
  await app.service('ticket').update(first.id, { blockedBy: second.id });
  await app.service('ticket').update(second.id, { blockedBy: third.id });
  await api.delete(organisation);
  const left = async () => (await app.service('project').count()) + (await app.service('ticket').count());
  await expect.poll(left, { timeout: 60_000, interval: 50 }).toBe(0);
});

test('records of an organisation that refer to each other in circles with restrict are deleted, each with its hooks', async () => {
  const deleted: string[] = [];
  const hooks = { beforeDelete: ({ id }: { id: string }) => void deleted.push(id) };
  const step = defineResource('step', {
    fields: {
      organisation: tenant(),
      next: f.ref('step', { onDelete: 'restrict' }),
      others: f.refs('step', { onDelete: 'restrict' }),
      plan: f.ref('plan', { onDelete: 'restrict' }),
    },
    hooks,
    softDelete: true,
  });
  const plan = defineResource('plan', {
    fields: { organisation: tenant(), first: f.ref('step', { onDelete: 'restrict' }) },
    hooks,
  });
  // Does not belong to organisations, so its references still restrict.
  const pin = defineResource('pin', { fields: { step: f.ref('step', { onDelete: 'restrict' }) } });
  const { app, person } = await startTestApp(
    {
      resources: [defineUser(), plan, step, pin],
      extensions: [organisations(), softDelete()],
      settings: { relay: { sweepMs: 50, pollMs: 50 } },
    },
    { roles: 'all' },
  );
  const { organisations: api } = app as typeof app & { organisations: OrganisationsApi };
  const [plans, steps, pins] = [app.service('plan'), app.service('step'), app.service('pin')];
  const owner = await person('owner');
  const { id: organisation } = await api.create({ name: 'Acme' }, owner.id);
  const { id: kept } = await api.create({ name: 'Kept' }, owner.id);
  const createStep = (values: object = {}) => steps.create({ organisation, ...values } as never);

  const alone = await createStep();
  await steps.update(alone.id, { next: alone.id });
  const [a, b] = [await createStep(), await createStep()];
  await steps.update(a.id, { next: b.id });
  await steps.update(b.id, { others: [a.id, b.id] });
  const root = await plans.create({ organisation });
  const c = await createStep({ plan: root.id, next: a.id });
  await plans.update(root.id, { first: c.id });
  const foreign = await steps.create({ organisation: kept });
  await steps.update(foreign.id, { next: foreign.id });
  const [x, y] = [await createStep(), await createStep()];
  await steps.update(x.id, { next: y.id });
  await steps.update(y.id, { next: x.id });
  const pinned = await pins.create({ step: x.id });

  await api.delete(organisation);
  const left = async () => (await plans.count({ organisation })) + (await steps.count({ organisation }));
  await expect.poll(left, { timeout: 60_000, interval: 50 }).toBe(2);
  await pins.delete(pinned.id);
  await expect.poll(left, { timeout: 120_000, interval: 50 }).toBe(0);
  const all = [alone, a, b, c, root, x, y].map(({ id }) => id);
  expect([...new Set(deleted)].sort()).toEqual(all.sort());
  expect(await steps.read(foreign.id)).toMatchObject({ organisation: kept });
});
