import pg from 'pg';
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { createApp, defineExtension, defineResource, defineUser, f } from '../../../../src/index.ts';
import type { PreparedWork } from '../../../../src/platform/work/outbox/consumer.ts';
import type { OutboxRow } from '../../../../src/platform/work/outbox/table.ts';
import { startTestApp } from '../../../support/app.ts';

const HOUR = 3_600_000;
/** Long enough that wake-ups come first, and short enough for a claim that failed because the machine is busy. */
const POLL_MS = 5000;
const task = defineResource('task', { fields: { title: f.string().required() } });
const titleOf = (row: OutboxRow) => (row.payload.record as { title: string }).title;
const isTask = (row: OutboxRow) => row.name.startsWith('task.');

/** Called with the rows before their work is prepared. Tests replace it. */
let beforePreparation: (rows: readonly OutboxRow[]) => Promise<'prepare' | 'needs a transaction'>;
/** The titles of the rows that were handled in a transaction. */
const handled: string[] = [];
/** Whether a second consumer wants the rows as well. */
let isWantedTwice = false;
/** How often work was announced after it was committed. */
let announced = 0;

const STORE = `
  insert into probe_work (event_id, title) select r.event_id, r.title from unnest($1::text[], $2::text[]) as r(event_id, title)
  where r.event_id in (select event_id from claimed)`;

const probe = () =>
  defineExtension({
    name: 'probe',
    setup: () => ({
      consumers: [
        {
          wants: isTask,
          async handle(rows, tx) {
            handled.push(...rows.map(titleOf));
            for (const row of rows)
              await tx.write({ text: 'insert into probe_work values ($1, $2)', values: [row.eventId, titleOf(row)] });
            return undefined;
          },
          preparation: {
            canPrepare(row) {
              if (titleOf(row) === 'cannot be checked') throw new Error('cannot be checked');
              return titleOf(row) !== 'not preparable';
            },
            async prepare(rows): Promise<PreparedWork | undefined> {
              if ((await beforePreparation(rows)) === 'needs a transaction') return undefined;
              return {
                statement: { name: 'probe', text: STORE, values: [rows.map((row) => row.eventId), rows.map(titleOf)] },
                afterCommit: async () => {
                  announced += 1;
                },
              };
            },
          },
        },
        { wants: (row) => isWantedTwice && isTask(row), handle: async () => undefined },
      ],
    }),
  });

const options = {
  resources: [defineUser(), task],
  extensions: [probe()],
  settings: { relay: { pollMs: POLL_MS, sweepMs: HOUR } },
};
const { app, env } = await startTestApp(options, { roles: ['web', 'relay'] });
const client = new pg.Client(env.DATABASE_URL);
await client.connect();
afterAll(() => client.end());
await client.query('create table probe_work (event_id text, title text)');

const stored = async () =>
  (await client.query<{ title: string }>('select title from probe_work order by event_id')).rows.map(
    ({ title }) => title,
  );
const waiting = async () => (await client.query('select from outbox')).rowCount ?? 0;
const create = (title: string) => app.service('task').create({ title });
const until = (condition: () => Promise<boolean> | boolean) =>
  vi.waitUntil(condition, { timeout: 60_000, interval: 10 });
const untilStored = (count: number) => until(async () => (await stored()).length === count && (await waiting()) === 0);

beforeEach(async () => {
  beforePreparation = async () => 'prepare';
  isWantedTwice = false;
  // After a test in which rows could not be claimed, the relay uses transactions for a moment.
  announced = 0;
  while (announced === 0) {
    const before = handled.length;
    await create('warm-up');
    await until(() => announced > 0 || handled.length > before);
  }
  await until(async () => (await waiting()) === 0);
  handled.length = 0;
  announced = 0;
  await client.query('truncate probe_work');
});

test('the work of a few rows is stored without a transaction, and announced once', async () => {
  await create('alone');
  await untilStored(1);
  expect(handled).toEqual([]);
  await until(() => announced === 1);
});

test.each<[when: string, prepare: () => void, title: string]>([
  ['a row cannot be prepared', () => undefined, 'not preparable'],
  [
    'the preparation asks for one',
    () => {
      beforePreparation = async () => 'needs a transaction';
    },
    'one',
  ],
  [
    'several consumers want the row',
    () => {
      isWantedTwice = true;
    },
    'two',
  ],
])('a transaction is used if %s', async (_, arrange, title) => {
  arrange();
  await create(title);
  await untilStored(1);
  expect(handled).toEqual([title]);
  expect(announced).toBe(0);
});

test('a transaction is used for more than a few rows', async () => {
  const titles = Array.from({ length: 17 }, (_, i) => `many ${i}`);
  await app.transaction(async (tx) => {
    for (const title of titles) await tx.service('task').create({ title });
  });
  await untilStored(17);
  expect(handled).toEqual(titles);
});

test('a row that changes during the preparation is not claimed: its work is prepared again', async () => {
  let times = 0;
  beforePreparation = async (rows) => {
    times += 1;
    if (times === 1)
      await client.query(
        `update outbox set payload = jsonb_set(payload, '{record,title}', '"redacted"') where id = $1`,
        [rows[0]!.id],
      );
    return 'prepare';
  };
  await create('secret');
  await untilStored(1);
  expect(await stored()).toEqual(['redacted']);
  expect(announced).toBe(0);
});

test('a row that is removed during the preparation leaves no work', async () => {
  let times = 0;
  beforePreparation = async (rows) => {
    times += 1;
    if (times === 1) await client.query('delete from outbox where id = $1', [rows[0]!.id]);
    return 'prepare';
  };
  await create('gone');
  await until(() => times === 1);
  await create('hint');
  await untilStored(1);
  expect(await stored()).toEqual(['hint']);
});

test('a row that another session has locked does not delay other rows', async () => {
  const other = new pg.Client(env.DATABASE_URL);
  await other.connect();
  onTestFinished(() => other.end());
  beforePreparation = async (rows) => {
    if (rows.some((row) => titleOf(row) === 'locked')) {
      await other.query('begin');
      await other.query('select from outbox where id = $1 for update', [rows[0]!.id]);
      beforePreparation = async () => 'prepare';
    }
    return 'prepare';
  };
  await app.transaction(async (tx) => {
    for (const title of ['locked', 'free']) await tx.service('task').create({ title });
  });
  await until(async () => (await stored()).length === 1);
  expect(await stored()).toEqual(['free']);
  await other.query('commit');
  await create('hint');
  await untilStored(3);
});

test('rows whose preparation fails are handled one by one', async () => {
  beforePreparation = async () => {
    throw new Error('cannot be prepared');
  };
  await app.transaction(async (tx) => {
    for (const title of ['first', 'second']) await tx.service('task').create({ title });
  });
  await untilStored(2);
  expect(handled).toEqual(['first', 'second']);
});

test('rows for which it cannot be decided whether they can be prepared are handled one by one', async () => {
  await create('cannot be checked');
  await untilStored(1);
  expect(handled).toEqual(['cannot be checked']);
});

test('with three relays that prepare the same rows, the work of each row is stored once', async () => {
  const more = Array.from({ length: 2 }, () => createApp({ ...options, extensions: [probe()] }, env));
  for (const one of more) await one.start({ roles: ['relay'] });
  onTestFinished(async () => void (await Promise.all(more.map((one) => one.close()))));
  for (let i = 0; i < 100; i++) {
    await create(`shared ${i}`);
    await until(async () => (await waiting()) === 0);
  }
  expect(await stored()).toEqual(Array.from({ length: 100 }, (_, i) => `shared ${i}`));
});
