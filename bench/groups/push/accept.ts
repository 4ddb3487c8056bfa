import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Figure, Group } from '../../figure.ts';
import { median } from '../../measure/statistics.ts';
import { resetDatabaseAndRedis } from '../../setup/belfry.ts';
import { withClient } from '../../setup/database.ts';
import { createBelfryEnvironment } from '../../setup/environment.ts';

const DEVICES = 100_000;
const PROGRAM = new URL('../../processes/push.ts', import.meta.url);
const TIMEOUT_MS = 60_000;

// Users with one device each.
const INSERT_DEVICES = `
  insert into users (id, name, email, password, roles, status)
  select 'f' || lpad(to_hex(n), 23, '0'), 'Filler', 'filler-' || n || '@example.com', '', '{user}', 'active'
  from generate_series(1, ${DEVICES}) n;
  insert into devices (id, user_id, token, token_hash, platform)
  select 'd' || lpad(to_hex(n), 23, '0'), 'f' || lpad(to_hex(n), 23, '0'), 'token-' || md5(n::text), md5(n::text), 'android'
  from generate_series(1, ${DEVICES}) n`;
const USERS = Array.from({ length: DEVICES }, (_, i) => `f${(i + 1).toString(16).padStart(23, '0')}`);

/** Waits until a push is sent. Returns the ms that it took. */
async function waitUntilSent({ servers }: Bench): Promise<number> {
  const begin = performance.now();
  return withClient(servers.databaseUrl, async (client) => {
    for (const end = Date.now() + TIMEOUT_MS; Date.now() < end; await sleep(50)) {
      const { rows } = await client.query('select ok_devices from pushes where finished_at is not null');
      if (rows[0]?.ok_devices === DEVICES) return performance.now() - begin;
    }
    throw new Error(`The push was not sent within ${TIMEOUT_MS / 1000} s.`);
  });
}

function readWalPosition({ servers }: Bench): Promise<number> {
  return withClient(servers.databaseUrl, async (client) => {
    const { rows } = await client.query<{ bytes: string }>(`select pg_current_wal_lsn() - '0/0' as bytes`);
    return Number(rows[0]!.bytes);
  });
}

/**
 * Measures a send to 100,000 users with one device each: how long the call takes to return, how much more memory the worker
 * uses after several such pushes than after the first, and how much WAL a device costs.
 */
export const pushAccept: Group = {
  name: 'push',
  async run(bench): Promise<Figure[]> {
    if (!['push.accept100k', 'push.memory', 'push.wal'].some(bench.isRequested)) return [];
    bench.logProgress('push.accept100k …');
    const startPushProcess = (role: 'web' | 'push-worker') =>
      bench.children.start(PROGRAM, createBelfryEnvironment(bench.servers, role));
    await withClient(bench.servers.databaseUrl, (client) => client.query(INSERT_DEVICES));
    const [web, worker] = await Promise.all([startPushProcess('web'), startPushProcess('push-worker')]);
    const acceptSeconds: number[] = [];
    const sendMs: number[] = [];
    const usedMegabytes: number[] = [];
    const walBytes: number[] = [];
    for (let round = 0; round <= bench.reps; round++) {
      await withClient(bench.servers.databaseUrl, (client) => client.query('truncate pushes cascade'));
      await resetDatabaseAndRedis(bench);
      const walBefore = await readWalPosition(bench);
      acceptSeconds.push((await web.call<number>('send', USERS)) / 1000);
      sendMs.push(await waitUntilSent(bench));
      walBytes.push((await readWalPosition(bench)) - walBefore);
      usedMegabytes.push((await worker.call<number>('used')) / 2 ** 20);
    }
    await Promise.all([web.stop(), worker.stop()]);
    await withClient(bench.servers.databaseUrl, (client) =>
      client.query(`truncate pushes cascade; truncate devices cascade; delete from users where name = 'Filler'`),
    );
    // The first round warms up.
    const seconds = acceptSeconds.slice(1);
    const rate = Math.round(DEVICES / (median(sendMs.slice(1)) / 1000));
    const figures: Figure[] = [
      {
        name: 'push.accept100k',
        value: median(seconds),
        unit: 's',
        note: `${Math.min(...seconds).toFixed(2)}–${Math.max(...seconds).toFixed(2)}; sent at ${rate}/s by one worker to a provider that responds at once`,
      },
      {
        name: 'push.memory',
        value: usedMegabytes.at(-1)! - usedMegabytes[0]!,
        unit: 'MB',
        note: `${usedMegabytes.map((value) => value.toFixed(0)).join(', ')} MB in use after each 100,000`,
      },
      {
        name: 'push.wal',
        value: median(walBytes.slice(1)) / DEVICES,
        unit: 'bytes',
        note: 'WAL for each device, for the push and its result',
      },
    ];
    return figures.filter(({ name }) => bench.isRequested(name));
  },
};
