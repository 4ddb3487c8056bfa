import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { erasing } from '../../../fixtures/erasing/app.ts';
import { startTestApp } from '../../../support/app.ts';
import { startProcess } from '../../../support/processes.ts';

const PHOTOS = 2000;
const OTHERS = 700;
const patience = { timeout: 90_000, interval: 5 };

const { env, person } = await startTestApp(erasing, { start: { roles: ['web'] } });
const database = new Client({ connectionString: env.DATABASE_URL! });
await database.connect();
afterAll(() => database.end());

const count = async (text: string, ...values: unknown[]): Promise<number> =>
  (await database.query(`select count(*)::int as n from ${text}`, values)).rows[0].n;

// What Redis knew of its job is lost with each process: a sweep adds it again.
let started = 0;
const start = () =>
  startProcess('test/fixtures/erasing/process.ts', {
    ...env,
    NODE_ENV: 'development',
    REDIS_PREFIX: `${env.REDIS_PREFIX}-${++started}`,
  });

test('an erasure whose process is killed again and again goes on where it was, and ends as one that is not', {
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

  async function asked(who: Awaited<ReturnType<typeof person>>): Promise<string> {
    const answer = await who.call('POST', '/api/auth/me/erase', { password: 'correct horse battery' });
    expect(answer.status).toBe(202);
    return answer.body.data.id;
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
  const id = await asked(killed);
  const left = () => count('photos where author = $1', killed.id);
  for (const share of [0.9, 0.6, 0.3]) {
    const { child, ended: end, said } = start();
    await vi.waitUntil(async () => (await left()) < PHOTOS * share, patience);
    child.kill('SIGKILL');
    expect(await end, said()).toBe('SIGKILL');
  }
  expect(await left()).toBeGreaterThan(0);
  const last = start();
  const report = await finished(id);

  const spared = await someone('Spared');
  expect(ended(await finished(await asked(spared)))).toEqual(ended(report));
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

  // Each record was told of once.
  await vi.waitUntil(async () => (await count('outbox')) === 0, patience);
  const told = await database.query(
    `select type, count(*)::int as n, count(distinct body::jsonb->'data'->>'id')::int as records
     from webhook_deliveries group by type order by type`,
  );
  expect(told.rows.filter(({ type }) => !['user.created', 'user.updated'].includes(type))).toEqual([
    { type: 'comment.updated', n: 2 * OTHERS, records: 2 * OTHERS },
    { type: 'note.deleted', n: 2 * OTHERS, records: 2 * OTHERS },
    { type: 'photo.deleted', n: 2 * PHOTOS, records: 2 * PHOTOS },
    { type: 'user.deleted', n: 2, records: 2 },
  ]);
  last.child.kill('SIGKILL');
  await last.ended;
});
