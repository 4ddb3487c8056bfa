import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Figure, Group } from '../../figure.ts';
import { median } from '../../measure/statistics.ts';
import { cleanUpAll } from '../../setup/belfry.ts';
import { withClient } from '../../setup/database.ts';
import { belfryEnvironment } from '../../setup/environment.ts';

const DEVICES = 100_000;
const PROGRAM = new URL('../../processes/push.ts', import.meta.url);
const PATIENCE_MS = 60_000;

// Users with one device each.
const FILL = `
  insert into users (id, name, email, password, roles, status)
  select 'f' || lpad(to_hex(n), 23, '0'), 'Filler', 'filler-' || n || '@example.com', '', '{user}', 'active'
  from generate_series(1, ${DEVICES}) n;
  insert into devices (id, user_id, token, token_hash, platform)
  select 'd' || lpad(to_hex(n), 23, '0'), 'f' || lpad(to_hex(n), 23, '0'), 'token-' || md5(n::text), md5(n::text), 'android'
  from generate_series(1, ${DEVICES}) n`;
const USERS = Array.from({ length: DEVICES }, (_, i) => `f${(i + 1).toString(16).padStart(23, '0')}`);

/** Waits until a push is sent. Returns the ms that it took. */
async function untilSent({ servers }: Bench): Promise<number> {
  const begin = performance.now();
  return withClient(servers.databaseUrl, async (client) => {
    for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await sleep(50)) {
      const { rows } = await client.query('select ok_devices from pushes where finished_at is not null');
      if (rows[0]?.ok_devices === DEVICES) return performance.now() - begin;
    }
    throw new Error('the push was not sent in time');
  });
}

/**
 * Measures a send to 100,000 users with one device each: how long the call takes to return, and how much more memory the worker
 * uses after several such pushes than after the first.
 */
export const pushAccept: Group = {
  name: 'push',
  async run(bench): Promise<Figure[]> {
    if (!['push.accept100k', 'push.memory'].some(bench.wants)) return [];
    bench.say('push.accept100k …');
    const start = (role: 'web' | 'push-worker') =>
      bench.children.start(PROGRAM, belfryEnvironment(bench.servers, role));
    await withClient(bench.servers.databaseUrl, (client) => client.query(FILL));
    const [web, worker] = await Promise.all([start('web'), start('push-worker')]);
    const accepted: number[] = [];
    const times: number[] = [];
    const used: number[] = [];
    for (let round = 0; round <= bench.reps; round++) {
      await withClient(bench.servers.databaseUrl, (client) => client.query('truncate pushes cascade'));
      await cleanUpAll(bench);
      accepted.push((await web.ask<number>('send', USERS)) / 1000);
      times.push(await untilSent(bench));
      used.push((await worker.ask<number>('used')) / 2 ** 20);
    }
    await Promise.all([web.stop(), worker.stop()]);
    await withClient(bench.servers.databaseUrl, (client) =>
      client.query(`truncate pushes cascade; truncate devices cascade; delete from users where name = 'Filler'`),
    );
    // The first round warms up.
    const seconds = accepted.slice(1);
    const rate = Math.round(DEVICES / (median(times.slice(1)) / 1000));
    const figures: Figure[] = [
      {
        name: 'push.accept100k',
        value: median(seconds),
        unit: 's',
        note: `${Math.min(...seconds).toFixed(2)}–${Math.max(...seconds).toFixed(2)}; sent at ${rate}/s by one worker to a provider that answers at once`,
      },
      {
        name: 'push.memory',
        value: used.at(-1)! - used[0]!,
        unit: 'MB',
        note: `${used.map((value) => value.toFixed(0)).join(', ')} MB in use after each 100,000`,
      },
    ];
    return figures.filter(({ name }) => bench.wants(name));
  },
};
