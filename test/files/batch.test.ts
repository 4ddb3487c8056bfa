import { describe, expect, test } from 'vitest';
import { defineResource, defineUser, f } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';
import { createTestStorage, PNG, send } from './support.ts';

const { storage } = await createTestStorage();
const ticket = defineResource('ticket', {
  fields: {
    title: f.string().required().unique().filterable(),
    attachment: f.file(),
    owner: f.ref('user').owner(),
  },
  policies: { list: 'authenticated', read: 'authenticated', create: 'authenticated' },
});
const { app, url, person } = await startTestApp({
  resources: [defineUser(), ticket],
  settings: { files: { storage } },
});
const ada = await person('Ada');
const bob = await person('Bob');
let titles = 0;
const title = () => `title ${++titles}`;

async function upload(token = ada.token): Promise<string> {
  const headers = { 'content-type': 'image/png', 'content-disposition': 'attachment; filename="cat.png"' };
  const { status, body } = await send(`${url}/api/files/uploads?field=ticket.attachment`, PNG, { token, ...headers });
  expect(status).toBe(201);
  return body.data.id;
}

const stateOf = async (id: string) => {
  const { assemblyOf } = await import('../../src/runtime/create-app.ts');
  const rows = await assemblyOf(app)!.platform.database.write<[string]>({
    text: 'select state from stored_files where id = $1',
    values: [id],
  });
  return rows[0]?.[0];
};
const batch = (operations: readonly object[], mode = 'atomic') =>
  ada.call('POST', '/api/tickets/batch', { mode, operations });
const create = (data: object) => ({ op: 'create', data: { title: title(), ...data } });

describe.each(['atomic', 'perItem'])('a batch of records with files (%s)', (mode) => {
  test('attaches, replaces and removes files as the single routes do', async () => {
    const [first, second] = [await upload(), await upload()];
    const created = await batch([create({ attachment: first }), create({})], mode);
    expect(created.body.data.map(({ status }: { status: number }) => status)).toEqual([201, 201]);
    expect(created.body.data[0].data.attachment).toMatchObject({ id: first, url: expect.any(String) });
    expect(await stateOf(first)).toBe('attached');
    const [{ data: one }, { data: other }] = created.body.data;
    const changed = await batch(
      [
        { op: 'update', id: one.id, data: { attachment: null } },
        { op: 'upsert', by: 'title', data: { title: other.title, attachment: second } },
      ],
      mode,
    );
    expect(changed.body.data.map(({ status }: { status: number }) => status)).toEqual([200, 200]);
    expect([await stateOf(first), await stateOf(second)]).toEqual(['unused', 'attached']);
    const single = await ada.call('POST', '/api/tickets', { title: title(), attachment: await upload() });
    const { id: removed } = single.body.data.attachment;
    await ada.call('DELETE', `/api/tickets/${single.body.data.id}`);
    expect((await batch([{ op: 'delete', id: other.id }], mode)).status).toBe(200);
    expect(await stateOf(second)).toBe(await stateOf(removed));
  });

  test('refuses a file of another user, and one that an earlier operation attached', async () => {
    const [foreign, own] = [await upload(bob.token), await upload()];
    for (const [operations, failed] of [
      [[create({}), create({ attachment: foreign })], 1],
      [[create({ attachment: own }), create({ attachment: own })], 1],
    ] as const) {
      const { status, body } = await batch(operations, mode);
      if (mode === 'atomic') {
        expect(status).toBe(422);
        expect(Object.keys(body.error.details)).toEqual([`operations.${failed}.attachment`]);
        expect(await stateOf(own)).not.toBe('attached');
      } else {
        expect(body.data[failed]).toMatchObject({
          status: 422,
          error: { details: { attachment: expect.any(String) } },
        });
        expect(body.data[0].status).toBe(201);
      }
    }
    expect(await stateOf(foreign)).not.toBe('attached');
  });
});
