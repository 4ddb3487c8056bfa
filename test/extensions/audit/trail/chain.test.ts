import { hash } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { AuditApi } from '../../../../src/extensions/audit/index.ts';
import { appendToChain, hashEntry } from '../../../../src/extensions/audit/trail/chain.ts';
import { type AuditEvent, ENTRY_COLUMNS, toEntry } from '../../../../src/extensions/audit/trail/entry.ts';
import { createTrailRetentionSweep } from '../../../../src/extensions/audit/trail/retention.ts';
import { createTrailVerifier } from '../../../../src/extensions/audit/trail/verify.ts';
import { audit, createApp, defineResource, defineUser, f } from '../../../../src/index.ts';
import { openDatabase } from '../../../../src/platform/data/postgres/database.ts';
import { toCanonicalJson } from '../../../../src/platform/helpers/json/canonical-json.ts';
import { createLogger } from '../../../../src/platform/observability/log.ts';
import { startTestApp } from '../../../support/app.ts';

const options = () => ({
  resources: [
    defineUser(),
    defineResource('note', { fields: { title: f.string(), data: f.json(), points: f.number() }, audit: true }),
  ],
  extensions: [audit({ keepDays: 30 })],
  // Small batches, so that both relays write.
  settings: { relay: { batch: 5, streams: 4 } },
});
const { app, env } = await startTestApp(options());
const others = [createApp(options(), env), createApp(options(), env)];
const database = new Client({ connectionString: env.DATABASE_URL! });
await database.connect();
afterAll(async () => {
  await Promise.all(others.map((other) => other.close()));
  await database.end();
});
await Promise.all(others.map((other) => other.start({ roles: ['relay'] })));

const notes = app.service('note');
const own = openDatabase(env.DATABASE_URL!, 'test', createLogger('silent', 'test'));
afterAll(() => own.close());

const ENTRY: AuditEvent = {
  ...{ at: new Date().toISOString(), action: 'created', resource: null, record: null, user: null, via: null },
  ...{ credential: null, ip: null, requestId: null, changes: null, details: null },
};

async function written(count: number): Promise<void> {
  const write = (i: number) => notes.create({ title: `Note ${i}` });
  // As many concurrent writes as a busy machine completes before the pool times out.
  for (let from = 0; from < count; from += 20) {
    await Promise.all(Array.from({ length: Math.min(20, count - from) }, (_, i) => write(from + i)));
  }
  await vi.waitFor(
    async () => {
      const { rows } = await database.query('select count(*)::int as n from outbox');
      expect(rows[0].n).toBe(0);
    },
    { timeout: 60_000, interval: 25 },
  );
}

/** Runs statements with the triggers disabled, as an attacker with every privilege on the database could. */
async function tamper(...statements: string[]): Promise<void> {
  for (const table of ['audit_entries', 'audit_anchors'])
    await database.query(`alter table ${table} disable trigger user`);
  for (const statement of statements) await database.query(statement);
  for (const table of ['audit_entries', 'audit_anchors']) {
    await database.query(`alter table ${table} enable always trigger audit_row_stays`);
    await database.query(`alter table ${table} enable always trigger audit_table_stays`);
  }
}

const { verify } = (app as unknown as { audit: AuditApi }).audit;
beforeEach(() => tamper('truncate audit_entries', 'truncate audit_anchors'));
afterEach(() => tamper());

test('two relays with four streams each write one chain without gaps, each change once', async () => {
  await written(200);
  const { rows } = await database.query(
    'select count(*)::int as n, min(id)::int as least, max(id)::int as most, count(distinct record_id)::int as records from audit_entries',
  );
  expect(rows[0]).toEqual({ n: 200, least: 1, most: 200, records: 200 });
  expect(await verify()).toMatchObject({ rows: 200, head: { id: 200 }, broken: undefined, guarded: true });
});

test('values read from the database have the same hash as when they were written', async () => {
  const data = {
    1: [1e21, 1e-7, -0, 0.1, 2 ** 53 - 1],
    b: { ä: '\u2028"\\', '': null },
    'a.b': [{}, []],
    __proto__x: true,
  };
  const { id } = await notes.create({ data, points: 1e300 });
  await notes.update(id, { data: { ...data, 1: 'other' }, points: -1.5e-10 });
  await written(1);
  expect(await verify()).toMatchObject({ rows: 3, broken: undefined });
});

test('a number that JavaScript cannot hold has the hash of the value that is stored', async () => {
  const { id } = await notes.create({ data: { big: 1 } });
  await database.query(`update notes set data = '{"big": 1e400, "list": [1e400]}' where id = $1`, [id]);
  await notes.update(id, { points: 1 });
  await notes.update(id, { data: null });
  await written(1);
  expect(await verify()).toMatchObject({ rows: 4, broken: undefined });
});

test('the hash of an entry covers the canonical JSON of all its values', () => {
  const entry = {
    ...{ id: 7, at: '2030-01-31T12:00:00.000Z', action: 'updated', resource: 'note', record: '"\n\u2028ä', user: null },
    ...{ via: 'session', credential: 'c', ip: '::1', requestId: 'r', previousHash: 'a'.repeat(64) },
    ...{ changes: { title: { to: 'new', from: [1e21, { b: 1, a: null }] } }, details: { z: 1, a: '2' } },
  };
  expect(hashEntry(entry)).toBe(hash('sha256', toCanonicalJson(entry)));
});

test('a batch of large entries is written in several statements, in order', async () => {
  const { id } = await notes.create({ title: 'many' });
  await written(0);
  const row = { ...ENTRY, action: 'updated', resource: 'note', record: id, details: { text: 'a'.repeat(1_500_000) } };
  await own.transaction((tx) => appendToChain(tx, [row, row, row, row, { ...row, details: null }]));
  expect(await verify()).toMatchObject({ rows: 6, head: { id: 6 }, broken: undefined });
});

test('texts that mean something else to `copy` are stored as they are, and null stays null', async () => {
  const odd = ['\\N', '\\.', 'a\tb\nc\r\\', '\\t', '', '\u2028ä😀'];
  const rows = odd.map((text): AuditEvent => {
    const changes = { [text]: { from: null, to: text }, 'a.b': { to: [text, { [text]: '\\n' }] } };
    return { ...ENTRY, record: text, ip: text, changes, details: { text }, erasable: { owner: text, fields: [text] } };
  });
  await own.transaction((tx) => appendToChain(tx, rows));
  onTestFinished(() => void database.query('truncate audit_values'));
  const stored = await database.query({
    text: 'select record_id, ip, user_id, details, owner_id, values_by_field from audit_entries join audit_values on entry_id = id order by id',
    rowMode: 'array',
  });
  expect(stored.rows).toEqual(
    odd.map((text) => [text, text, null, { text }, text, { [text]: { from: null, to: text } }]),
  );
  expect(await verify()).toMatchObject({ rows: odd.length, broken: undefined });
});

test('an entry that Postgres refuses fails alone, and the next batch follows the last stored one', async () => {
  const refused = { ...ENTRY, details: { text: 'a\u0000b' } };
  await expect(own.transaction((tx) => appendToChain(tx, [ENTRY, refused]))).rejects.toMatchObject({ code: '22P05' });
  await own.transaction((tx) => appendToChain(tx, [ENTRY, ENTRY]));
  expect(await verify()).toMatchObject({ rows: 2, head: { id: 2 }, broken: undefined });
});

test('a process that dies between the rows of an entry leaves none of them', async () => {
  const blocking = new Client({ connectionString: env.DATABASE_URL! });
  await blocking.connect();
  onTestFinished(() => blocking.end());
  await blocking.query('begin; lock table audit_values in share mode');
  const dying = openDatabase(env.DATABASE_URL!, 'dying', createLogger('silent', 'test'));
  const sealed: AuditEvent = { ...ENTRY, changes: { title: { to: 'a' } }, erasable: { owner: 'o', fields: ['title'] } };
  const appended = dying.transaction((tx) => appendToChain(tx, [sealed]));
  appended.catch(() => undefined);
  await vi.waitFor(async () => {
    const text = `select 1 from pg_stat_activity where query like 'copy audit_values%' and wait_event_type = 'Lock'`;
    expect((await database.query(text)).rowCount).toBe(1);
  });
  dying.destroy();
  await expect(appended).rejects.toThrow();
  await blocking.query('commit');
  await own.transaction((tx) => appendToChain(tx, [ENTRY]));
  expect(await verify()).toMatchObject({ rows: 1, head: { id: 1 }, broken: undefined });
  expect((await database.query('select from audit_values')).rowCount).toBe(0);
});

test('an event of another release without all values is recorded with nulls', async () => {
  const { requestId: _, ...known } = ENTRY;
  const event = { ...known, action: 'auth.login', invented: 1 } as unknown as AuditEvent;
  await own.transaction((tx) => appendToChain(tx, [event, ENTRY]));
  expect(await verify()).toMatchObject({ rows: 2, broken: undefined });
});

describe('the role of the app cannot', () => {
  test.each([
    ['change a row', 'update audit_entries set user_id = null where id = 1'],
    ['change an old row', `update audit_entries set user_id = null where id = 2`],
    ['remove a row', 'delete from audit_entries where id = 1'],
    ['empty the table', 'truncate audit_entries'],
    ['change an anchor', 'update audit_anchors set id = 9'],
    ['remove the newest anchor', 'delete from audit_anchors'],
    ['empty the anchors', 'truncate audit_anchors'],
  ])('%s', async (_what, statement) => {
    await written(2);
    await tamper(
      `update audit_entries set at = now() - interval '31 days' where id = 2`,
      `insert into audit_anchors values (0, '')`,
    );
    await expect(database.query(statement)).rejects.toMatchObject({ code: '42501' });
  });

  test('disable the protection if it does not own the tables, and the app still works', async () => {
    await written(1);
    const role = `audit_app_${process.pid}`;
    await database.query(
      `create role ${role}; grant select, insert, delete on audit_entries, audit_anchors to ${role}`,
    );
    onTestFinished(async () => {
      await database.query(`drop owned by ${role}; drop role ${role}`);
    });
    const asApp = new Client({ connectionString: env.DATABASE_URL!, options: `-c role=${role}` });
    await asApp.connect();
    onTestFinished(() => asApp.end());
    for (const statement of [
      'alter table audit_entries disable trigger audit_row_stays',
      'drop trigger audit_row_stays on audit_entries',
      'drop table audit_entries',
      'set session_replication_role = replica',
      'create or replace function audit_stays() returns trigger language plpgsql as $$ begin return old; end $$',
      'create or replace function audit_keep_days() returns integer language sql as $$ select 0 $$',
      'update audit_entries set user_id = null',
      'delete from audit_entries',
      'truncate audit_entries',
    ])
      await expect(asApp.query(statement), statement).rejects.toMatchObject({ code: '42501' });
    await asApp.query(`insert into audit_anchors values (0, ''), (1, '')`);
    await asApp.query('delete from audit_anchors where id = 0');
  });

  test('bypass the protection with its own operators and functions in a schema where it may create them', async () => {
    await written(1);
    const role = `audit_maker_${process.pid}`;
    const schema = `${role}_things`;
    await database.query(
      `create role ${role}; create schema ${schema} authorization ${role}; grant select, insert, delete on audit_entries, audit_anchors to ${role}`,
    );
    onTestFinished(async () => {
      await database.query(`drop owned by ${role} cascade; drop role ${role}`);
    });
    const options = `-c role=${role} -c search_path=${schema},pg_catalog,public`;
    const asMaker = new Client({ connectionString: env.DATABASE_URL!, options });
    await asMaker.connect();
    onTestFinished(() => asMaker.end());
    await asMaker.query(`
      create function always(timestamptz, timestamptz) returns boolean language sql as 'select true';
      create operator <= (leftarg = timestamptz, rightarg = timestamptz, function = always)`);
    await expect(asMaker.query('delete from audit_entries')).rejects.toMatchObject({ code: '42501' });
  });

  test('remove rows, except rows older than keepDays', async () => {
    await written(1);
    await tamper(`update audit_entries set at = now() - interval '31 days'`);
    expect((await database.query('delete from audit_entries')).rowCount).toBe(1);
  });
});

describe('verification names the first broken row', () => {
  test.each([
    ['a changed value', `update audit_entries set changes = '{"title":{"to":"Forged"}}' where id = 4`, 4, 'changed'],
    ['a changed time', `update audit_entries set at = at + interval '1 second' where id = 4`, 4, 'changed'],
    ['another user', `update audit_entries set user_id = '${'a'.repeat(24)}' where id = 4`, 4, 'changed'],
    ['another hash', `update audit_entries set hash = repeat('a', 64) where id = 4`, 4, 'changed'],
    ['a removed row', 'delete from audit_entries where id = 4', 4, 'missing'],
    ['several removed rows', 'delete from audit_entries where id in (4, 5, 7)', 4, 'missing'],
    ['a removed first row', 'delete from audit_entries where id = 1', 1, 'missing'],
    [
      'two swapped rows',
      'update audit_entries set id = case id when 4 then -5 when 5 then -4 end where id in (4, 5); update audit_entries set id = -id where id < 0',
      4,
      'unlinked',
    ],
    ['an anchor above existing rows', `insert into audit_anchors values (3, repeat('a', 64))`, 1, 'unlinked'],
  ])('%s', async (_what, statement, id, fault) => {
    await written(8);
    await tamper(statement);
    expect((await verify()).broken).toEqual({ id, fault });
  });

  test('a forged row with a matching hash makes the next row invalid', async () => {
    await written(3);
    const rowMode = 'array';
    const { rows } = await database.query({
      text: `select ${ENTRY_COLUMNS} from audit_entries where id = 2`,
      rowMode,
    } as never);
    const row = rows[0] as unknown[];
    const entry = toEntry([2, (row[1] as Date).toISOString(), ...row.slice(2)] as never);
    expect(hashEntry(entry)).toBe(entry.hash);
    const forged = hashEntry({ ...entry, user: 'a'.repeat(24) });
    await tamper(`update audit_entries set user_id = '${'a'.repeat(24)}', hash = '${forged}' where id = 2`);
    expect((await verify()).broken).toEqual({ id: 3, fault: 'unlinked' });
  });

  test('an expected row reveals missing newest rows and a rewritten chain', async () => {
    await written(5);
    const { head } = await verify();
    expect(await verify({ expected: head })).toMatchObject({ expected: 'there' });
    await tamper('delete from audit_entries where id > 3');
    expect(await verify()).toMatchObject({ broken: undefined, head: { id: 3 } });
    expect(await verify({ expected: head })).toMatchObject({ broken: undefined, expected: 'gone' });
    await written(4);
    expect(await verify({ expected: head })).toMatchObject({ broken: undefined, expected: 'gone' });
  });

  test('a disabled or missing trigger is reported', async () => {
    await database.query('alter table audit_entries disable trigger audit_row_stays');
    expect(await verify()).toMatchObject({ guarded: false });
  });
});

describe('retention', () => {
  const sweep = createTrailRetentionSweep({ database: own }, 30);
  const DAY_MS = 86_400_000;

  /** Writes rows with these ages in days, in this order. */
  async function happened(...daysAgo: number[]): Promise<void> {
    const rows = daysAgo.map((days) => ({
      ...ENTRY,
      at: new Date(Date.now() - days * DAY_MS).toISOString(),
      resource: 'note',
    }));
    await own.transaction((tx) => appendToChain(tx, rows));
  }
  const ids = async () =>
    (await database.query('select id::int from audit_entries order by id')).rows.map(({ id }) => id);

  test('removes old rows up to the first newer one and reports their number, and the rest verifies from an anchor', async () => {
    await happened(50, 40, 31, 29, 35, 1);
    const { head } = await verify();
    expect(await sweep.run()).toBe(3);
    expect(await ids()).toEqual([4, 5, 6]);
    expect(await verify({ expected: head })).toMatchObject({ rows: 3, head, broken: undefined, expected: 'there' });
    expect(await verify({ expected: { id: 2, hash: 'any' } })).toMatchObject({ expected: 'removed' });
    expect(await sweep.run()).toBe(0);
    expect(await ids()).toEqual([4, 5, 6]);
    await happened(0);
    expect(await verify()).toMatchObject({ rows: 4, head: { id: 7 }, broken: undefined });
  });

  test('continues from an anchor when all rows are removed, and keeps one anchor', async () => {
    await happened(50, 40);
    await sweep.run();
    await happened(60, 0);
    await sweep.run();
    expect(await ids()).toEqual([4]);
    expect((await database.query('select id::int from audit_anchors')).rows).toEqual([{ id: 3 }]);
    expect(await verify()).toMatchObject({ rows: 1, head: { id: 4 }, broken: undefined });
  });

  test('does not disturb a verification, whenever it removes rows', async () => {
    // A verification reads the triggers, the anchor and some pages, and the anchor again where rows are missing.
    const reads = 8;
    for (let first = 0; first < reads; first++) {
      for (let second = first; second < reads; second++) {
        await tamper('truncate audit_entries', 'truncate audit_anchors');
        await happened(50, 50, 50, 40, 40, 40, 1, 1);
        let read = 0;
        const interrupted: typeof own.readSlowly = async (statement) => {
          if (read === first) await createTrailRetentionSweep({ database: own }, 45).run();
          if (read === second) await sweep.run();
          read += 1;
          return own.readSlowly(statement);
        };
        const verifyInterrupted = createTrailVerifier({ readSlowly: interrupted });
        expect(await verifyInterrupted(), `rows removed before reads ${first} and ${second}`).toMatchObject({
          head: { id: 8 },
          broken: undefined,
        });
      }
    }
  });

  test('works with thousands of rows in several relays, during writes and verification', async () => {
    await happened(...Array.from({ length: 2500 }, () => 40), ...Array.from({ length: 200 }, () => 1));
    const [one, two, removed, removedToo] = await Promise.all([
      verify(),
      verify(),
      sweep.run(),
      sweep.run(),
      written(50),
    ]);
    expect(Number(removed) + Number(removedToo)).toBe(2500);
    expect([one.broken, two.broken]).toEqual([undefined, undefined]);
    expect(await verify()).toMatchObject({ rows: 250, head: { id: 2750 }, broken: undefined });
  });

  test('cannot use a shorter time than the migration: the database refuses it', async () => {
    await happened(20);
    await expect(createTrailRetentionSweep({ database: own }, 10).run()).rejects.toMatchObject({ code: '42501' });
    expect(await ids()).toEqual([1]);
  });
});
