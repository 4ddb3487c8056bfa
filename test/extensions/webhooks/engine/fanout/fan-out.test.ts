import { Client } from 'pg';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { ResourceGateway } from '../../../../../src/declare/host.ts';
import { ownersSql } from '../../../../../src/extensions/webhooks/endpoints/endpoints-sql.ts';
import { candidatesSql } from '../../../../../src/extensions/webhooks/engine/fanout/candidates.ts';
import { ApiError, createApp, defineResource, defineUser, f, webhooks } from '../../../../../src/index.ts';
import { startTestApp } from '../../../../support/app.ts';

const notice = defineResource('notice', { fields: { text: f.string() }, policies: { read: 'public' } });
/** What the policy of riddles does for a user, by the user's name. */
const acts = new Map<string, () => boolean>();
const riddle = defineResource('riddle', {
  fields: { text: f.string() },
  policies: { read: ({ user }) => acts.get(String(user?.name))?.() ?? true },
});
const note = defineResource('note', {
  fields: { text: f.string(), owner: f.ref('user').owner() },
  policies: { read: 'owner' },
});
const user = defineUser({ roles: ['user', 'admin', 'clerk'] });
const made = { resources: [user, notice, riddle, note], extensions: [webhooks({ pollMs: 100 })] } as const;
// No worker runs, so created deliveries do not change.
const { app, person, env } = await startTestApp(made, { roles: ['web', 'relay'] });
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
// Autovacuum would collect statistics, which stay after a truncate. The tests of plans without statistics need tables that never had any.
for (const table of ['users', 'webhook_endpoints'])
  await client.query(`alter table ${table} set (autovacuum_enabled = off)`);
afterAll(() => client.end());

/** Creates this many endpoints, ten for each user. */
async function endpoints(count: number, events: string[], prefix = 'e'): Promise<void> {
  await client.query(
    `insert into users (id, name, email, password, roles, status)
     select $2 || lpad(to_hex(i), 23, '0'), 'n', $2 || i || '@example.com', 'x', '{user}', 'active' from generate_series(1, $1 / 10) i`,
    [count, prefix],
  );
  await client.query(
    `insert into webhook_endpoints (id, owner_id, url, events, scope, secret)
     select $2 || lpad(to_hex(i), 23, '0'), $2 || lpad(to_hex((i - 1) / 10 + 1), 23, '0'), 'http://127.0.0.1:9/', $3::text[], 'own', 'x'
     from generate_series(1, $1) i`,
    [count, prefix, events],
  );
}
const count = async (from: string, ...values: unknown[]) =>
  (await client.query(`select count(*)::int as n from ${from}`, values)).rows[0].n as number;
const until = (condition: () => Promise<boolean>) => vi.waitUntil(condition, { timeout: 60_000, interval: 20 });
const nothingWaits = () => until(async () => (await count('outbox')) === 0);

beforeEach(async () => {
  await nothingWaits();
  // One table at a time: a statement that holds no lock while it waits for one cannot deadlock with a worker or a sweep.
  await client.query('truncate webhook_endpoints');
  await client.query('truncate webhook_deliveries');
  await client.query(`delete from users where name = 'n'`);
});

describe('an event that 10,000 endpoints may see', () => {
  test('creates its deliveries once, a thousand per transaction, and other events are handled in between', {
    timeout: 240_000,
  }, async () => {
    await endpoints(10_000, ['notice.created']);
    await endpoints(10, ['riddle.created'], 'f');
    await app.transaction(async ({ service }) => {
      await service('notice').create({ text: 'all' });
      await service('notice').create({ text: 'all too' });
    });
    // Its first page is stored and at least eight more follow. The relay runs in this process and handles one page at a time.
    await vi.waitUntil(async () => (await count('webhook_deliveries')) > 0, { timeout: 60_000, interval: 1 });
    await app.service('riddle').create({ text: 'some' });
    await nothingWaits();
    const { rows } = await client.query(
      `select type, max(n)::int as most, sum(n)::int as all, count(*)::int as pages from
         (select type, xmin::text, event_id, count(*) as n from webhook_deliveries group by 1, 2, 3) by_transaction
       group by 1 order by 1`,
    );
    expect(rows).toEqual([
      { type: 'notice.created', most: 1000, all: 20_000, pages: 20 },
      { type: 'riddle.created', most: 10, all: 10, pages: 1 },
    ]);
    expect(await count('(select distinct event_id, endpoint_id from webhook_deliveries) d')).toBe(20_010);
    // Delivery ids are assigned in order, so they show that the small event did not wait for the last page of the large ones.
    const last = async (type: string) =>
      (await client.query('select max(id) as id from webhook_deliveries where type = $1', [type])).rows[0].id;
    expect((await last('riddle.created')) < (await last('notice.created'))).toBe(true);
  });

  test('creates all of its deliveries even if its relay stops in the middle', { timeout: 240_000 }, async () => {
    await endpoints(10_000, ['notice.*']);
    const second = createApp(made, env);
    await second.start({ roles: ['relay'] });
    await app.service('notice').create({ text: 'all' });
    await until(async () => (await count('webhook_deliveries')) > 0);
    await second.close();
    await nothingWaits();
    expect(await count('webhook_deliveries')).toBe(10_000);
  });

  test('has the same timestamp on every page', { timeout: 240_000 }, async () => {
    await endpoints(2500, ['*']);
    await app.service('notice').create({ text: 'all' });
    await nothingWaits();
    const { rows } = await client.query(
      `select count(distinct body)::int as bodies, min(body::json->>'timestamp') as at, count(*)::int as n from webhook_deliveries`,
    );
    expect(rows).toEqual([{ bodies: 1, at: expect.stringMatching(/Z$/), n: 2500 }]);
  });
});

test('120 concurrent events with 100 endpoints each are spread over transactions, and all arrive', {
  timeout: 240_000,
}, async () => {
  await endpoints(100, ['notice.created']);
  await app.transaction(async ({ service }) => {
    for (let i = 0; i < 120; i++) await service('notice').create({ text: String(i) });
  });
  await nothingWaits();
  expect(await count('webhook_deliveries')).toBe(12_000);
  const { rows } = await client.query(
    'select max(n)::int as most from (select count(*) as n from webhook_deliveries group by xmin::text) t',
  );
  expect(rows[0].most).toBeLessThanOrEqual(5000);
});

test('events of many owners, each with as many endpoints as the limit allows, fit into one transaction', async () => {
  await endpoints(1500, ['note.created']);
  const { rows: owners } = await client.query(`select id from users where name = 'n'`);
  await app.transaction(async ({ service }) => {
    for (const { id } of owners) await service('note').create({ text: 'x' }, { user: { id } });
  });
  await nothingWaits();
  const { rows } = await client.query('select count(*)::int as n from webhook_deliveries group by xmin::text');
  expect(rows).toEqual([{ n: 1500 }]);
});

describe('a policy that throws for one owner', () => {
  const failed = Object.assign(new TypeError('fetch failed'), {
    cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }),
  });
  test.each([
    ['Error', new Error('bug')],
    ['ApiError UNAVAILABLE', new ApiError('UNAVAILABLE')],
    ['ApiError FORBIDDEN', new ApiError('FORBIDDEN')],
    ['ApiError RATE_LIMITED', new ApiError('RATE_LIMITED')],
    ['the error of a service that the policy called', failed],
    ['undefined', undefined],
  ])(
    'after %s: the other owners receive the event, this owner does not, and the event is handled',
    async (_, error) => {
      const [ann, bad, bob] = [await person('Ann'), await person('Bad'), await person('Bob')];
      for (const who of [ann, bad, bob]) {
        const { status } = await who.call('POST', '/api/webhooks', { url: 'http://127.0.0.1:9/', events: ['*'] });
        expect(status).toBe(201);
      }
      acts.set('Bad', () => {
        throw error;
      });
      await app.service('riddle').create({ text: 'x' });
      await app.service('notice').create({ text: 'x' });
      await nothingWaits();
      const { rows } = await client.query(
        `select e.owner_id as owner, array_agg(type order by type) as types from webhook_deliveries d
       join webhook_endpoints e on e.id = d.endpoint_id where type <> 'user.created' group by 1`,
      );
      const both = ['notice.created', 'riddle.created'];
      expect(Object.fromEntries(rows.map(({ owner, types }) => [owner, types]))).toEqual({
        [ann.id]: both,
        [bob.id]: both,
        [bad.id]: ['notice.created'],
      });
    },
  );

  test('a database error is not a decision, so the event is handled again', async () => {
    const ann = await person('Ann');
    await ann.call('POST', '/api/webhooks', { url: 'http://127.0.0.1:9/', events: ['riddle.created'] });
    let times = 0;
    acts.set('Ann', () => {
      times += 1;
      if (times > 2) return true;
      throw Object.assign(new Error('terminating connection'), { code: '57P01' });
    });
    await app.service('riddle').create({ text: 'x' });
    await until(async () => (await count('outbox where attempts > 0')) === 1);
    expect(await count('webhook_deliveries')).toBe(0);
    await client.query('update outbox set available_at = now() - make_interval(secs => 1)');
    await nothingWaits();
    expect(await count('webhook_deliveries')).toBe(1);
  });
});

describe('finding one of 20,000 endpoints', () => {
  const text = candidatesSql(
    ownersSql({
      users: {
        table: 'users',
        declaration: user,
        rowJson: (alias: string) => `to_jsonb(${alias}.*)`,
      } as unknown as ResourceGateway,
      organisations: undefined,
    }),
  );
  const OWNER = `e${'1'.padStart(23, '0')}`;
  /** The parameters: owners, roles, names, names by role, names for everyone, after. Then the events that all others subscribe to. */
  const names = ['rare.created', 'rare.*', '*'];
  const cases: [way: string, values: unknown[], others: string[]][] = [
    ['its owner may read', [[OWNER], [], names, [], [], ''], ['*']],
    ['a role may read', [[], ['clerk'], names, names, [], ''], ['*']],
    // An endpoint that subscribes to everything is a candidate for what everyone may read.
    ['everyone may read', [[], [], names, [], names, ''], ['thing.*']],
  ];
  async function blocks(values: unknown[]): Promise<{ read: number; found: number }> {
    const { rows } = await client.query(`explain (analyze, buffers, format json) ${text}`, values);
    const { Plan } = rows[0]['QUERY PLAN'][0];
    return { read: Plan['Shared Hit Blocks'] + Plan['Shared Read Blocks'], found: Plan['Actual Rows'] };
  }
  async function cost(size: number, values: unknown[], others: string[], analyzed: boolean) {
    await client.query('truncate webhook_endpoints');
    await client.query(`delete from users where name = 'n'`);
    await client.query('vacuum users');
    await endpoints(size, others);
    await client.query(`update users set roles = '{clerk}' where id = $1`, [OWNER]);
    await client.query(
      `insert into webhook_endpoints (id, owner_id, url, events, scope, secret)
       values ('r', $1, 'http://127.0.0.1:9/', '{rare.created}', 'own', 'x')`,
      [OWNER],
    );
    if (analyzed) await client.query('analyze users, webhook_endpoints');
    return blocks(values);
  }

  describe.each([false, true])('with statistics: %s', (analyzed) => {
    test.each(cases)(
      'for a record that %s reads about as many blocks as finding one of ten',
      { timeout: 60_000 },
      async (_, values, others) => {
        const few = await cost(10, values, others, analyzed);
        const many = await cost(20_000, values, others, analyzed);
        expect(many.found).toBe(few.found);
        expect(many.read).toBeLessThan(few.read + 60);
      },
    );
  });
});
