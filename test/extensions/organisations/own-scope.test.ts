import { expect, test } from 'vitest';
import { defineResource, defineUser, f, type OrganisationsApi, organisations, tenant } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

let returned: unknown;
const note = defineResource('note', {
  fields: { organisation: tenant(), title: f.string().required() },
  scope: () => returned as undefined,
});
const { app, person } = await startTestApp({ resources: [defineUser(), note], extensions: [organisations()] });
const { organisations: api } = app as typeof app & { organisations: OrganisationsApi };
const member = await person('member');
const { id: organisation } = await api.create({ name: 'Acme' }, member.id);
const { id } = await app.service('note').create({ organisation, title: 'plan' });

const list = (header?: Record<string, string>) => member.call('GET', '/api/notes', undefined, header);

test('a scope of the project narrows the records of an organisation down', async () => {
  for (const [filter, total] of [
    [undefined, 1],
    [{}, 1],
    [{ title: 'plan' }, 1],
    [[{ title: 'plan' }, { title: 'other' }], 1],
    [{ title: 'other' }, 0],
    [[], 0],
  ] as const) {
    for (const value of [filter, Promise.resolve(filter)]) {
      returned = value;
      expect((await list()).body.meta.total).toBe(total);
    }
  }
});

test('a scope of the project that returns no filter shows no record, as without organisations', async () => {
  for (const value of [false, true, null, 0, '', new Map(), new Date(), [false], [{ title: 'plan' }, null]]) {
    for (const one of [value, Promise.resolve(value)]) {
      returned = one;
      const { status, body } = await list();
      expect(status).toBe(500);
      expect(body.data).toBeUndefined();
      expect((await member.call('GET', `/api/notes/${id}`)).status).toBe(500);
    }
  }
});

test('a scope of the project with an invalid comparison shows no record, also if it compares the organisation', async () => {
  const current = { 'x-organisation': organisation };
  for (const value of [{}, new Map(), app.service('note').query({ title: 'other' }, 'organisation')]) {
    for (const field of ['organisation', 'organisation.members.user', 'title']) {
      returned = { [field]: value };
      expect((await list(current)).status).toBe(500);
    }
  }
});
