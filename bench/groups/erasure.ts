import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { request } from 'undici';
import { createErasureApp } from '../apps/erasure.ts';
import { type Bench, createRatio, type Figure, type Group } from '../figure.ts';
import type { Child } from '../setup/children.ts';
import { withClient, withOwnDatabase } from '../setup/database.ts';
import { createBelfryEnvironment } from '../setup/environment.ts';
import { getSessionToken, getUserId, insertUsers, PASSWORD, USERS } from '../setup/seed.ts';

const NAME = 'scale.erasure';
const POSTS = 200;
const OTHERS = 200_000;
/** The user to whom the rows of others belong. */
const OTHER = USERS - 1;

const INSERT_POSTS = `
  insert into posts (id, title, body, author, created_at, updated_at)
  select 'a' || lpad(to_hex($2::int * 1000 + n), 23, '0'), 'Post ' || n, repeat('The bells ring at noon. ', 10), $1, now(), now()
  from generate_series(1, ${POSTS}) n`;
// Finished deliveries and push results of others, as workers leave them.
const INSERT_DELIVERIES = `
  insert into webhook_delivery_log (id, endpoint_id, event_id, message_id, type, body, subject_id, status, attempts, attempt_log, mentions, finished_at)
  select 'd' || lpad(to_hex(n), 23, '0'), 'e' || lpad(to_hex(n % 20), 23, '0'), 'f' || lpad(to_hex(n), 23, '0'), 'msg_' || md5(n::text), 'post.created',
    '{"type":"post.created","timestamp":"2026-01-01T00:00:00.000Z","data":{"id":"' || 'c' || lpad(to_hex(n), 23, '0') || '","title":"Post","body":"'
      || repeat('The bells ring at noon. ', 10) || '"}}',
    $1, 'succeeded', 1, '[{"at":"2026-01-01T00:00:00.000Z","statusCode":200,"durationMs":9,"error":null}]', array['c' || lpad(to_hex(n), 23, '0'), $1::text], now()
  from generate_series(1, ${OTHERS}) n`;
const INSERT_PUSH = `
  insert into pushes (id, message, audience, status, devices, open_chunks, ok_devices, finished_at)
  values (lpad('1', 24, 'a'), '{"title":"Noon"}', '{}', 'sent', ${OTHERS}, 0, ${OTHERS}, now())`;
const INSERT_RESULTS = `
  insert into push_results (push_id, position, device_id, user_id, platform, masked_token, ok, sent_at, answered_at)
  select lpad('1', 24, 'a'), n, 'b' || lpad(to_hex(n), 23, '0'), $1, 'web', '…', true, now(), now() from generate_series(1, ${OTHERS}) n`;

/** Erases the account of a user. Returns the accounts erased per second, from the accepted request to the finished erasure. */
async function erase(server: Child, client: pg.Client, user: number): Promise<number> {
  const { statusCode, body } = await request(`${server.url}/api/auth/me/erase`, {
    method: 'POST',
    headers: { authorization: `Bearer ${getSessionToken(user)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ password: PASSWORD }),
  });
  const startedAt = performance.now();
  if (statusCode >= 300) throw new Error(`The erasure was refused: ${statusCode} ${await body.text()}`);
  await body.dump();
  const isFinished = `select from privacy_erasures where user_id = '${getUserId(user)}' and status = 'finished'`;
  while ((await client.query(isFinished)).rowCount === 0) await sleep(2);
  return 1000 / (performance.now() - startedAt);
}

async function measureErasures(bench: Bench): Promise<Figure> {
  const environment = createBelfryEnvironment(bench.servers);
  const app = createErasureApp(environment);
  await app.migrate({ mode: 'sync' });
  await app.close();
  return withClient(bench.servers.databaseUrl, async (client) => {
    await insertUsers(client);
    for (let user = 0; user < 2 * bench.reps + 2; user++) await client.query(INSERT_POSTS, [getUserId(user), user]);
    const server = await bench.children.start(new URL('../processes/erasure.ts', import.meta.url), environment);
    // While V8 compiles, the first erasures take longer.
    let user = 0;
    const eraseSome = async (count: number) => {
      const rates: number[] = [];
      for (let round = 0; round < count; round++) rates.push(await erase(server, client, user++));
      return rates;
    };
    await eraseSome(2);
    const alone = await eraseSome(bench.reps);
    for (const text of [INSERT_DELIVERIES, INSERT_RESULTS]) {
      if (text === INSERT_RESULTS) await client.query(INSERT_PUSH);
      await client.query(text, [getUserId(OTHER)]);
    }
    await client.query('vacuum analyze');
    await client.query('checkpoint');
    const beside = await eraseSome(bench.reps);
    await server.stop();
    // The ratio of the times, which is the inverse ratio of the rates.
    return createRatio(NAME, alone, beside, `${POSTS} posts, beside ${OTHERS} deliveries and push results of others`);
  });
}

/** Measures the erasure of an account beside the deliveries and push results of other users, compared to empty tables. */
export const erasure: Group = {
  name: 'scale',
  async run(bench) {
    if (!bench.isRequested(NAME)) return [];
    bench.logProgress(`${NAME} …`);
    return [await withOwnDatabase(bench, 'erasure', measureErasures)];
  },
};
