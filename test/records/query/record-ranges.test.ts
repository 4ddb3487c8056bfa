import pg from 'pg';
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { defineResource, defineUser, f, softDelete } from '../../../src/index.ts';
import { openDatabase } from '../../../src/platform/data/postgres/database.ts';
import { createLogger } from '../../../src/platform/observability/log.ts';
import { createPageStatement } from '../../../src/records/query/sql/list-statements.ts';
import { rangedTotalSql } from '../../../src/records/ranges/read-sql.ts';
import { createRangeSweep } from '../../../src/records/ranges/sweep.ts';
import { compileResources } from '../../../src/records/schema/compile.ts';
import { startTestApp } from '../../support/app.ts';

const fields = () => ({ title: f.string().required().sortable(), kind: f.string().filterable() });
const open = { list: 'public', read: 'public' } as const;
const item = defineResource('item', { fields: fields(), policies: open, softDelete: true });
const entry = defineResource('entry', { fields: fields(), policies: open });
const { app, env } = await startTestApp({
  resources: [defineUser(), item, entry],
  extensions: [softDelete()],
  settings: { pagination: { maxLimit: 1000 } },
});
const database = openDatabase(env.DATABASE_URL!, 'test', createLogger('silent', 'test'), { poolMax: 8 });
afterAll(() => database.close());
const connect = async () => {
  const client = new pg.Client({ connectionString: env.DATABASE_URL });
  await client.connect();
  // A failed test must not keep the next one waiting for its locks.
  await client.query(`set lock_timeout = '5s'`);
  afterAll(() => client.end());
  return client;
};
const [client, reader, ...writers] = (await Promise.all([connect(), connect(), connect(), connect()])) as [
  pg.Client,
  pg.Client,
  pg.Client,
  pg.Client,
];

const compiled = compileResources([item, entry], 'reject');
// Small ranges, and no time for which rows are new, so that every kind of change meets every step.
const sizes = { tableRows: 50, rangeRows: 40, rowsPerStep: 300, newRows: 10, newSeconds: 0 };
const sweepOf = (name: string, newSeconds = 0) =>
  createRangeSweep(
    database,
    compiled.filter((resource) => resource.name === name),
    { ...sizes, newSeconds },
  );

const idOf = (n: number) => n.toString(16).padStart(24, '0');

async function insertRows(table: string, from: number, to: number): Promise<void> {
  await client.query(
    `insert into ${table} (id, title, kind, created_at, updated_at)
     select lpad(to_hex(n), 24, '0'), 'Item ' || n, 'k' || n % 7, time, time
     from generate_series($1::int, $2::int) n, lateral (select now() - (1 + n / 3) * interval '1 minute' as time) t`,
    [from, to],
  );
}

/** Runs the sweep until ranges cover all rows but the newest. */
async function countInRanges(name: string, table: string): Promise<void> {
  await client.query(`vacuum analyze ${table}`);
  await vi.waitUntil(
    async () => {
      await sweepOf(name).run();
      const { rows } = await client.query(
        `select 1 from ranged_tables where table_name = $1 and until > now() - interval '1 hour' and next is null`,
        [table],
      );
      return rows.length > 0;
    },
    { timeout: 20_000 },
  );
}

/** A reproducible sequence of numbers from 0 up to 1. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/**
 * Compares, in one snapshot, the total by ranges with a count, and pages by ranges with the same pages of the whole list. Returns whether
 * there were ranges.
 */
async function compareInSnapshot(name: string, random: () => number): Promise<boolean> {
  const resource = compiled.find((one) => one.name === name)!;
  const [createdAt, id] = [
    { field: 'createdAt', column: 'created_at' },
    { field: 'id', column: 'id' },
  ];
  await reader.query('begin isolation level repeatable read');
  const total = await reader.query<[string]>({ text: rangedTotalSql(resource.table), rowMode: 'array' });
  const { rows } = await reader.query<{ id: string }>(`select id from ${resource.table} order by created_at, id`);
  const ids = rows.map((row) => row.id);
  if (total.rows.length > 0) {
    expect(Number(total.rows[0]![0])).toBe(ids.length);
    for (const descending of [false, true]) {
      const sort = [createdAt, id].map((term) => ({ ...term!, descending }));
      const order = descending ? ids.toReversed() : ids;
      for (let i = 0; i < 4; i++) {
        const offset = 1 + Math.floor(random() * (ids.length + 5));
        const slice = { limit: 7, offset, after: undefined, byRanges: true };
        const { text, values } = createPageStatement(resource, '"id", "created_at"', { conditions: [], sort }, slice);
        const page = await reader.query<{ id: string }>(text, values);
        expect(page.rows.map((row) => row.id)).toEqual(order.slice(offset, offset + 7));
      }
    }
  }
  await reader.query('rollback');
  return total.rows.length > 0;
}

const untilOf = async (table: string) =>
  (await client.query<{ until: Date | number }>('select until from ranged_tables where table_name = $1', [table]))
    .rows[0]?.until;
const hasRanges = (name: string) => compareInSnapshot(name, createRandom(7));

describe('the ranges of a table', () => {
  beforeEach(async () => {
    onTestFinished(async () => {
      await writers[0].query('rollback');
    });
    await client.query('truncate entries');
    await insertRows('entries', 1, 500);
    await countInRanges('entry', 'entries');
  });

  test('cover no newer rows while an older transaction may have changed such rows without storing it', async () => {
    const [writer] = writers;
    const future = `now() + interval '1 hour'`;
    const insert = `insert into entries (id, title, created_at) select $1 || n, 'New', ${future} from generate_series(1, $2::int) n`;
    const sweep = () => sweepOf('entry', -7200).run();
    const isCovered = async () =>
      (await client.query(`select from ranged_tables where table_name = 'entries' and until > ${future}`)).rowCount ===
      1;
    await client.query(insert, ['new ', 50]);
    await writer.query('begin isolation level repeatable read');
    await writer.query(insert, ['late ', 1]);
    await writer.query(`delete from entries where id = 'new 7'`);
    for (let sweeps = 0; sweeps < 3; sweeps++) await sweep();
    expect([await isCovered(), await hasRanges('entry')]).toEqual([false, true]);
    await writer.query(`delete from entries where id = 'new 8'`);
    await writer.query(insert, ['later ', 2]);
    await writer.query('commit');
    expect(await hasRanges('entry')).toBe(true);
    // Transactions of other tests hold the sweep up, too.
    await vi.waitUntil(async () => sweep().then(isCovered), { timeout: 20_000 });
    expect(await hasRanges('entry')).toBe(true);
    // A transaction that does not end until after the ranges are counted.
    await client.query(insert, ['newest ', 50]);
    await writer.query('begin');
    await writer.query(`delete from entries where id = 'newest 7'`);
    await sweep();
    expect(await hasRanges('entry')).toBe(true);
    await writer.query('commit');
    expect(await hasRanges('entry')).toBe(true);
    expect((await client.query(`select from entries where created_at > now()`)).rowCount).toBe(48 + 3 + 49);
  });

  test('count the writes of a role that has no rights to the tables of ranges, with any search path', async () => {
    const role = `foreign_${Math.random().toString(36).slice(2)}`;
    await client.query(`create role ${role}; grant insert, select, delete on entries to ${role}`);
    onTestFinished(async () => {
      await client.query(`reset role; reset search_path; drop owned by ${role}; drop role ${role}`);
    });
    await client.query(`set role ${role}; set search_path = ''`);
    await client.query(
      `insert into public.entries (id, title, created_at) values ('foreign', 'Old', now() - interval '1 day')`,
    );
    await client.query(`delete from public.entries where id < $1`, [idOf(40)]);
    await client.query('reset role; reset search_path');
    expect(await hasRanges('entry')).toBe(true);
    expect((await client.query(`select from record_range_changes where table_name = 'entries'`)).rowCount).toBe(40);
  });

  test('count writes that replication applies', async () => {
    await client.query(`set session_replication_role = replica`);
    await client.query(`delete from entries where id < $1`, [idOf(40)]);
    await client.query('reset session_replication_role');
    expect(await hasRanges('entry')).toBe(true);
  });

  test('are gone once the table is emptied, and are counted again once it has rows', async () => {
    await client.query('truncate entries');
    expect(await hasRanges('entry')).toBe(false);
    await insertRows('entries', 1, 300);
    await countInRanges('entry', 'entries');
    expect(await hasRanges('entry')).toBe(true);
  });

  test('are gone for a table that was created anew under the name', async () => {
    await client.query(
      'begin; create table copied (like entries including all); insert into copied select * from entries limit 60',
    );
    await client.query('drop table entries; alter table copied rename to entries; commit');
    expect(await hasRanges('entry')).toBe(false);
    await countInRanges('entry', 'entries');
    expect(await hasRanges('entry')).toBe(true);
    await client.query('alter table entries disable trigger belfry_range_row_removed');
    await sweepOf('entry').run();
    expect(await untilOf('entries')).toBeUndefined();
    await client.query('alter table entries enable always trigger belfry_range_row_removed');
  });

  test('are gone while triggers are disabled, and are counted again once they are enabled', async () => {
    await client.query('alter table entries disable trigger all');
    await client.query(`delete from entries where id < $1`, [idOf(40)]);
    expect(await hasRanges('entry')).toBe(false);
    await client.query('alter table entries enable trigger all');
    expect(await hasRanges('entry')).toBe(false);
    await countInRanges('entry', 'entries');
    expect(await hasRanges('entry')).toBe(true);
  });

  test('are gone after a restore of data that sets the sequence back, and are counted again', async () => {
    await client.query(`delete from entries where id < $1`, [idOf(40)]);
    await client.query(`select setval('entries_ranged_until', 5, true)`);
    await client.query(`delete from entries where id < $1`, [idOf(80)]);
    expect(await hasRanges('entry')).toBe(false);
    await countInRanges('entry', 'entries');
    expect(await hasRanges('entry')).toBe(true);
  });

  test('do not keep a table that was replaced from being dropped', async () => {
    await client.query(`
      begin; create table entries_new (like entries including all); insert into entries_new select * from entries;
      alter table entries rename to entries_old; alter table entries_new rename to entries; commit`);
    await countInRanges('entry', 'entries');
    await client.query('drop table entries_old');
    await client.query(`delete from entries where id < $1`, [idOf(40)]);
    expect(await hasRanges('entry')).toBe(true);
  });

  test('leave nothing behind for a table that stays small after it was emptied', async () => {
    await client.query('truncate entries');
    await insertRows('entries', 1, 30);
    await client.query('delete from entries; analyze entries');
    await sweepOf('entry').run();
    const { rows } = await client.query(`
      select table_name from record_range_changes where table_name = 'entries'
      union all select table_name from record_ranges where table_name = 'entries'`);
    expect(rows).toEqual([]);
  });

  test('are joined after most of their rows are deleted, and divided after many are added to one', async () => {
    const readRanges = async () => {
      const { rows } = await client.query<{ rows: string }>(
        `select rows from record_ranges where table_name = 'entries' order by from_at, from_id`,
      );
      return rows.map((row) => Number(row.rows));
    };
    const full = await readRanges();
    expect(full.length).toBeGreaterThan(10);
    await client.query(`delete from entries where id > $1`, [idOf(60)]);
    await sweepOf('entry').run();
    expect(await readRanges()).toHaveLength(3);
    // All at one time: only the ids order them.
    await client.query(
      `insert into entries (id, title, created_at) select 'same ' || n, 'Same', now() - interval '1 hour' from generate_series(1, 500) n`,
    );
    await sweepOf('entry').run();
    const divided = await readRanges();
    expect(divided.length).toBeGreaterThan(10);
    expect(Math.max(...divided)).toBeLessThanOrEqual(2 * sizes.rangeRows);
    expect(await hasRanges('entry')).toBe(true);
  });
});

describe('while rows are written', () => {
  const service = app.service('item');
  const anyId = async (random: () => number) => {
    const { rows } = await client.query<{ id: string }>(
      'select id from items order by created_at, id offset $1 limit 1',
      [Math.floor(random() * 600)],
    );
    return rows[0]?.id ?? idOf(0);
  };

  /** Changes through services. Some of them conflict, or are rolled back. */
  async function writeByService(random: () => number, round: number): Promise<void> {
    const choice = random();
    if (choice < 0.3) await service.create({ title: `New ${round}`, kind: 'new' });
    else if (choice < 0.5) await service.createMany(Array.from({ length: 5 }, (_, i) => ({ title: `Batch ${i}` })));
    else if (choice < 0.8) await service.delete(await anyId(random));
    else
      await app.transaction(async (tx) => {
        await tx.service('item').create({ title: 'In a transaction' });
        await tx.service('item').delete(await anyId(random));
        if (random() < 0.5) throw new Error('rolled back');
      });
  }

  /** Changes by SQL alone, in transactions of several statements. */
  async function writeBySql(writer: pg.Client, random: () => number, round: number): Promise<void> {
    const place = () => Math.floor(random() * 400);
    await writer.query(`begin isolation level ${random() < 0.5 ? 'read committed' : 'repeatable read'}`);
    try {
      for (let i = 0; i < 3; i++) {
        const choice = random();
        await writer.query('savepoint one');
        if (choice < 0.3) {
          const id = `${round}-${i}-${random()}`;
          await writer.query(
            `insert into items (id, title, created_at) select $1 || '-' || n, 'Own', now() - $2 * interval '1 minute' from generate_series(1, 30) n`,
            [id, place()],
          );
        } else if (choice < 0.5)
          await writer.query(`insert into items (id, title) values ($1, 'Own')`, [`${random()}`]);
        else if (choice < 0.75)
          await writer.query(
            'delete from items where id in (select id from items order by created_at, id offset $1 limit 40 for update skip locked)',
            [place()],
          );
        else
          await writer.query(
            `update items set created_at = created_at - interval '90 minutes', id = id || 'x'
             where id in (select id from items order by created_at, id offset $1 limit 8 for update skip locked)`,
            [place()],
          );
        if (random() < 0.3) await writer.query('rollback to savepoint one');
      }
      await writer.query(random() < 0.3 ? 'rollback' : 'commit');
    } catch (error) {
      await writer.query('rollback');
      // Transactions that change the same rows.
      if (!['40001', '40P01'].includes((error as { code?: string }).code ?? '')) throw error;
    }
  }

  test('every total and every page is that of the snapshot, whoever writes the rows', async () => {
    await insertRows('items', 1, 900);
    await countInRanges('item', 'items');
    let compared = 0;
    let failed = false;
    const repeat = async (work: (round: number) => Promise<unknown>) => {
      for (let round = 0; compared < 150 && !failed; round++)
        await work(round).catch((error) => {
          failed = true;
          throw error;
        });
    };
    const [random, ofService, ...ofSql] = [1, 2, 3, 4].map(createRandom) as [() => number, () => number];
    await Promise.all([
      repeat(async () => {
        if (await compareInSnapshot('item', random)) compared += 1;
      }),
      repeat((round) => writeByService(ofService, round).catch(() => undefined)),
      ...writers.map((writer, i) => repeat((round) => writeBySql(writer, (ofSql as (() => number)[])[i]!, round))),
      // Two relays.
      repeat(() => sweepOf('item').run() as Promise<void>),
      repeat(() => sweepOf('item').run() as Promise<void>),
    ]);
    const { rows } = await client.query(
      `select count(*)::int as ranges, sum(rows)::int as rows from record_ranges where table_name = 'items'`,
    );
    expect(rows[0].ranges).toBeGreaterThan(5);
  }, 60_000);
});
