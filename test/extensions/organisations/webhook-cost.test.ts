import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import {
  defineResource,
  defineUser,
  f,
  type OrganisationsApi,
  organisations,
  tenant,
  webhooks,
} from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { countStatements } from '../../support/database/sent-statements.ts';

const MEMBERS = 60;
const OTHERS = 60;
const ticket = defineResource('ticket', { fields: { organisation: tenant(), title: f.string() } });
// No worker runs, so created deliveries do not change.
const { app, person, env } = await startTestApp(
  { resources: [defineUser(), ticket], extensions: [organisations(), webhooks({ pollMs: 100 })] },
  { roles: ['web', 'relay'] },
);
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
afterAll(() => client.end());

/** Creates users, each with an endpoint for the events of tickets. */
async function subscribers(count: number, prefix: string): Promise<void> {
  const id = `$1 || lpad(to_hex(i), 23, '0')`;
  const each = `from generate_series(1, $2::int) i`;
  await client.query(
    `insert into users (id, name, email, password, roles, status)
     select ${id}, 'n', $1 || i || '@example.com', 'x', '{user}', 'active' ${each}`,
    [prefix, count],
  );
  await client.query(
    `insert into webhook_endpoints (id, owner_id, url, events, scope, secret)
     select ${id}, ${id}, 'http://127.0.0.1:9/', '{ticket.created}', 'own', 'x' ${each}`,
    [prefix, count],
  );
}

test('the members among all subscribers are looked up in one statement, and only they get a delivery', async () => {
  const owner = await person('owner');
  const { organisations: api } = app as typeof app & { organisations: OrganisationsApi };
  const team = (await api.create({ name: 'Team' }, owner.id)).id;
  await subscribers(MEMBERS, 'a');
  await subscribers(OTHERS, 'b');
  await client.query(
    `insert into memberships (id, organisation, "user", role, created_at, updated_at)
     select 'c' || substr(id, 2), $1, id, 'member', now(), now() from users where id like 'a%' and name = 'n'`,
    [team],
  );
  const count = async (from: string) => (await client.query(`select count(*)::int as n from ${from}`)).rows[0].n;
  const handled = () => vi.waitUntil(async () => (await count('outbox')) === 0, { timeout: 30_000, interval: 20 });
  await handled();
  const sent = countStatements();
  await app.service('ticket').create({ title: 't', organisation: team } as never);
  await handled();
  const lookUps = sent.count('"memberships"');
  sent.stop();
  expect(await count('webhook_deliveries')).toBe(MEMBERS);
  expect(await count(`webhook_deliveries where endpoint_id like 'b%'`)).toBe(0);
  expect(lookUps).toBe(1);
});
