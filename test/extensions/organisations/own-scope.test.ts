import { expect, test } from 'vitest';
import {
  ApiError,
  defineResource,
  defineUser,
  f,
  type OrganisationsApi,
  organisations,
  tenant,
} from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

let scope: () => unknown = () => undefined;
const note = defineResource('note', {
  fields: { organisation: tenant(), title: f.string().required() },
  scope: () => scope() as undefined,
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
      scope = () => value;
      expect((await list()).body.meta.total).toBe(total);
    }
  }
});

test('a scope of the project that returns no filter shows no record, as without organisations', async () => {
  for (const value of [false, true, null, 0, '', new Map(), new Date(), [false], [{ title: 'plan' }, null]]) {
    for (const one of [value, Promise.resolve(value)]) {
      scope = () => one;
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
      scope = () => ({ [field]: value });
      expect((await list(current)).status).toBe(500);
    }
  }
  scope = () => ({ 'organisation.members': { exists: true, role: 'member' } });
  expect((await list()).status).toBe(500);
});

test('a scope of the project that throws refuses the request, also if the request names an unknown organisation', async () => {
  const refusal = new ApiError('FORBIDDEN', 'Confirm your address first');
  for (const refuse of [() => Promise.reject(refusal), throwRefusal]) {
    scope = refuse;
    for (const header of [organisation, 'unknown']) {
      const { status } = await list({ 'x-organisation': header });
      expect([403, 404]).toContain(status);
    }
  }
  function throwRefusal(): never {
    throw refusal;
  }
  // An unhandled rejection would end the process: the runner reports one as a failure.
  scope = () => undefined;
  expect((await list()).status).toBe(200);
});
