import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { defineResource, f, softDelete } from '../../../src/index.ts';
import { type ApiResponse, startTestApp } from '../../support/app.ts';

const open = { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' } as const;

const desk = defineResource('desk', { fields: { name: f.string(), code: f.string().unique() }, policies: open });
const visit = defineResource('visit', {
  fields: {
    code: f.string().unique(),
    desk: f.string(),
    from: f.integer(),
    to: f.integer(),
    note: f.string(),
    secret: f.string().hidden(),
    parent: f.ref('visit', { onDelete: 'cascade' }),
  },
  softDelete: true,
  policies: open,
  hooks: {
    async beforeCreate(values, { service }) {
      if (values.note === 'by hook') await service('visit').create({ from: 9, to: 1 });
    },
  },
  routes: (route) => [
    route.post('/raw', { policy: 'public' }, ({ transaction }) =>
      transaction((tx) => tx.service('visit').create({ from: 9, to: 1 })),
    ),
  ],
});

const { app, call, env } = await startTestApp({ resources: [desk, visit], extensions: [softDelete()] });
const bulk = app.bulk.resource('visit');
const sql = new pg.Client({ connectionString: env.DATABASE_URL! });
afterAll(() => sql.end());

beforeAll(async () => {
  await sql.connect();
  await sql.query(`
    create extension if not exists btree_gist;
    alter table visits add constraint visits_no_overlap exclude using gist (desk with =, int8range("from", "to") with &&);
    alter table visits add constraint visits_order check ("to" > "from");
    alter table visits add constraint visits_later exclude using gist (note with =) where (note like 'only %') deferrable initially deferred;
    alter table visits add constraint visits_desk foreign key (desk) references desks (code);
    create function refuse_visit() returns trigger language plpgsql as $$ begin
      if tg_op = 'DELETE' then
        if old.note = 'kept' then raise exception 'secret of %', old.id using errcode = 'check_violation'; end if;
        return old;
      end if;
      if new.note = 'full' then raise exception 'secret of %', new.id using errcode = 'exclusion_violation'; end if;
      if new.note = 'silent' then raise exception 'secret' using errcode = 'not_null_violation', column = 'secret', table = 'visits'; end if;
      if new.note = 'named' then raise exception 'secret' using errcode = 'not_null_violation', column = 'from', table = 'visits'; end if;
      return new;
    end $$;
    create trigger refuse before insert or update or delete on visits for each row execute function refuse_visit();
  `);
  for (const code of ['a', 'b', 'c', 'd', 'e']) await app.service('desk').create({ name: code, code });
});

const errorOf = ({ status, body }: ApiResponse) => [status, body?.error?.code];
const create = (values: object) => call('POST', '/api/visits', values);

test.each([
  ['an exclusion constraint', { desk: 'a', from: 1, to: 5 }, { desk: 'a', from: 3, to: 9 }, [409, 'CONFLICT']],
  ['a check', {}, { from: 5, to: 1 }, [422, 'VALIDATION_ERROR']],
  ['a foreign key', {}, { desk: 'nowhere' }, [422, 'VALIDATION_ERROR']],
  ['a trigger that reports a conflict', {}, { note: 'full' }, [409, 'CONFLICT']],
  ['a trigger that reports a missing value', {}, { note: 'silent' }, [422, 'VALIDATION_ERROR']],
  ['a constraint that is checked at the commit', { note: 'only 1' }, { note: 'only 1' }, [409, 'CONFLICT']],
])('%s that the project added by SQL refuses creates and updates with its status', async (_, first, second, error) => {
  expect((await create(first)).status).toBe(201);
  const created = await create(second);
  expect(errorOf(created)).toEqual(error);
  const { id } = (await create({})).body.data;
  const updated = await call('PATCH', `/api/visits/${id}`, second);
  expect(errorOf(updated)).toEqual(error);
  for (const { body } of [created, updated]) expect(JSON.stringify(body)).not.toMatch(/secret|visits_|Key \(/);
  await expect(app.service('visit').create(second)).rejects.toMatchObject({ status: error[0] });
  await expect(app.service('visit').update(id, second)).rejects.toMatchObject({ status: error[0] });
});

test('a missing value is named by its field, unless the field is hidden', async () => {
  expect((await create({ note: 'named' })).body.error.details).toEqual({ from: 'Is required' });
  expect((await create({ note: 'silent' })).body.error.details).toBeUndefined();
});

test('batches report violations of own constraints by operation', async () => {
  const invalid = [{ from: 5, to: 1 }, { note: 'full' }, { desk: 'nowhere' }];
  const creates = [...invalid, { note: 'fine' }].map((data) => ({ op: 'create', data }));
  const each = await call('POST', '/api/visits/batch', { mode: 'perItem', operations: creates });
  expect(each.status, JSON.stringify(each.body)).toBe(200);
  expect(each.body.data.map(({ status }: { status: number }) => status)).toEqual([422, 409, 422, 201]);
  const atomic = await call('POST', '/api/visits/batch', { mode: 'atomic', operations: creates });
  expect(errorOf(atomic)).toEqual([422, 'VALIDATION_ERROR']);
});

test('a batch in which each operation succeeds alone keeps the others if the commit finds a violation', async () => {
  const { id } = (await create({ note: 'only 2' })).body.data;
  const [b, c] = [(await create({})).body.data.id, (await create({})).body.data.id];
  const operations = [
    { op: 'update', id: b, data: { note: 'only 2' } },
    { op: 'update', id: c, data: { note: 'only 3' } },
    { op: 'upsert', by: 'code', data: { code: 'x', note: 'only 2' } },
  ];
  const { body } = await call('POST', '/api/visits/batch', { mode: 'perItem', operations });
  expect(body.data.map(({ status }: { status: number }) => status)).toEqual([409, 200, 409]);
  const atomic = await call('POST', '/api/visits/batch', { mode: 'atomic', operations: operations.slice(0, 1) });
  expect(errorOf(atomic)).toEqual([409, 'CONFLICT']);
  expect((await call('GET', `/api/visits/${id}`)).body.data.note).toBe('only 2');
});

test('an import rejects the row that an own constraint refuses, and keeps the others', async () => {
  const rows = [{ note: 'first' }, { from: 5, to: 1 }, { note: 'full' }, { note: 'last' }];
  const errors = await bulk.write(
    rows.map((values) => ({ values })),
    {},
  );
  expect(errors.map((error) => error?.status)).toEqual([undefined, 422, 409, undefined]);
});

test('a restore that an own constraint refuses is a 409', async () => {
  const { id } = (await create({ desk: 'b', from: 1, to: 5 })).body.data;
  expect((await call('DELETE', `/api/visits/${id}`)).status).toBe(204);
  expect((await create({ desk: 'b', from: 1, to: 5 })).status).toBe(201);
  expect(errorOf(await call('POST', `/api/visits/${id}/restore`))).toEqual([409, 'CONFLICT']);
  expect((await bulk.change([id], { action: 'restore' }))[0]?.status).toBe(409);
});

test('a restore whose cascade an own constraint refuses is a 409', async () => {
  const { id } = (await create({})).body.data;
  expect((await create({ parent: id, desk: 'c', from: 1, to: 5 })).status).toBe(201);
  expect((await call('DELETE', `/api/visits/${id}`)).status).toBe(204);
  expect((await create({ desk: 'c', from: 1, to: 5 })).status).toBe(201);
  expect(errorOf(await call('POST', `/api/visits/${id}/restore`))).toEqual([409, 'CONFLICT']);
});

test('a deletion that an own foreign key or trigger refuses has a status of the client, also through a cascade', async () => {
  const { id } = (await call('POST', '/api/desks', { name: 'used', code: 'used' })).body.data;
  expect((await create({ desk: 'used' })).status).toBe(201);
  expect(errorOf(await call('DELETE', `/api/desks/${id}`))).toEqual([409, 'CONFLICT']);
  expect(errorOf(await call('PATCH', `/api/desks/${id}`, { code: 'other' }))).toEqual([409, 'CONFLICT']);
  const parent = (await create({})).body.data.id;
  const kept = (await create({ note: 'kept', parent })).body.data.id;
  expect(errorOf(await call('DELETE', `/api/visits/${kept}`))).toEqual([422, 'VALIDATION_ERROR']);
  expect(errorOf(await call('DELETE', `/api/visits/${parent}`))).toEqual([422, 'VALIDATION_ERROR']);
  expect((await bulk.change([kept], { action: 'delete' }))[0]?.status).toBe(422);
});

test('a violation by the code of a hook or route has the same status', async () => {
  expect(errorOf(await create({ note: 'by hook' }))).toEqual([422, 'VALIDATION_ERROR']);
  expect(errorOf(await call('POST', '/api/visits/raw', {}))).toEqual([422, 'VALIDATION_ERROR']);
});
