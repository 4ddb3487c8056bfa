import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { createApp } from '../../../../src/index.ts';
import { erasing } from '../../../fixtures/erasing/app.ts';
import { startTestApp } from '../../../support/app.ts';
import { startProcess } from '../../../support/processes/app-process.ts';
import { ALL_DELIVERIES } from '../../../support/webhooks/deliveries.ts';

// More than one batch of each, and many batches of photos, whose batches are small.
const PHOTOS = 800;
const OTHERS = 600;
const patience = { timeout: 90_000, interval: 100 };

const { env, person } = await startTestApp(erasing);
const [database, holder] = [1, 2].map(() => new Client({ connectionString: env.DATABASE_URL! })) as [Client, Client];
await Promise.all([database.connect(), holder.connect()]);
afterAll(() => Promise.all([database.end(), holder.end()]));

const count = async (text: string, ...values: unknown[]): Promise<number> =>
  (await database.query(`select count(*)::int as n from ${text}`, values)).rows[0].n;

// Each process uses a Redis prefix of its own, so the job of the killed process is lost and a sweep adds it again.
let started = 0;
const start = () =>
  startProcess('test/fixtures/erasing/process.ts', {
    ...env,
    NODE_ENV: 'development',
    REDIS_PREFIX: `${env.REDIS_PREFIX}-${++started}`,
  });

test('an erasure whose process is killed repeatedly continues and has the same result', {
  timeout: 240_000,
}, async () => {
  const root = await person('Root', ['user', 'admin']);
  await root.call('POST', '/api/webhooks', { url: 'http://127.0.0.1:9', events: ['*'], scope: 'global' });

  async function someone(name: string) {
    const made = await person(name);
    const insert = (table: string, rows: number, id: string) =>
      database.query(
        `insert into ${table} (id, email, author${table.endsWith('_deleted') ? ', deleted_at' : ''})
         select $1 || substr(md5('${table}' || n), 1, 20), 'who@example.com', $2${table.endsWith('_deleted') ? ', now()' : ''}
         from generate_series(1, ${rows}) n`,
        [id, made.id],
      );
    const mark = name === 'Killed' ? 'aaaa' : 'bbbb';
    await insert('photos', PHOTOS, mark);
    for (const table of ['notes', 'notes_deleted', 'comments']) await insert(table, OTHERS, mark);
    return made;
  }

  async function requestErasure(who: Awaited<ReturnType<typeof person>>): Promise<string> {
    const response = await who.call('POST', '/api/auth/me/erase', { password: 'correct horse battery' });
    expect(response.status).toBe(202);
    return response.body.data.id;
  }
  const finished = (id: string) =>
    vi.waitUntil(async () => {
      const { data } = (await root.call('GET', `/api/admin/erasures/${id}`)).body;
      return data.status === 'finished' && data;
    }, patience);
  const ended = ({ deleted, anonymized, erased, kept }: Record<string, unknown>) => ({
    deleted,
    anonymized,
    erased,
    kept,
  });

  const killed = await someone('Killed');
  const id = await requestErasure(killed);
  // The trigger makes a deletion wait for the advisory lock once only this many photos are left.
  await database.query(`
    create table gate as select ${PHOTOS} as opens_above;
    create function wait_at_gate() returns trigger language plpgsql as $$ begin
      perform pg_advisory_xact_lock(1) from gate where (select count(*) from photos where author = '${killed.id}') <= opens_above;
      return null;
    end $$;
    create trigger gate before delete on photos execute function wait_at_gate()`);
  const waiting = `from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`;
  await holder.query('select pg_advisory_lock(1)');
  for (const share of [0.9, 0.6, 0.3]) {
    await database.query('update gate set opens_above = $1', [PHOTOS * share]);
    const { child, ended: end, output } = start();
    await vi.waitUntil(async () => (await database.query(`select 1 ${waiting}`)).rowCount, patience);
    child.kill('SIGKILL');
    expect(await end, output()).toBe('SIGKILL');
    // End the last statement of the dead process, so that it neither takes effect later nor looks like the next process waiting.
    await database.query(`select pg_terminate_backend(pid, 60000) ${waiting}`);
    const left = await count('photos where author = $1', killed.id);
    expect(left).toBeLessThanOrEqual(PHOTOS * share);
    expect(left).toBeGreaterThan(0);
  }
  await holder.query('select pg_advisory_unlock(1)');
  await database.query('drop function wait_at_gate cascade');
  // The last process runs to the end.
  const last = createApp(erasing, { ...env, REDIS_PREFIX: `${env.REDIS_PREFIX}-last` });
  onTestFinished(() => last.close());
  await last.start({ roles: ['relay', 'push-worker'] });
  const report = await finished(id);

  const spared = await someone('Spared');
  expect(ended(await finished(await requestErasure(spared)))).toEqual(ended(report));
  expect(report).toMatchObject({
    deleted: { photo: PHOTOS, note: 2 * OTHERS, user: 1 },
    anonymized: { comment: OTHERS },
    erased: { sessions: 1 },
  });
  for (const table of ['photos', 'notes', 'notes_deleted', 'comments']) {
    expect([table, await count(`${table} where author = any($1)`, [killed.id, spared.id])]).toEqual([table, 0]);
  }
  expect(await count('comments where email is not null')).toBe(0);
  expect(await count('users where id = any($1)', [killed.id, spared.id])).toBe(0);

  // Each record produced exactly one event.
  await vi.waitUntil(async () => (await count('outbox')) === 0, patience);
  const auditEntries = await database.query(
    `select type, count(*)::int as n, count(distinct body::jsonb->'data'->>'id')::int as records
     from ${ALL_DELIVERIES} d group by type order by type`,
  );
  expect(auditEntries.rows.filter(({ type }) => !['user.created', 'user.updated'].includes(type))).toEqual([
    { type: 'comment.updated', n: 2 * OTHERS, records: 2 * OTHERS },
    { type: 'note.deleted', n: 2 * OTHERS, records: 2 * OTHERS },
    { type: 'photo.deleted', n: 2 * PHOTOS, records: 2 * PHOTOS },
    { type: 'user.deleted', n: 2, records: 2 },
  ]);
});
