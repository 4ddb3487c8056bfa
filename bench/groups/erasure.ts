import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { request } from 'undici';
import { createPartitions } from '../../src/platform/data/postgres/daily-partitions.ts';
import { openDatabase } from '../../src/platform/data/postgres/database.ts';
import { DAY_MS } from '../../src/platform/helpers/duration.ts';
import { createLogger } from '../../src/platform/observability/log.ts';
import { createErasureApp } from '../apps/erasure.ts';
import { type Bench, createRatio, type Figure, type Group } from '../figure.ts';
import type { Child } from '../setup/children.ts';
import { withClient, withOwnDatabase } from '../setup/database.ts';
import { createBelfryEnvironment } from '../setup/environment.ts';
import { getSessionToken, getUserId, insertUsers, PASSWORD, USERS } from '../setup/seed.ts';

const ERASURE = 'scale.erasure';
const EXPORT = 'scale.export';
const POSTS = 200;
/** Deliveries of others. */
const DELIVERIES = 1_000_000;
/** Rows of others in each of the other tables. Fewer, because a million in each take minutes. */
const OTHERS = 200_000;
/** Deliveries about each erased user, half of them to an endpoint that receives the events of all users. */
const ABOUT = 200;
/** The tables to which rows of others are added. Without statistics, because a partition has none on its first day: plans must not need them. */
const TABLES = ['webhook_delivery_log', 'webhook_events', 'push_results', 'mails', 'audit_values', 'background_jobs'];

const id = (prefix: string, number = 'n') => `'${prefix}' || lpad(to_hex(${number}), 23, '0')`;
const OTHER = id('9', 'n % 5000');
const rows = (count: number) => `from generate_series(1, ${count}) n`;

const INSERT_POSTS = `
  insert into posts (id, title, body, author, created_at, updated_at)
  select 'a' || lpad(to_hex($2::int * 1000 + n), 23, '0'), 'Post ' || n, repeat('The bells ring at noon. ', 10), $1, now(), now()
  ${rows(POSTS)}`;

/** Finished deliveries of one week, as workers leave them. Half of them went to one endpoint. */
const insertDeliveriesSql = (delivery: string, count: number, record: string, owner: string) => `
  insert into webhook_delivery_log (id, endpoint_id, event_id, message_id, type, body, subject_id, status, attempts, attempt_log, mentions, finished_at)
  select ${delivery}, case when n % 2 = 0 then ${id('e', '0')} else ${id('e', 'n % 500')} end, ${id('f')}, 'msg_' || md5(n::text), 'post.created',
    '{"type":"post.created","timestamp":"2026-01-01T00:00:00.000Z","data":{"id":"' || ${record} || '","title":"Post","body":"'
      || repeat('The bells ring at noon. ', 10) || '","author":"' || ${owner} || '"}}',
    ${owner}, 'succeeded', 1, '[{"at":"2026-01-01T00:00:00.000Z","statusCode":200,"durationMs":9,"error":null}]', array[${record}, ${owner}],
    now() - n % 7 * interval '1 day'
  ${rows(count)}`;

const INSERT_OTHERS = [
  insertDeliveriesSql(id('1'), DELIVERIES, id('c'), OTHER),
  `insert into webhook_events (id, name, owner_id) select ${id('7')}, 'told', ${OTHER} ${rows(OTHERS)}`,
  `insert into pushes (id, message, audience, status, devices, open_chunks, ok_devices, finished_at)
   values (lpad('1', 24, 'a'), '{"title":"Noon"}', '{}', 'sent', ${OTHERS}, 0, ${OTHERS}, now())`,
  `insert into push_results (push_id, position, device_id, user_id, platform, masked_token, ok, sent_at, answered_at)
   select lpad('1', 24, 'a'), n, ${id('b')}, ${OTHER}, 'web', '…', true, now(), now() ${rows(OTHERS)}`,
  `insert into mails (id, recipient, status, finished_at) select ${id('7')}, 'other' || n || '@example.org', 'sent', now() ${rows(OTHERS)}`,
  `insert into audit_values (entry_id, owner_id, salt, values_by_field) select n, ${OTHER}, 'salt', '{}' ${rows(OTHERS)}`,
  `insert into background_jobs (id, name, status, user_id, finished_at) select ${id('7')}, 'told', 'succeeded', ${OTHER}, now() ${rows(OTHERS)}`,
];

/** Gives the tables no statistics, and the deliveries of a week the partitions that relays would have created. */
async function prepareTables(client: pg.Client, databaseUrl: string): Promise<void> {
  const database = openDatabase(databaseUrl, 'bench', createLogger('silent', 'bench'));
  const log = { table: 'webhook_delivery_log', column: 'finished_at', keepMs: 14 * DAY_MS };
  await createPartitions(database, log, Date.now() - 7 * DAY_MS);
  await database.close();
  const { rows: tables } = await client.query<{ name: string }>(
    `select c.relname as name from unnest($1::text[]) t(name) cross join lateral pg_partition_tree(t.name::regclass) p
     join pg_class c on c.oid = p.relid where p.isleaf`,
    [TABLES],
  );
  for (const { name } of tables) await client.query(`alter table ${name} set (autovacuum_enabled = false)`);
}

class Accounts {
  readonly #server: Child;
  readonly #client: pg.Client;

  constructor(server: Child, client: pg.Client) {
    this.#server = server;
    this.#client = client;
  }

  /** Sends a request of a user and waits until a query returns a row. Returns how often that is possible in a second. */
  async #request(user: number, method: 'GET' | 'POST', path: string, body: object | undefined, isFinished: string) {
    const { statusCode, body: response } = await request(`${this.#server.url}/api/auth/me/${path}`, {
      method,
      headers: { authorization: `Bearer ${getSessionToken(user)}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const startedAt = performance.now();
    if (statusCode >= 300) throw new Error(`The request was refused: ${statusCode} ${await response.text()}`);
    await response.dump();
    while ((await this.#client.query(`${isFinished} and user_id = '${getUserId(user)}'`)).rowCount === 0)
      await sleep(2);
    return 1000 / (performance.now() - startedAt);
  }

  /** Exports the data of a user. Returns the exports per second, from the accepted request to the finished file. */
  export(user: number): Promise<number> {
    return this.#request(user, 'GET', 'export', undefined, `select from privacy_exports where status = 'ready'`);
  }

  /** Erases the account of a user. Returns the accounts erased per second, from the accepted request to the finished erasure. */
  erase(user: number): Promise<number> {
    const isFinished = `select from privacy_erasures where status = 'finished'`;
    return this.#request(user, 'POST', 'erase', { password: PASSWORD }, isFinished);
  }
}

async function measureErasures(bench: Bench): Promise<Figure[]> {
  const environment = createBelfryEnvironment(bench.servers);
  const app = createErasureApp(environment);
  await app.migrate({ mode: 'sync' });
  await app.close();
  return withClient(bench.servers.databaseUrl, async (client) => {
    await insertUsers(client);
    const users = 2 * bench.reps + 2;
    if (users > USERS)
      throw new Error(`--reps must be at most ${USERS / 2 - 1}: each repetition erases two of ${USERS} users`);
    for (let user = 0; user < users; user++) await client.query(INSERT_POSTS, [getUserId(user), user]);
    await prepareTables(client, bench.servers.databaseUrl);
    const server = await bench.children.start(new URL('../processes/erasure.ts', import.meta.url), environment);
    const accounts = new Accounts(server, client);
    // While V8 compiles, the first erasures take longer.
    let user = 0;
    const measureSome = async (count: number) => {
      const [erasures, exports]: [number[], number[]] = [[], []];
      for (let round = 0; round < count; round++, user++) {
        const number = `${user} * 1000 + n`;
        await client.query(insertDeliveriesSql(id('2', number), ABOUT, id('a', number), `'${getUserId(user)}'`));
        exports.push(await accounts.export(user));
        erasures.push(await accounts.erase(user));
      }
      return { erasures, exports };
    };
    await measureSome(2);
    const alone = await measureSome(bench.reps);
    for (const text of INSERT_OTHERS) await client.query(text);
    await client.query('checkpoint');
    const beside = await measureSome(bench.reps);
    await server.stop();
    const note = `${POSTS} posts, beside ${DELIVERIES} deliveries of others, and ${OTHERS} push results, e-mails, audited values, jobs and events`;
    // The ratios of the times, which are the inverse ratios of the rates.
    return [
      createRatio(ERASURE, alone.erasures, beside.erasures, note),
      createRatio(EXPORT, alone.exports, beside.exports, note),
    ].filter(({ name }) => bench.isRequested(name));
  });
}

/** Measures the erasure of an account and the export of its data beside rows of other users, compared to empty tables. */
export const erasure: Group = {
  name: 'scale',
  async run(bench) {
    if (!bench.isRequested(ERASURE) && !bench.isRequested(EXPORT)) return [];
    bench.logProgress(`${ERASURE} …`);
    return withOwnDatabase(bench, 'erasure', measureErasures);
  },
};
