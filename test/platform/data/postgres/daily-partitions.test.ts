import { Client } from 'pg';
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createPartitions } from '../../../../src/platform/data/postgres/daily-partitions.ts';
import { openDatabase } from '../../../../src/platform/data/postgres/database.ts';
import { createLogger } from '../../../../src/platform/observability/log.ts';
import { createPartitionSweep } from '../../../../src/platform/work/leased-work/daily-partition-sweep.ts';
import { createTestDatabase } from '../../../support/database/test-database.ts';

const DAY_MS = 86_400_000;
const KEEP_DAYS = 7;
const partitions = { table: 'entries', column: 'at', keepMs: KEEP_DAYS * DAY_MS };
const options = { name: 'entries', everyMs: 1000, partitions };

const own = await createTestDatabase();
const client = new Client({ connectionString: own.databaseUrl });
await client.connect();
const database = openDatabase(own.databaseUrl, 'test', createLogger('silent', 'test'));
const silent = createLogger('silent', 'test');
afterAll(async () => {
  await database.close();
  await client.end();
  await own.drop();
});

beforeEach(async () => {
  await client.query(`
    drop table if exists entries;
    create table entries (id int not null, at timestamptz(3) not null default now(), text text) partition by range (at);
    create table entries_default partition of entries default;
    create index entries_id_index on entries (id)`);
});

/** Returns the name of the partition of a day, counted from today. */
const partitionOf = (day: number) =>
  `entries_${new Date(Date.now() + day * DAY_MS).toISOString().slice(0, 10).replaceAll('-', '')}`;
const AHEAD = [0, 1, 2, 3];

async function partitionNames(): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'entries'::regclass order by 1`,
  );
  return rows.map(({ name }) => name).filter((name) => name !== 'entries_default');
}

/** Adds a row whose time is this many days before now. */
const addRow = (id: number, daysAgo: number) =>
  client.query(`insert into entries (id, at) values ($1, now() - $2 * interval '1 day')`, [id, daysAgo]);

/** Returns the ids of all rows, each with the table that stores it. */
async function storedRows(): Promise<Record<string, string>> {
  const { rows } = await client.query('select id, tableoid::regclass::text as name from entries order by id');
  return Object.fromEntries(rows.map(({ id, name }) => [id, name]));
}

/** Creates the partitions from this many days ago. */
const createFrom = (daysAgo: number) => createPartitions(database, partitions, Date.now() - daysAgo * DAY_MS);
const createSweep = (over = database, log = silent) => createPartitionSweep(over, log, options);

/** Creates a sweep whose log lines are collected. */
function createLoggedSweep(over = database) {
  const lines: Record<string, unknown>[] = [];
  const log = createLogger('info', 'test', { write: (line) => void lines.push(JSON.parse(line)) });
  return { sweep: createSweep(over, log), lines };
}

/** Runs a function while another session holds a lock on a table in this mode. */
async function whileLocked(table: string, mode: string, work: () => Promise<void>): Promise<void> {
  const holder = new Client({ connectionString: own.databaseUrl });
  await holder.connect();
  try {
    await holder.query(`begin; lock table ${table} in ${mode} mode`);
    await work();
  } finally {
    await holder.end();
  }
}

describe('creating partitions', () => {
  test('the partitions of today and the next three days exist after a sweep, with the indexes of the table, and a second sweep changes nothing', async () => {
    expect(await createSweep().run()).toBe(4);
    expect(await partitionNames()).toEqual(AHEAD.map(partitionOf));
    const { rows } = await client.query(
      `select count(*)::int as n from pg_indexes where tablename = any($1) and indexdef like '%(id)'`,
      [AHEAD.map(partitionOf)],
    );
    expect(rows).toEqual([{ n: 4 }]);
    const identities = () => client.query(`select inhrelid from pg_inherits where inhparent = 'entries'::regclass`);
    const before = (await identities()).rows;
    expect(await createSweep().run()).toBe(0);
    expect((await identities()).rows).toEqual(before);
  });

  test('rows are stored in the partition of their day, in UTC', async () => {
    await createFrom(1);
    const [yesterday, today] = [-1, 0].map((day) => new Date(Date.now() + day * DAY_MS).toISOString().slice(0, 10));
    await client.query(`insert into entries (id, at) values (1, $1), (2, $2)`, [
      `${yesterday}T23:59:59.999Z`,
      `${today}T00:00:00.000Z`,
    ]);
    expect(await storedRows()).toEqual({ 1: partitionOf(-1), 2: partitionOf(0) });
  });

  test('ten relays that sweep at the same time create each partition once, and lose no row that is written meanwhile', async () => {
    let isSweeping = true;
    let id = 0;
    const writing = (async () => {
      while (isSweeping) await addRow(++id, 0);
    })();
    for (let round = 0; round < 3; round++) {
      await Promise.all(Array.from({ length: 10 }, () => createSweep().run()));
      expect(await partitionNames()).toEqual(AHEAD.map(partitionOf));
      if (round < 2) {
        // Later rounds start without the partition of today, into which rows are written.
        await client.query(`
          begin;
          lock table entries in access exclusive mode;
          alter table entries detach partition ${partitionOf(0)};
          insert into entries select * from ${partitionOf(0)};
          drop table ${partitionOf(0)};
          commit`);
      }
    }
    isSweeping = false;
    await writing;
    const stored = await storedRows();
    expect(Object.keys(stored)).toHaveLength(id);
    expect(new Set(Object.values(stored))).toEqual(new Set([partitionOf(0)]));
  });

  test('rows of the default partition move to the partition of their day, and rows of other days stay', async () => {
    await addRow(1, 0);
    await addRow(2, 2);
    await addRow(3, -1);
    await addRow(4, -30);
    await client.query(`update entries set text = 'kept' where id = 1`);
    expect(new Set(Object.values(await storedRows()))).toEqual(new Set(['entries_default']));
    await createSweep().run();
    expect(await storedRows()).toEqual({
      1: partitionOf(0),
      2: 'entries_default',
      3: partitionOf(1),
      4: 'entries_default',
    });
    expect((await client.query('select text from entries where id = 1')).rows).toEqual([{ text: 'kept' }]);
    await createFrom(2);
    expect(await storedRows()).toMatchObject({ 2: partitionOf(-2) });
  });
});

describe('a large default partition', () => {
  const bloat = `
    alter table entries_default set (fillfactor = 10, autovacuum_enabled = false);
    insert into entries (id, text) select n, repeat('x', 600) from generate_series(1, 33000) n;
    delete from entries`;
  test.each([
    [
      'of 20,001 rows',
      `insert into entries (id, at) select n, now() - interval '5 days' from generate_series(1, 20001) n`,
      'delete from entries where id = 1',
    ],
    ['of 257 MB, even without rows,', bloat, 'truncate entries_default'],
  ])(
    '%s is not read while requests wait: no partition is created, with one warning, until it is smaller',
    async (_, fill, shrink) => {
      await client.query(fill);
      const { sweep, lines } = createLoggedSweep();
      for (let i = 0; i < 2; i++) expect(await sweep.run()).toBe(0);
      expect(await partitionNames()).toEqual([]);
      expect(lines).toEqual([
        expect.objectContaining({
          level: 'warn',
          table: 'entries',
          msg: expect.stringContaining('No partitions are created'),
        }),
      ]);
      await client.query(shrink);
      expect(await sweep.run()).toBe(4);
    },
  );

  test('makes no session wait while its rows are counted', async () => {
    await whileLocked('entries', 'row exclusive', async () => {
      await client.query(
        `insert into entries (id, at) select n, now() - interval '5 days' from generate_series(1, 20001) n`,
      );
      // A sweep that wanted the lock would log that another session holds the table.
      const { sweep, lines } = createLoggedSweep();
      await sweep.run();
      expect(lines).toEqual([expect.objectContaining({ msg: expect.stringContaining('20000 rows') })]);
    });
  });
});

describe('old rows', () => {
  test('a partition is dropped once its last moment is older than the retention time, and not before', async () => {
    await createFrom(KEEP_DAYS + 3);
    await createSweep().run();
    const [oldest] = await partitionNames();
    // The day on which the retention time ends still has rows that are kept.
    expect(oldest).toBe(partitionOf(-KEEP_DAYS));
    expect(await partitionNames()).toHaveLength(KEEP_DAYS + 4);
    await addRow(1, KEEP_DAYS - 0.001);
    await createSweep().run();
    expect(Object.keys(await storedRows())).toEqual(['1']);
  });

  test('old rows of the default partition are deleted, however many they are, and no others', async () => {
    await client.query(
      `insert into entries (id, at) select n, now() - ${KEEP_DAYS} * interval '1 day' - interval '1 minute' from generate_series(1, 2500) n`,
    );
    await addRow(9001, KEEP_DAYS - 0.001);
    await addRow(9002, -30);
    await createSweep().run();
    expect(Object.keys(await storedRows())).toEqual(['9001', '9002']);
  });

  test('they are deleted without reading the partition of a day that is kept', async () => {
    await createFrom(KEEP_DAYS);
    await addRow(1, KEEP_DAYS + 1);
    // A statement that reads this partition would wait.
    await whileLocked(partitionOf(-KEEP_DAYS), 'access exclusive', async () => {
      expect(await createSweep().run()).toBe(1);
    });
    expect(await storedRows()).toEqual({});
  });
});

describe('while another session holds a lock', () => {
  const gaveUp = (task: string) => {
    const msg = `Could not ${task}, because another session holds the table; tried again with the next sweep`;
    return expect.objectContaining({ level: 'info', table: 'entries', msg });
  };

  test.each([
    ['the table', 'entries', 'share update exclusive'],
    ['the default partition, as a long-running query does,', 'entries_default', 'access share'],
  ])('on %s a sweep creates nothing and does not fail; the next one succeeds', async (_, table, mode) => {
    await addRow(1, 0);
    const { sweep, lines } = createLoggedSweep();
    await whileLocked(table, mode, async () => {
      expect(await sweep.run()).toBe(0);
      // The sweep has given up its place in the queue of the lock, so others can write.
      await addRow(2, 0);
      expect(await partitionNames()).toEqual([]);
    });
    expect(await sweep.run()).toBe(4);
    expect(await storedRows()).toEqual({ 1: partitionOf(0), 2: partitionOf(0) });
    expect(lines).toEqual([gaveUp('create partitions of entries')]);
  });

  test('on an old partition, a sweep keeps it and does not fail; the next one drops it', async () => {
    await createFrom(KEEP_DAYS + 1);
    const { sweep, lines } = createLoggedSweep();
    await whileLocked(partitionOf(-KEEP_DAYS - 1), 'access share', async () => {
      expect(await sweep.run()).toBe(0);
      await addRow(1, 0);
      expect(await partitionNames()).toContain(partitionOf(-KEEP_DAYS - 1));
    });
    expect(await sweep.run()).toBe(1);
    expect(await partitionNames()).not.toContain(partitionOf(-KEEP_DAYS - 1));
    expect(lines).toEqual([gaveUp('drop old partitions of entries')]);
  });
});

describe('with a role that may not change the table', () => {
  /** Opens the database as a role that may only read and write rows. */
  async function openAsWriter() {
    await client.query(`create role entry_writer login password 'entry_writer'`);
    await client.query('grant select, insert, update, delete on all tables in schema public to entry_writer');
    const url = new URL(own.databaseUrl);
    [url.username, url.password] = ['entry_writer', 'entry_writer'];
    const restricted = openDatabase(url.href, 'test', silent);
    onTestFinished(async () => {
      await restricted.close();
      await client.query('drop owned by entry_writer; drop role entry_writer');
    });
    return { restricted, ...createLoggedSweep(restricted) };
  }

  test('rows are stored and old ones deleted all the same, and the log warns once', async () => {
    await client.query('revoke create on schema public from public');
    const { restricted, sweep, lines } = await openAsWriter();
    for (const id of [1, 2]) {
      await restricted.write({ text: 'insert into entries (id) values ($1)', values: [id] });
      await addRow(id + 10, KEEP_DAYS + 1);
      expect(await sweep.run()).toBe(1);
    }
    expect(await storedRows()).toEqual({ 1: 'entries_default', 2: 'entries_default' });
    expect(await partitionNames()).toEqual([]);
    expect(lines).toEqual([
      expect.objectContaining({ table: 'entries', msg: expect.stringContaining('owner of the table') }),
    ]);
  });

  test('old rows of the default partition are deleted if it may use only the table, without reading a day that is kept', async () => {
    await createFrom(KEEP_DAYS);
    await addRow(1, KEEP_DAYS + 2);
    const { sweep, lines } = await openAsWriter();
    await client.query(`revoke all on entries_default, ${partitionOf(-KEEP_DAYS)} from entry_writer`);
    await whileLocked(partitionOf(-KEEP_DAYS), 'access exclusive', async () => {
      expect(await sweep.run()).toBe(1);
    });
    expect(await storedRows()).toEqual({});
    expect(lines).toEqual([]);
  });

  test('partitions that its owner created before stay, and their old rows are deleted', async () => {
    await createFrom(KEEP_DAYS + 2);
    await addRow(1, KEEP_DAYS + 2);
    await addRow(2, 1);
    const { sweep, lines } = await openAsWriter();
    for (let i = 0; i < 2; i++) await sweep.run();
    expect(await storedRows()).toEqual({ 2: partitionOf(-1) });
    expect(await partitionNames()).toContain(partitionOf(-KEEP_DAYS - 2));
    expect(lines).toHaveLength(1);
    // The next sweep of a process that owns the table drops them.
    await createSweep().run();
    expect((await partitionNames())[0]).toBe(partitionOf(-KEEP_DAYS));
  });
});

describe('with a role that is a member of the owner', () => {
  /** Makes a role the owner of the table, and opens the database as a member of it. */
  async function openAsMember() {
    await client.query(`
      create role entry_owner;
      create role entry_member login password 'entry_member' in role entry_owner;
      grant create on schema public to entry_member;
      alter table entries owner to entry_owner;
      alter table entries_default owner to entry_owner`);
    const url = new URL(own.databaseUrl);
    [url.username, url.password] = ['entry_member', 'entry_member'];
    const member = openDatabase(url.href, 'test', silent);
    onTestFinished(async () => {
      await member.close();
      await client.query('drop owned by entry_owner, entry_member cascade; drop role entry_owner, entry_member');
    });
    return createLoggedSweep(member);
  }

  async function partitionOwners(): Promise<string[]> {
    const { rows } = await client.query<{ owner: string }>(`
      select distinct pg_get_userbyid(c.relowner) as owner from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = 'entries'::regclass and c.relname <> 'entries_default'`);
    return rows.map(({ owner }) => owner);
  }

  test('partitions belong to the owner of the table, so that its migrations can change them', async () => {
    const { sweep, lines } = await openAsMember();
    await client.query('grant create on schema public to entry_owner');
    await addRow(1, 0);
    expect(await sweep.run()).toBe(4);
    expect(await partitionOwners()).toEqual(['entry_owner']);
    await client.query('set role entry_owner');
    await client.query('alter table entries add column more int').finally(() => client.query('reset role'));
    expect(await storedRows()).toEqual({ 1: partitionOf(0) });
    expect(lines).toEqual([]);
  });

  test('partitions are created also if the owner may own no table in the schema', async () => {
    await client.query('revoke create on schema public from public');
    const { sweep, lines } = await openAsMember();
    expect(await sweep.run()).toBe(4);
    expect(await partitionOwners()).toEqual(['entry_member']);
    expect(lines).toEqual([]);
  });
});

describe('many days', () => {
  const sweepFor = (keepDays: number, over = database) => {
    const lines: Record<string, unknown>[] = [];
    const log = createLogger('info', 'test', { write: (line) => void lines.push(JSON.parse(line)) });
    const kept = { ...options, partitions: { ...partitions, keepMs: keepDays * DAY_MS } };
    return { sweep: createPartitionSweep(over, log, kept), lines };
  };

  test('a relay warns once if statements that lock all partitions may need more locks than Postgres has', async () => {
    const { sweep, lines } = sweepFor(91);
    for (let i = 0; i < 2; i++) await sweep.run();
    const advice = 'Raise max_locks_per_transaction of Postgres from 64 to at least 910';
    expect(lines).toEqual([
      expect.objectContaining({ level: 'warn', table: 'entries', msg: expect.stringContaining(advice) }),
    ]);
  });

  test('it does not warn for up to 90 days, nor if Postgres has enough locks', async () => {
    const few = sweepFor(90);
    await few.sweep.run();
    type Write = typeof database.write;
    const write = ((statement) =>
      (statement as { text: string }).text.includes('max_locks_per_transaction')
        ? Promise.resolve([[910]])
        : database.write(statement)) as Write;
    const enough = sweepFor(91, { ...database, write });
    await enough.sweep.run();
    expect([...few.lines, ...enough.lines]).toEqual([]);
  });
});

test('the clock of Postgres decides which partitions are created and dropped, not that of the relay', async () => {
  await createFrom(KEEP_DAYS);
  const before = await partitionNames();
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  for (const days of [-30, 30]) {
    vi.setSystemTime(Date.now() + days * DAY_MS);
    await createSweep().run();
    expect(await partitionNames()).toEqual(before);
  }
});

test('a day with many rows in the default partition gets no partition, so that nothing waits while rows move', async () => {
  await client.query('insert into entries (id) select generate_series(1, 5001)');
  const { sweep, lines } = createLoggedSweep();
  for (const created of [AHEAD.length - 1, 0]) expect(await sweep.run()).toBe(created);
  expect(lines).toEqual([
    expect.objectContaining({ level: 'info', msg: expect.stringContaining(`gets no partition`) }),
  ]);
  expect(await partitionNames()).toEqual(AHEAD.slice(1).map(partitionOf));
  expect(Object.keys(await storedRows())).toHaveLength(5001);
  await client.query('delete from entries where id > 5000');
  expect(await createFrom(0)).toBe(1);
  expect(new Set(Object.values(await storedRows()))).toEqual(new Set([partitionOf(0)]));
});

test('a day that a statement timeout interrupts is tried again with the next sweep, and old rows are deleted all the same', async () => {
  await addRow(1, KEEP_DAYS + 1);
  const slow = {
    ...database,
    transaction: () => Promise.reject(Object.assign(new Error('canceling statement'), { code: '57014' })),
  };
  const { sweep, lines } = createLoggedSweep(slow as unknown as typeof database);
  await sweep.run();
  expect(lines).toEqual([
    expect.objectContaining({ level: 'info', msg: expect.stringContaining('Postgres took too long') }),
  ]);
  expect(await storedRows()).toEqual({});
  await createSweep().run();
  expect(await partitionNames()).toEqual(AHEAD.map(partitionOf));
});
