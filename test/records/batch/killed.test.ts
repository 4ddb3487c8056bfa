import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { createClient } from '../../support/app.ts';
import { createTestDatabase } from '../../support/database/test-database.ts';
import { createRoleEnv, startBlog } from '../../support/processes/app-process.ts';

const database = await createTestDatabase();
const sql = new Client({ connectionString: database.databaseUrl });
await sql.connect();
afterAll(async () => {
  await sql.end();
  await database.drop();
});
const env = { ...createRoleEnv(database), CHEAP_PASSWORDS: 'on', TRUST_PROXY: 'loopback' };
const LOCK = 4711;

test('a process that is killed in an atomic batch leaves no record and no event of it', {
  timeout: 120_000,
}, async () => {
  const web = startBlog('web', env);
  const url = await web.url();
  const account = { name: 'Ada', email: 'ada@example.com', password: 'a bell rings at noon' };
  const { token } = (await createClient(url)('POST', '/api/auth/register', account)).body.data;
  // One of the last records of the batch waits for a lock, when the first statements have already written theirs.
  await sql.query(`create function wait() returns trigger language plpgsql as
    $$ begin if new.title = 'wait' then perform pg_advisory_xact_lock(${LOCK}); end if; return new; end $$`);
  await sql.query('create trigger wait before insert on posts for each row execute function wait()');
  await sql.query('select pg_advisory_lock($1)', [LOCK]);
  const operations = Array.from({ length: 900 }, (_, i) => ({
    op: 'create',
    data: { title: i === 890 ? 'wait' : `Post ${i}` },
  }));
  const answer = createClient(url, token)('POST', '/api/posts/batch', { operations }).catch(() => 'broken off');
  const waiting = async () => {
    const { rows } = await sql.query(`select from pg_locks where locktype = 'advisory' and not granted`);
    return rows.length === 1;
  };
  await vi.waitUntil(waiting, { timeout: 60_000, interval: 25 });
  web.child.kill('SIGKILL');
  expect(await answer).toBe('broken off');
  await sql.query('select pg_advisory_unlock($1)', [LOCK]);
  await vi.waitUntil(async () => !(await waiting()), { timeout: 60_000, interval: 25 });
  const { rows } = await sql.query(
    `select (select count(*)::int from posts) as posts, (select count(*)::int from outbox where name = 'post.created') as events`,
  );
  expect(rows).toEqual([{ posts: 0, events: 0 }]);
});
