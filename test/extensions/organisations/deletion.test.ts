import { expect, test } from 'vitest';
import { defineResource, defineUser, f, type OrganisationsApi, organisations, tenant } from '../../../src/index.ts';
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
  const { app, person } = await startTestApp({
    resources: [defineUser(), project, ticket],
    extensions: [organisations()],
    settings: { relay: { sweepMs: 50, pollMs: 50 } },
  });
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
