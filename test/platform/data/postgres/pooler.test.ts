import pg from 'pg';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type PgBouncerSettings, providePgBouncer, startPgBouncer } from '../../../../scripts/services/pgbouncer.ts';
import { createApp, defineResource, defineUser, f, webhooks } from '../../../../src/index.ts';
import { openDatabase } from '../../../../src/platform/data/postgres/database.ts';
import { createLogger } from '../../../../src/platform/observability/log.ts';
import { startReceiver } from '../../../fakes/receiver.ts';
import { createClient } from '../../../support/app.ts';
import { createTestDatabase } from '../../../support/database/test-database.ts';

const binary = providePgBouncer();
const POOL_SIZE = 3;

const note = defineResource('note', {
  fields: {
    text: f.string().required().searchable(),
    number: f.number(),
    at: f.date().filterable(),
    owner: f.ref('user').owner(),
  },
  policies: { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' },
  hooks: {
    async beforeUpdate(changes, _record, { service }) {
      if (changes.text === 'copy') await service('note').create({ text: 'the copy' });
    },
  },
});
const declarations = { resources: [defineUser(), note] };
const log = createLogger('silent', 'test');

/** Starts a PgBouncer in front of a database of its own. */
async function startPooled(settings: Partial<PgBouncerSettings> = {}) {
  const own = await createTestDatabase();
  const pooler = await startPgBouncer(binary!, own.databaseUrl, {
    poolMode: 'transaction',
    poolSize: POOL_SIZE,
    ...settings,
  });
  const direct = new pg.Client(own.databaseUrl);
  await direct.connect();
  const env = {
    NODE_ENV: 'test',
    DATABASE_URL: pooler.url,
    DATABASE_DIRECT_URL: own.databaseUrl,
    REDIS_URL: own.redisUrl,
    REDIS_PREFIX: own.redisPrefix,
  };
  /** Ends the sessions that the pooler keeps, so that its next ones have the current settings. */
  const endSessions = () =>
    direct.query(
      `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    );
  const stop = async () => {
    await direct.end();
    await pooler.stop();
    await own.drop();
  };
  const countLocks = async () =>
    (
      await direct.query<{ n: number }>(`select count(*)::int n from pg_locks where locktype = 'advisory'
        and database = (select oid from pg_database where datname = current_database())`)
    ).rows[0]!.n;
  return { own, pooler, direct, env, stop, endSessions, countLocks };
}

/** Like `startPooled`, but without a PgBouncer. */
async function startDirect() {
  const own = await createTestDatabase();
  const direct = new pg.Client(own.databaseUrl);
  await direct.connect();
  const stop = async () => {
    await direct.end();
    await own.drop();
  };
  return { own, direct, stop, pooler: undefined };
}

/** Returns an app's log lines with their level and message. */
function captureLog() {
  const lines: { level: string; msg: string; preparesStatements?: boolean }[] = [];
  return { lines, log: createLogger('info', 'test', { write: (line) => void lines.push(JSON.parse(line)) }) };
}

const pools = [
  { name: 'without prepared statements', preparedStatements: 0 },
  { name: 'with prepared statements', preparedStatements: 200 },
].filter(({ preparedStatements }) => preparedStatements === 0 || binary?.keepsStatements);

describe.skipIf(binary === undefined)('behind PgBouncer in transaction mode', () => {
  describe.each(pools)('$name', ({ preparedStatements }) => {
    test('an app serves every kind of request, and Postgres sees no more sessions than the pooler may open', async () => {
      const { env, stop, direct, own, countLocks } = await startPooled({ preparedStatements });
      onTestFinished(stop);
      const app = createApp(declarations, env);
      onTestFinished(() => app.close());
      await app.migrate({ mode: 'sync' });
      expect(await countLocks()).toBe(0);
      const { url } = await app.start({ port: 0 });
      const call = createClient(url);

      const at = '2024-06-01T12:00:00.500Z';
      const created = await call('POST', '/api/notes', { text: 'first', number: 0.1 + 0.2, at });
      expect([created.status, created.body.data]).toEqual([
        201,
        expect.objectContaining({ at, number: 0.30000000000000004 }),
      ]);
      const path = `/api/notes/${created.body.data.id}`;
      expect((await call('GET', path)).body).toEqual(created.body);
      // A hook that writes makes the change a transaction.
      expect((await call('PATCH', path, { text: 'copy' })).status).toBe(200);
      expect((await call('GET', '/api/notes?q=copy')).body.meta.total).toBe(2);
      expect((await call('GET', `/api/notes?at=${at}`)).body.data).toHaveLength(1);
      const credentials = { name: 'Ann', email: 'ann@pool.example.com', password: 'correct horse battery' };
      expect((await call('POST', '/api/auth/register', credentials)).status).toBe(201);
      await expect(
        app.transaction(async (tx) => {
          await tx.service('note').create({ text: 'undone' });
          throw new Error('undo');
        }),
      ).rejects.toThrow('undo');
      expect((await call('GET', '/api/notes?q=undone')).body.meta.total).toBe(0);

      const sessions = async () =>
        (
          await direct.query<{ n: number }>(
            'select count(*)::int n from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
          )
        ).rows[0]!.n;
      const statuses = await Promise.all(
        Array.from({ length: 150 }, (_, i) =>
          [
            () => call('POST', '/api/notes', { text: `note ${i}` }),
            () => call('GET', '/api/notes'),
            () => call('GET', path),
            () => call('PATCH', path, { text: `text ${i}` }),
            () => call('GET', '/api/notes?q=note'),
          ][i % 5]!().then(({ status }) => status),
        ),
      );
      expect(statuses.filter((status) => status !== 200 && status !== 201)).toEqual([]);
      expect(await sessions()).toBeLessThanOrEqual(POOL_SIZE);
      expect((await call('DELETE', path)).status).toBe(204);
      expect(own.databaseUrl).not.toBe(env.DATABASE_URL);
    });

    test('pipelined statements of all kinds get their own results under concurrency', async () => {
      const { pooler, direct, stop, own, endSessions } = await startPooled({ preparedStatements });
      onTestFinished(stop);
      for (const setting of [`timezone = 'UTC'`, `statement_timeout = '15s'`])
        await direct.query(
          `alter role current_user in database ${new URL(own.databaseUrl).pathname.slice(1)} set ${setting}`,
        );
      await endSessions();
      const { lines, log: appLog } = captureLog();
      const database = openDatabase(pooler.url, 'test', appLog, { poolMax: 12, maxWaitMs: 60_000 });
      onTestFinished(() => database.close());
      const echo = (value: number) => ({ name: 'echo', text: 'select $1::int', values: [value] });
      const limit = { text: `select current_setting('statement_timeout')`, values: [] };
      const results = await Promise.all(
        Array.from({ length: 1500 }, async (_, i) => {
          if (i % 5 === 0) return database.read<[number]>(echo(i));
          if (i % 5 === 1) return database.readList<[number]>(echo(i));
          if (i % 5 === 2) return database.readSlowly<[number]>(echo(i));
          if (i % 5 === 3) return database.write<[number]>(echo(i));
          return database.transaction((tx) => tx.write<[number]>(echo(i)));
        }),
      );
      expect(results.map(([row]) => row![0])).toEqual(results.map((_, i) => i));
      expect(database.access()).toEqual({ pooler: 'transaction', preparesStatements: preparedStatements > 0 });
      expect(lines.filter(({ msg }) => msg.includes('transaction pooler'))).toHaveLength(1);
      // Without prepared statements, a pooler may give a session to another client before it has passed on a whole statement.
      const reads = Array.from({ length: 10 }, (_, i) => database.read<[number]>(echo(i)));
      const { busy, waiting } = database.stats().lanes.reads!;
      expect(waiting).toBe(preparedStatements > 0 ? 0 : reads.length - busy);
      expect(await Promise.all(reads)).toEqual(reads.map((_, i) => [[i]]));
      // The pooler compares the formats of a connection with those of a session, and would set different ones each time.
      expect(await database.read({ text: 'show datestyle', values: [] })).toEqual([['ISO, MDY']]);
      // Lists and searches have a shorter limit.
      expect([await database.read(limit), await database.readList(limit), await database.readSlowly(limit)]).toEqual([
        [['15s']],
        [['5s']],
        [['5s']],
      ]);
      expect(await database.transaction((tx) => tx.write(limit))).toEqual([['15s']]);
      // A failed statement fails alone.
      const settled = await Promise.allSettled([
        database.readList(echo(1)),
        database.readList({ text: 'select 1 / 0', values: [] }),
        database.readList(echo(2)),
        database.read({ text: 'select nothing', values: [] }),
        database.read(echo(3)),
      ]);
      expect(settled.map(({ status }) => status)).toEqual([
        'fulfilled',
        'rejected',
        'fulfilled',
        'rejected',
        'fulfilled',
      ]);
      // The detection leaves no statement behind.
      const left = await direct.query(`select 1 from pg_prepared_statements where name like 'belfry%'`);
      expect(left.rows).toEqual([]);
    });
  });

  test('migrations are refused if the direct address leads to another database', async () => {
    const { env, stop } = await startPooled();
    onTestFinished(stop);
    const other = await createTestDatabase();
    onTestFinished(() => other.drop());
    const app = createApp(declarations, { ...env, DATABASE_DIRECT_URL: other.databaseUrl });
    onTestFinished(() => app.close());
    await expect(app.migrate({ mode: 'sync' })).rejects.toThrow(
      'DATABASE_DIRECT_URL leads to another database than DATABASE_URL',
    );
  });

  test('migrations are refused without a direct address, before anything is changed', async () => {
    const { env, direct, stop, countLocks, own } = await startPooled();
    onTestFinished(stop);
    for (const [variables, name] of [
      [{ DATABASE_DIRECT_URL: '' }, 'DATABASE_URL'],
      [{ DATABASE_DIRECT_URL: '', DATABASE_POOLER: 'transaction' }, 'DATABASE_URL'],
      [{ DATABASE_DIRECT_URL: env.DATABASE_URL }, 'DATABASE_DIRECT_URL'],
    ] as const) {
      const app = createApp(declarations, { ...env, ...variables });
      const refused = app.migrate({ mode: 'sync' });
      await expect(refused).rejects.toThrow(`through a connection pooler, and ${name} leads to one`);
      await expect(refused).rejects.toThrow('set DATABASE_DIRECT_URL to the address of Postgres itself');
      await app.close();
    }
    const { rows } = await direct.query(`select 1 from pg_class where relname in ('notes', 'belfry_sync')`);
    expect([rows, await countLocks()]).toEqual([[], 0]);
    const settings = await direct.query(`select 1 from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase
      where datname = current_database()`);
    expect(settings.rows).toEqual([]);
    expect(own.databaseUrl).toContain('postgres://');
  });

  test('a migration gives the role the settings of a session, and keeps time limits that it already has', async () => {
    const { env, direct, stop, own, endSessions } = await startPooled();
    onTestFinished(stop);
    const name = new URL(own.databaseUrl).pathname.slice(1);
    await direct.query(`alter role current_user in database ${name} set statement_timeout = '7s'`);
    await direct.query(`alter role current_user in database ${name} set timezone = 'Asia/Kolkata'`);
    for (let run = 0; run < 2; run++) {
      const app = createApp(declarations, env);
      await app.migrate({ mode: 'sync' });
      await app.close();
      await endSessions();
      const database = openDatabase(env.DATABASE_URL, 'test', log);
      const text = `select current_setting('timezone'), current_setting('statement_timeout'), current_setting('idle_in_transaction_session_timeout'), current_setting('jit')`;
      expect(await database.read({ text, values: [] })).toEqual([['UTC', '7s', '1min', 'off']]);
      await database.close();
    }
  });

  test('formats are right whatever the database sets; if the pooler cannot set one, the start is refused with the fix', async () => {
    const { env, direct, stop, own, endSessions } = await startPooled();
    onTestFinished(stop);
    const name = new URL(own.databaseUrl).pathname.slice(1);
    const start = async (setting: string) => {
      await direct.query(`alter database ${name} set ${setting}`);
      await endSessions();
      const app = createApp(declarations, env);
      const error = await app.start({ port: 0 }).catch((failure: Error) => failure.message);
      await app.close();
      await direct.query(`alter database ${name} reset all`);
      return error;
    };
    for (const setting of [`timezone = 'Asia/Kolkata'`, `datestyle = 'SQL, DMY'`, 'standard_conforming_strings = off'])
      expect([setting, await start(setting)]).toEqual([
        setting,
        expect.stringContaining('does not match the declarations'),
      ]);
    const refused = await start('extra_float_digits = -3');
    expect(refused).toContain('Postgres does not print values as the app reads them');
    expect(refused).toContain(`alter role postgres in database ${name} set extra_float_digits = '1';`);
  });

  test('webhooks are delivered', async () => {
    const receiver = await startReceiver();
    receiver.answer((_, response) => response.end());
    const { env, stop } = await startPooled();
    onTestFinished(stop);
    const app = createApp({ ...declarations, extensions: [webhooks()] }, env);
    onTestFinished(async () => {
      await app.close();
      await receiver.close();
    });
    await app.migrate({ mode: 'sync' });
    const { url } = await app.start({ port: 0 });
    const credentials = { name: 'Bo', email: 'bo@pool.example.com', password: 'correct horse battery' };
    const { body } = await createClient(url)('POST', '/api/auth/register', credentials);
    const call = createClient(url, body.data.token);
    const endpoint = await call('POST', '/api/webhooks', { url: receiver.url, events: ['note.created'] });
    expect(endpoint.status).toBe(201);
    expect((await call('POST', '/api/notes', { text: 'delivered' })).status).toBe(201);
    const [request] = await receiver.received(1);
    expect(JSON.parse(request!.body).data.text).toBe('delivered');
  });
});

describe.skipIf(binary === undefined)('behind PgBouncer in session mode', () => {
  test('DATABASE_POOLER=session keeps prepared statements and sets each session, and migrations need no other address', async () => {
    const { env, stop, countLocks } = await startPooled({ poolMode: 'session', poolSize: 12 });
    onTestFinished(stop);
    const sessionEnv = { ...env, DATABASE_DIRECT_URL: '', DATABASE_POOLER: 'session' };
    const app = createApp(declarations, sessionEnv);
    onTestFinished(() => app.close());
    await app.migrate({ mode: 'sync' });
    expect(await countLocks()).toBe(0);
    const { url } = await app.start({ port: 0 });
    const call = createClient(url);
    const statuses = await Promise.all(Array.from({ length: 40 }, () => call('POST', '/api/notes', { text: 'x' })));
    expect(statuses.map(({ status }) => status)).toEqual(statuses.map(() => 201));
    expect((await call('GET', '/api/notes')).body.meta.total).toBe(40);
    const database = openDatabase(env.DATABASE_URL, 'test', log, { pooler: 'session', poolMax: 3 });
    expect(
      await database.read({
        text: `select current_setting('timezone'), current_setting('statement_timeout')`,
        values: [],
      }),
    ).toEqual([['UTC', '5s']]);
    expect(database.access()).toEqual({ pooler: 'session', preparesStatements: true });
    await database.close();
  });
});

test.skipIf(!binary?.keepsStatements)(
  'behind PgBouncer a named statement that could not be prepared can be sent again on the same connection',
  async () => {
    const { env, direct, stop } = await startPooled({ preparedStatements: 200 });
    const database = openDatabase(env.DATABASE_URL, 'test', log);
    const readLater = () => database.read({ name: 'later', text: 'select n from later', values: [] });
    await expect(readLater()).rejects.toThrow('relation "later" does not exist');
    await direct.query('create table later as select 1 as n');
    expect(await readLater()).toEqual([[1]]);
    expect(await readLater()).toEqual([[1]]);
    await database.close();
    await stop();
  },
);

test('statements with the same name that are sent at the same time fail alike if the name cannot be prepared', async () => {
  const own = await createTestDatabase();
  const database = openDatabase(own.databaseUrl, 'test', log);
  const readLater = () => database.read({ name: 'later', text: 'select n from later', values: [] });
  // Afterwards there is a connection, so the next statements share it.
  await database.read({ text: 'select 1', values: [] });
  const results = await Promise.allSettled([readLater(), readLater(), readLater()]);
  expect(results.map((each) => each.status === 'rejected' && each.reason.message)).toEqual(
    Array(3).fill('relation "later" does not exist'),
  );
  await database.write({ text: 'create table later as select 1 as n', values: [] });
  expect(await Promise.all([readLater(), readLater()])).toEqual([[[1]], [[1]]]);
  await database.close();
  await own.drop();
});

test.each([
  { name: 'directly', preparedStatements: undefined },
  ...(binary === undefined ? [] : pools.map((pool) => ({ ...pool, name: `behind PgBouncer ${pool.name}` }))),
])('rows are copied in a transaction, and refused rows leave the connection usable: $name', async (pool) => {
  const { preparedStatements } = pool;
  const { own, direct, stop, pooler } =
    preparedStatements === undefined ? await startDirect() : await startPooled({ preparedStatements });
  await direct.query('create table copied (n int primary key, t text)');
  const database = openDatabase(pooler?.url ?? own.databaseUrl, 'test', log);
  const copy = (copied: string) =>
    database.transaction(async (tx) => {
      const count = { name: 'count', text: 'select count(*)::int from copied', values: [] };
      const [[before]] = (await Promise.all([tx.write<[number]>(count), tx.write(count)]))[0] as [[number]];
      await tx.write({ text: 'copy copied (n, t) from stdin', values: [], copied });
      return [before, ...(await tx.write<[number]>(count))[0]!];
    });
  expect(await copy('1\ta\\tb\n2\t\\N\n')).toEqual([0, 2]);
  await expect(copy('3\tx\n1\ty\n')).rejects.toMatchObject({ code: '23505' });
  await expect(copy('none\tx\n')).rejects.toMatchObject({ code: '22P02' });
  const missing = { text: 'copy missing from stdin', values: [], copied: '1\n' };
  await expect(database.transaction((tx) => tx.write(missing))).rejects.toMatchObject({ code: '42P01' });
  // More than the buffers of the socket.
  const many = Array.from({ length: 50_000 }, (_, i) => `${i + 10}\t${'x'.repeat(100)}\n`).join('');
  expect(await copy(many)).toEqual([2, 50_002]);
  expect((await direct.query('select t from copied where n < 3 order by n')).rows).toEqual([
    { t: 'a\tb' },
    { t: null },
  ]);
  await database.close();
  await stop();
});

test('a direct connection is recognized as such, and costs one round trip more', async () => {
  const own = await createTestDatabase();
  const sent = vi.spyOn(pg.Client.prototype, 'query');
  const database = openDatabase(own.databaseUrl, 'test', log);
  await database.read({ text: 'select 1', values: [] });
  const texts = sent.mock.calls.length;
  sent.mockRestore();
  expect([texts, database.access()]).toEqual([2, { pooler: 'none', preparesStatements: true }]);
  await database.close();
  await own.drop();
});

afterAll(() => {
  if (binary === undefined) console.warn('PgBouncer is missing: its tests were skipped. Install it, or set PGBOUNCER.');
});
