import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { type DatabaseOptions, openDatabase } from '../../../../src/platform/data/postgres/database.ts';
import { createLogger } from '../../../../src/platform/observability/log.ts';
import { createTestDatabase } from '../../../support/database/test-database.ts';
import { startTcpProxy } from '../../../support/tcp-proxy.ts';

const own = await createTestDatabase();
const admin = new pg.Client(own.databaseUrl);
await admin.connect();
afterAll(async () => {
  await admin.end();
  await own.drop();
});
const log = createLogger('silent', 'test');

function open(options: DatabaseOptions, url = own.databaseUrl, logger = log) {
  const database = openDatabase(url, 'pool-test', logger, options);
  onTestFinished(() => database.close());
  return database;
}

const countSessions = async () =>
  (
    await admin.query<{ n: number }>(
      `select count(*)::int n from pg_stat_activity where application_name = 'pool-test'`,
    )
  ).rows[0]!.n;

const echo = (value: number) => ({ text: 'select $1::int', values: [value] });

/** Waits until a call succeeds. A pool that opens its first connections on a busy machine may refuse callers that wait only briefly. */
const waitForSuccess = (call: () => Promise<unknown>) =>
  vi.waitUntil(
    () =>
      call().then(
        () => true,
        () => false,
      ),
    { timeout: 30_000 },
  );

// Statements of some lanes end after 5 s. This one goes on waiting for the lock.
await admin.query(`create function wait_for(lock int) returns void language plpgsql as $$ begin
  loop
    begin
      perform pg_advisory_xact_lock(lock);
      return;
    exception when query_canceled then null;
    end;
  end loop;
end $$`);

const sleepFor = (seconds: number, value: number) => ({
  text: `select $1::int, pg_sleep(${seconds})`,
  values: [value],
});

test.each([2, 3, 4, 5, 6, 8, 12])(
  'with a budget of %i, concurrent calls of all kinds get their own results within the budget',
  async (poolMax) => {
    const database = open({ poolMax, maxWaitMs: 60_000 });
    let mostOpen = 0;
    let mostSessions = 0;
    let done = false;
    const watch = (async () => {
      while (!done) {
        mostOpen = Math.max(mostOpen, database.stats().open);
        mostSessions = Math.max(mostSessions, await countSessions());
      }
    })();
    const kinds = [
      (value: number) => database.read<[number]>(echo(value)),
      (value: number) => database.readList<[number]>(() => sleepFor(0.001, value)),
      (value: number) => database.readSlowly<[number]>(sleepFor(0.003, value)),
      (value: number) => database.write<[number]>(echo(value)),
      (value: number) =>
        database.transaction(async (tx) => {
          await tx.write(echo(0));
          // Another statement outside the transaction must not wait for the end of this one.
          if (value % 3 === 0) await database.write(echo(0));
          return tx.write<[number]>(echo(value));
        }),
      async (value: number) => {
        const { connection, release } = await database.holdConnection();
        try {
          return await connection.run<[number]>(echo(value));
        } finally {
          release(value % 5 === 0);
        }
      },
    ];
    const results = await Promise.all(
      Array.from({ length: 600 }, async (_, i) => {
        await sleep((i * 7) % 50);
        return (await kinds[i % kinds.length]!(i))[0]![0];
      }),
    );
    done = true;
    await watch;
    expect(results).toEqual(Array.from({ length: 600 }, (_, i) => i));
    expect(mostOpen).toBeLessThanOrEqual(poolMax);
    expect(mostSessions).toBeLessThanOrEqual(poolMax);
    const { lanes } = database.stats();
    expect(Object.values(lanes).map(({ busy, waiting, waitTimeouts }) => [busy, waiting, waitTimeouts])).toEqual(
      // `reads` and `lists` keep a connection, but it is not busy.
      Object.values(lanes).map(() => [0, 0, 0]),
    );
  },
);

test.each([5, 8])(
  'with a budget of %i, a kind of call whose statements all hang does not delay the others',
  async (poolMax) => {
    const database = open({ poolMax, maxWaitMs: 60_000 });
    const calls = {
      lists: (text: string) => database.readList({ text, values: [] }),
      scans: (text: string) => database.readSlowly({ text, values: [] }),
      writes: (text: string) => database.write({ text, values: [] }),
      transactions: (text: string) => database.transaction((tx) => tx.write({ text, values: [] })),
      reads: (text: string) => database.read({ text, values: [] }),
    };
    for (const call of Object.values(calls)) await call('select 1');
    await admin.query('select pg_advisory_lock(1)');
    for (const [saturated, call] of Object.entries(calls)) {
      let ended = 0;
      const hanging = Array.from({ length: 30 }, () => call('select wait_for(1)').finally(() => ended++));
      const others = Object.entries(calls).filter(([name]) => name !== saturated);
      await Promise.all(others.map(([, other]) => other('select 1')));
      expect([saturated, ended]).toEqual([saturated, 0]);
      await admin.query('select pg_advisory_unlock(1)');
      await Promise.all(hanging);
      await admin.query('select pg_advisory_lock(1)');
    }
    await admin.query('select pg_advisory_unlock(1)');
  },
);

test('callers of one kind are served in the order of their calls', async () => {
  const database = open({ poolMax: 5, maxWaitMs: 60_000 });
  for (const call of [database.write, database.readSlowly]) {
    const order: number[] = [];
    await Promise.all(Array.from({ length: 40 }, (_, i) => call(echo(i)).then(() => order.push(i))));
    expect(order).toEqual(Array.from({ length: 40 }, (_, i) => i));
  }
});

test('a caller that waits too long is refused as unavailable and counted; its place goes to the next caller', async () => {
  const database = open({ poolMax: 5, maxWaitMs: 200 });
  await waitForSuccess(() => database.write(echo(0)));
  // Until then, some callers may have waited too long for the first connection.
  const before = database.stats().lanes.writes!.waitTimeouts;
  await admin.query('select pg_advisory_lock(2)');
  const holder = database.write({ text: 'select pg_advisory_xact_lock(2)', values: [] });
  await vi.waitUntil(() => database.stats().lanes.writes?.busy === 1, { timeout: 30_000 });
  await expect(database.write(echo(1))).rejects.toMatchObject({ code: '53300' });
  expect(database.stats().lanes.writes).toMatchObject({ waiting: 0, waitTimeouts: before + 1 });
  await admin.query('select pg_advisory_unlock(2)');
  await holder;
  expect(await database.write(echo(2))).toEqual([[2]]);
});

test('when the role may open no more connections, calls continue on those that are open, with one warning', async () => {
  await admin.query(`drop role if exists few; create role few login password 'few' connection limit 2`);
  const url = new URL(own.databaseUrl);
  [url.username, url.password] = ['few', 'few'];
  const warnings: string[] = [];
  const logger = createLogger('warn', 'test', { write: (line) => void warnings.push(line) });
  const database = openDatabase(url.href, 'pool-test', logger, { poolMax: 8 });
  try {
    const calls = Array.from({ length: 100 }, (_, i) => [
      database.read<[number]>(echo(i)),
      database.readList<[number]>(echo(i)),
      database.readSlowly<[number]>(echo(i)),
      database.transaction((tx) => tx.write<[number]>(echo(i))),
    ]).flat();
    const values = (await Promise.all(calls)).map(([row]) => row![0]);
    expect(values).toEqual(Array.from({ length: 400 }, (_, i) => Math.floor(i / 4)));
    expect(warnings.filter((line) => line.includes('no further database connection could be opened'))).toHaveLength(1);
    expect(database.stats().failedOpens).toBeGreaterThan(0);
    await admin.query('alter role few connection limit 20');
    // The pool tries again after a while.
    await vi.waitUntil(
      async () => {
        await Promise.all(
          Array.from({ length: 20 }, (_, i) => database.transaction((tx) => tx.write(sleepFor(0.02, i)))),
        );
        return database.stats().open > 2;
      },
      { timeout: 30_000 },
    );
  } finally {
    await database.close();
    await admin.query('drop role few');
  }
});

test.each([2, 3, 4])(
  'when the role may open only %i connections, lanes release those that they keep without using them',
  async (connectionLimit) => {
    await admin.query(
      `drop role if exists low; create role low login password 'low' connection limit ${connectionLimit}`,
    );
    const url = new URL(own.databaseUrl);
    [url.username, url.password] = ['low', 'low'];
    const database = openDatabase(url.href, 'pool-test', log, { poolMax: 8 });
    const kept = [() => database.read<[number]>(echo(0)), () => database.readList<[number]>(echo(1))];
    const others = [
      () => database.readSlowly<[number]>(echo(2)),
      () => database.write<[number]>(echo(3)),
      () => database.transaction((tx) => tx.write<[number]>(echo(4))),
    ];
    const calls = [...kept, ...others];
    try {
      for (let round = 0; round < 10; round++) {
        expect((await Promise.all(kept.map((call) => call()))).map(([row]) => row![0])).toEqual([0, 1]);
        expect((await Promise.all(others.map((call) => call()))).map(([row]) => row![0])).toEqual([2, 3, 4]);
        // Each kind of call, several times and in another order in each round.
        const indexes = Array.from({ length: 40 }, (_, i) => (i * (round + 1)) % calls.length);
        const results = await Promise.all(indexes.map((index) => calls[index]!()));
        expect(results.map(([row]) => row![0])).toEqual(indexes);
      }
      expect(Object.values(database.stats().lanes).map(({ waitTimeouts }) => waitTimeouts)).toEqual([0, 0, 0, 0, 0, 0]);
      // Connections that the server is still refusing count as open until then.
      await vi.waitUntil(() => database.stats().open <= connectionLimit, { timeout: 30_000 });
    } finally {
      await database.close();
      await admin.query('drop role low');
    }
  },
);

test('slow scans do not starve quick lists when the role may open only a few connections', async () => {
  await admin.query(`drop role if exists three; create role three login password 'three' connection limit 3`);
  const url = new URL(own.databaseUrl);
  [url.username, url.password] = ['three', 'three'];
  const database = openDatabase(url.href, 'pool-test', createLogger('silent', 'test'), { poolMax: 8 });
  try {
    await database.read(echo(0));
    const locks = Array.from({ length: 12 }, (_, i) => 100 + i);
    await admin.query('select pg_advisory_lock(lock) from unnest($1::int[]) lock', [locks]);
    let scansDone = 0;
    const scans = locks.map((lock) =>
      database.readSlowly({ text: `select wait_for(${lock})`, values: [] }).then(() => {
        scansDone += 1;
      }),
    );
    const lists = Promise.all(locks.map((lock) => database.readList<[number]>(echo(lock))));
    // The last scan goes on until all lists are done.
    await admin.query('select pg_advisory_unlock(lock) from unnest($1::int[]) lock', [locks.slice(0, -1)]);
    expect((await lists).map(([row]) => row![0])).toEqual(locks);
    expect(scansDone).toBeLessThan(12);
    await admin.query('select pg_advisory_unlock_all()');
    // On a very busy machine, the pool may have given up a scan that waited for long.
    await Promise.allSettled(scans);
  } finally {
    await database.close();
    await admin.query('drop role three');
  }
});

test('a server that stops responding fails the calls in progress, later calls fail soon, and both recover', async () => {
  const proxy = await startTcpProxy(new URL(own.databaseUrl));
  onTestFinished(() => proxy.close());
  const url = new URL(new URL(own.databaseUrl).pathname, proxy.url).href;
  const database = open({ poolMax: 8, maxWaitMs: 1000 }, url);
  const calls = [
    () => database.read(echo(1)),
    () => database.readList(echo(1)),
    () => database.readSlowly(echo(1)),
    () => database.write(echo(1)),
    () => database.transaction((tx) => tx.write(echo(1))),
  ];
  await Promise.all(calls.map(waitForSuccess));
  proxy.hang();
  const failures = await Promise.allSettled(calls.map((call) => call()));
  expect(failures.map(({ status }) => status)).toEqual(calls.map(() => 'rejected'));
  proxy.reopen();
  for (const call of calls) await waitForSuccess(call);
  expect(database.stats().open).toBeLessThanOrEqual(8);
});

test('a pool grows and shrinks with its budget, and calls in progress end normally', async () => {
  const database = open({ maxWaitMs: 60_000 });
  const runAll = (count: number) =>
    Promise.all(Array.from({ length: count }, (_, i) => database.write<[number]>(sleepFor(0.05, i))));
  const load = runAll(60);
  await vi.waitUntil(() => database.stats().lanes.writes?.busy === 4, { timeout: 30_000 });
  database.resize(28);
  await vi.waitUntil(() => database.stats().lanes.writes?.busy === 20, { timeout: 30_000 });
  database.resize(10);
  const later = runAll(60);
  expect((await load).map(([row]) => row![0])).toEqual(Array.from({ length: 60 }, (_, i) => i));
  expect(await later).toHaveLength(60);
  await vi.waitUntil(() => database.stats().open <= 10, { timeout: 30_000 });
  await runAll(60);
  expect(database.stats().open).toBeLessThanOrEqual(10);
  expect(await countSessions()).toBeLessThanOrEqual(10);
});

test('a prepared statement whose columns have changed is prepared again, except in a transaction', async () => {
  const database = open({ poolMax: 5 });
  await admin.query(
    `create table changing as select 7 as n, 'text' as t, null::timestamptz as at, '{a,null}'::text[] as l`,
  );
  const statement = { name: 'changing', text: 'select n, t, at, l from changing', values: [] };
  for (let run = 0; run < 3; run++) expect(await database.read(statement)).toEqual([[7, 'text', null, ['a', null]]]);
  await admin.query(`alter table changing alter n type text, alter t type int using 8`);
  const changed = Array(3).fill([['7', 8, null, ['a', null]]]);
  expect(await Promise.all([1, 2, 3].map(() => database.read(statement)))).toEqual(changed);
  await database.transaction(async ({ write }) => void (await write(statement)));
  await admin.query(`alter table changing alter n type int using 7`);
  const within = database.transaction(({ write }) => write(statement));
  await expect(within).rejects.toMatchObject({ code: '0A000' });
  expect(await database.transaction(({ write }) => write(statement))).toEqual([[7, 8, null, ['a', null]]]);
});

test('connections lost while idle are replaced without a failed call', async () => {
  const database = open({ poolMax: 6 });
  const calls = [() => database.read(echo(1)), () => database.readList(echo(1)), () => database.write(echo(1))];
  await Promise.all(calls.map((call) => call()));
  await admin.query(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'pool-test'`);
  await vi.waitUntil(() => database.stats().open === 0, { timeout: 30_000 });
  for (const call of calls) await call();
});

test('closing waits for calls in progress, serves those that wait, and refuses later ones', async () => {
  const database = openDatabase(own.databaseUrl, 'pool-test', log, { poolMax: 5 });
  const calls = Array.from({ length: 20 }, (_, i) =>
    i % 2 === 0 ? database.write<[number]>(sleepFor(0.01, i)) : database.readList<[number]>(sleepFor(0.01, i)),
  );
  await database.read(echo(1));
  const closed = database.close();
  await expect(database.write(echo(1))).rejects.toThrow('Client was closed');
  await expect(database.read(echo(1))).rejects.toThrow('Client was closed');
  expect((await Promise.all(calls)).map(([row]) => row![0])).toEqual(calls.map((_, i) => i));
  await closed;
  expect([database.stats().open, await countSessions()]).toEqual([0, 0]);
});

test('a transaction that Postgres rolls back rejects with the error of the failed statement, even if code catches that', async () => {
  const database = open({ poolMax: 5 });
  await admin.query('create table kept (id int primary key)');
  const insert = { text: 'insert into kept values (1)', values: [] };
  const result = database.transaction(async (tx) => {
    await tx.write(insert);
    await expect(tx.write(insert)).rejects.toMatchObject({ code: '23505' });
    await expect(tx.write(insert)).rejects.toMatchObject({ code: '25P02' });
    return 'done';
  });
  await expect(result).rejects.toMatchObject({ code: '23505' });
  const unnoticed = database.transaction(async (tx) => {
    await tx.connection.run(insert);
    await expect(tx.connection.run(insert)).rejects.toMatchObject({ code: '23505' });
  });
  await expect(unnoticed).rejects.toThrow('Postgres rolled the transaction back');
  expect((await admin.query('select 1 from kept')).rowCount).toBe(0);
  await expect(database.transaction((tx) => tx.write(insert))).resolves.toEqual([]);
  expect((await admin.query('select 1 from kept')).rowCount).toBe(1);
});

test('connections are destroyed at once, whatever the server does, and callers that wait fail', async () => {
  const proxy = await startTcpProxy(new URL(own.databaseUrl));
  onTestFinished(() => proxy.close());
  const database = open({ poolMax: 2 }, proxy.url);
  await database.read(echo(1));
  proxy.hang();
  const running = database.read(echo(2));
  const held = database.holdConnection();
  const results = Promise.allSettled([running, held]);
  database.destroy();
  await expect(database.read(echo(3))).rejects.toThrow('Client was closed');
  await expect(running).rejects.toThrow();
  await database.close();
  expect(database.stats().open).toBe(0);
  expect((await results).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});
