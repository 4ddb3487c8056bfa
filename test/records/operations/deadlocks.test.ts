import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { defineResource, f } from '../../../src/index.ts';
import { type Client, createClient, startTestApp } from '../../support/app.ts';
import { waitUntilBlockedBy } from '../../support/database/blocked-by.ts';

const open = { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' } as const;
const slot = defineResource('slot', {
  fields: { place: f.string().unique(), note: f.string() },
  policies: open,
  routes: (route) => [
    route.post('/:id/swap/:other', { policy: 'public' }, ({ params, transaction }) =>
      transaction(async (tx) => {
        await tx.service('slot').update(params.id!, { note: 'first' });
        return tx.service('slot').update(params.other!, { note: 'second' });
      }),
    ),
  ],
});

const entry = defineResource('entry', {
  fields: { code: f.string().unique(), slots: f.refs('slot') },
  policies: open,
  hooks: {
    async beforeCreate({ slots = [] }, { service }) {
      for (const id of slots) await service('slot').update(id, { note: 'used' });
    },
  },
});

// Postgres ends the transaction that checks for the deadlock first. Here that is always the app, however slow the machine is.
const looksAfter = (ms: number) => `?options=${encodeURIComponent(`-c deadlock_timeout=${ms}`)}`;
const { app, call, env } = await startTestApp(
  { resources: [slot, entry] },
  { env: ({ DATABASE_URL }) => ({ DATABASE_URL: `${DATABASE_URL}${looksAfter(3000)}` }) },
);
const other = new pg.Client({ connectionString: env.DATABASE_URL!.split('?')[0] + looksAfter(60_000) });
await other.connect();
afterAll(() => other.end());

const make = async (place: string) => (await app.service('slot').create({ place })).id;
const codeOf = ({ status, body }: Awaited<ReturnType<Client>>) => [status, body?.error?.code];

test('a change ended by a deadlock is retried and succeeds', async () => {
  const [a, b] = [await make('a-1'), await make('b-1')];
  await other.query('begin');
  await other.query(`update slots set place = 'wanted' where id = $1`, [b]);
  const changing = call('PATCH', `/api/slots/${a}`, { place: 'wanted' });
  await waitUntilBlockedBy(other);
  // Now each transaction waits for the other.
  await other.query(`update slots set note = 'x' where id = $1`, [a]);
  await other.query('rollback');
  const response = await changing;
  expect([response.status, response.body.data?.place]).toEqual([200, 'wanted']);
});

test('a create with a hook is retried, whether the deadlock ends its own statement or one of the hook', async () => {
  const [a, b] = [await make('a-3'), await make('b-3')];
  await other.query('begin');
  await other.query(`insert into entries (id, code) values ($1, 'wanted')`, ['e'.repeat(24)]);
  const creating = call('POST', '/api/entries', { code: 'wanted', slots: [a] });
  await waitUntilBlockedBy(other);
  await other.query(`update slots set note = 'x' where id = $1`, [a]);
  await other.query('rollback');
  expect((await creating).status).toBe(201);
  await other.query('begin');
  await other.query(`update slots set note = 'x' where id = $1`, [b]);
  const creatingNext = call('POST', '/api/entries', { code: 'next', slots: [a, b] });
  await waitUntilBlockedBy(other);
  await other.query(`update slots set note = 'x' where id = $1`, [a]);
  await other.query('rollback');
  expect((await creatingNext).status).toBe(201);
});

test('a transaction ended by a deadlock responds 503 with Retry-After and leaves no changes', async () => {
  const [a, b] = [await make('a-2'), await make('b-2')];
  await other.query('begin');
  await other.query(`update slots set note = 'theirs' where id = $1`, [b]);
  const changing = call('POST', `/api/slots/${a}/swap/${b}`);
  await waitUntilBlockedBy(other);
  await other.query(`update slots set note = 'theirs' where id = $1`, [a]);
  await other.query('commit');
  const response = await changing;
  expect(codeOf(response)).toEqual([503, 'UNAVAILABLE']);
  expect(response.headers.get('retry-after')).toBe('1');
  for (const id of [a, b]) expect((await call('GET', `/api/slots/${id}`)).body.data.note).toBe('theirs');
});

test('24 clients that change unique values among 4 records never get a 500', async () => {
  const quick = await startTestApp({ resources: [slot] });
  const places = ['n', 'e', 's', 'w'];
  const ids: string[] = [];
  for (const place of places) ids.push((await quick.app.service('slot').create({ place })).id);
  const clients = Array.from({ length: 24 }, () => createClient(quick.url));
  const statuses = await Promise.all(
    clients.map(async (client, i) => {
      const own: number[] = [];
      for (let n = 0; n < 10; n++) {
        const place = places[(i * 7 + n * 3) % 4] as string;
        own.push((await client('PATCH', `/api/slots/${ids[(i + n) % 4]}`, { place })).status);
      }
      return own;
    }),
  );
  const counted = Object.groupBy(statuses.flat(), String);
  expect(Object.keys(counted).filter((status) => !['200', '409', '503'].includes(status))).toEqual([]);
}, 240_000);
