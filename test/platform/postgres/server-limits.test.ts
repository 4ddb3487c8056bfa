import pg from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { defineUser } from '../../../src/index.ts';
import { createLogger } from '../../../src/platform/observability/log.ts';
import { openDatabase } from '../../../src/platform/postgres/database.ts';
import { logConnectionLimits } from '../../../src/platform/postgres/server-limits.ts';
import { startTestApp } from '../../support/app.ts';

const { env } = await startTestApp({ resources: [defineUser()] });

/** Opens a number of sessions in the app's database as the owner of the database. */
async function openSessions(count: number): Promise<pg.Client[]> {
  const clients = Array.from({ length: count }, () => new pg.Client(env.DATABASE_URL));
  for (const client of clients) await client.connect();
  onTestFinished(async () => {
    for (const client of clients) await client.end();
  });
  return clients;
}

test('a role that may not see the sessions of others counts them, and the limit with the fewest connections left decides', async () => {
  const [admin] = await openSessions(6);
  const url = new URL(env.DATABASE_URL!);
  const name = url.pathname.slice(1);
  await admin!.query(`drop role if exists modest; create role modest login password 'modest' connection limit 9`);
  await admin!.query('grant select on encryption_processes to modest');
  [url.username, url.password] = ['modest', 'modest'];
  const lines: Record<string, unknown>[] = [];
  const log = createLogger('info', 'test', { write: (line) => void lines.push(JSON.parse(line)) });
  const database = openDatabase(url.href, 'modest', log, { poolMax: 8 });
  try {
    const logLimits = async () => {
      await logConnectionLimits(database, log);
      return lines.at(-1)!;
    };
    // First without any connection of its own to the server, then with one.
    for (let run = 0; run < 2; run++)
      expect(await logLimits()).toMatchObject({ level: 'info', allowed: 9, openElsewhere: 0, poolMax: 8 });

    await admin!.query(`alter database ${name} connection limit 12`);
    const countOthers = async () =>
      (
        await admin!.query<{ n: number }>(
          `select count(*)::int n from pg_stat_activity
          where datname = $1 and usename <> 'modest' and backend_type = 'client backend'`,
          [name],
        )
      ).rows[0]!.n;
    await vi.waitUntil(async () => {
      const others = await countOthers();
      return others >= 6 && (await logLimits()).openElsewhere === others;
    });
    expect(lines.at(-1)).toMatchObject({
      level: 'warn',
      allowed: 12,
      msg: expect.stringMatching(
        /^this process may open 8 .* of the 12 that are allowed, other programs have \d+ open: lower POOL_MAX/,
      ),
    });
  } finally {
    await database.close();
    await admin!.query('drop owned by modest; drop role modest');
  }
});
