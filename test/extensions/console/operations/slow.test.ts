import { Client } from 'pg';
import { expect, test, vi } from 'vitest';
import { adminConsole } from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';
import { API, resources, startOperationsApp } from './operations-app.ts';

const { env, call, admin, read, entryOf } = await startOperationsApp();

test('requests and statements above the thresholds are listed, without values', async () => {
  const { body } = await call('POST', '/api/notes', { title: 'a secret title' }, { 'x-request-id': 'request-of-test' });
  await call('GET', `/api/notes/${body.data.id}`);
  const slow = await read('/slow');
  expect(slow.thresholds).toEqual({ requestMs: 0, statementMs: 0 });
  const created = slow.newest.find(({ requestId }: { requestId: string }) => requestId === 'request-of-test');
  expect(created).toMatchObject({ method: 'POST', route: '/api/notes', status: 201, ms: expect.any(Number) });
  expect(created.statements).toBeGreaterThan(0);
  expect(slow.statements.length).toBeGreaterThan(3);
  expect(JSON.stringify(slow)).not.toContain('secret title');
  expect(JSON.stringify(slow)).not.toContain(body.data.id);
});

test('the list can be cleared, which is recorded', async () => {
  await call('GET', '/api/notes', undefined, { 'x-request-id': 'before-the-clearing' });
  expect((await admin.call('POST', `${API}/slow/clear`)).status).toBe(204);
  expect(JSON.stringify(await read('/slow'))).not.toContain('before-the-clearing');
  expect(await entryOf('console.slowLogCleared')).toMatchObject({ resource: 'operations', user: admin.id });
});

test('the statistics of Postgres say how to switch them on, or list statements', async () => {
  const { missing, statements } = await read('/slow/statistics');
  expect(missing ?? 'available').toBeOneOf(['not installed', 'not loaded', 'not permitted', 'available']);
  expect(statements).toEqual(missing === undefined ? expect.any(Array) : []);
});

test('the statistics of Postgres contain no values, and no statements whose text may contain a secret', async () => {
  const client = new Client({ connectionString: env.DATABASE_URL });
  await client.connect();
  // The server of the tests has no such extension, so a table takes the place of its view.
  await client.query(`
    set allow_system_table_mods = on;
    insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
      values (99999, 'pg_stat_statements', 10, 'public'::regnamespace, true, '1.10');
    create table public.pg_stat_statements (query text, calls bigint, total_exec_time float8 default 1, mean_exec_time float8 default 1,
      max_exec_time float8 default 1, rows bigint default 0, toplevel boolean default true, dbid oid)`);
  const texts = [
    'select * from notes where title = $1',
    "insert into notes (title) values ('ada@example.com')",
    "/* ada@example.com */ update notes set pin = 4711 -- it's a secret",
    '(select 1) union (select 2)',
    "create role app password 'secret'",
    "alter user app with password 'secret'",
    "/* a comment */ alter role app password 'secret'",
    "do $$ begin perform 'secret'; end $$",
    'set app.token = secret',
    "copy notes from program 'curl -u secret'",
    "select set_config('app.token', 'secret', false)",
  ];
  await client.query(
    `insert into public.pg_stat_statements (query, calls, dbid)
     select text, 1, (select oid from pg_database where datname = current_database()) from unnest($1::text[]) as text`,
    [texts],
  );
  await client.end();
  const { statements } = await read('/slow/statistics');
  expect(statements.map(({ text }: { text: string }) => text).sort()).toEqual(
    [
      'select * from notes where title = $1',
      'insert into notes (title) values (?)',
      'update notes set pin = ?',
      '(select ?) union (select ?)',
      'select set_config(?, ?, false)',
    ].sort(),
  );
});

test('without slow work, the slow log stays empty with the default thresholds', async () => {
  const other = await startTestApp({ resources, extensions: [adminConsole()] }, { roles: 'all' });
  await other.call('GET', '/api/notes');
  const { body } = await other.call('GET', `${API}/slow`);
  expect(body.data.thresholds).toEqual({ requestMs: 500, statementMs: 200 });
});

test('requests to the console and to its receiver count neither as load nor as slow work of the app', async () => {
  const other = await startTestApp(
    {
      resources,
      settings: { slowLog: { requestMs: 0, statementMs: 0 } },
      extensions: [adminConsole()],
    },
    { roles: 'all' },
  );
  const ask = async (path: string) => (await other.call('GET', path)).body.data;
  await ask('/console/api/resources/note?limit=1');
  await other.call('POST', '/console/receiver/any', {});
  await ask(`${API}/slow/statistics`);
  expect((await ask(`${API}/slow`)).newest).toEqual([]);
  await ask('/api/notes?limit=3');
  // Less than a second after the first one, the console would repeat it.
  const slow = await vi.waitUntil(async () => {
    const found = await ask(`${API}/slow`);
    return found.newest.length > 0 && found;
  });
  expect(slow.newest.map(({ route }: { route: string }) => route)).toEqual(['/api/notes']);
  expect(JSON.stringify(slow.statements)).not.toContain('pg_extension');
  const { requests } = await ask(`${API}/processes`);
  expect(requests).toMatchObject({ count: 1, failed: 0, inFlight: 0 });
});
