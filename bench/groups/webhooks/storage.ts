import type pg from 'pg';
import { createClaimStatements } from '../../../src/extensions/webhooks/engine/delivery/claim.ts';
import type { Bench, Figure, Group } from '../../figure.ts';
import { median } from '../../measure/statistics.ts';
import { removeEndpoints, resetDatabaseAndRedis, startBelfry, startReceiver } from '../../setup/belfry.ts';
import { waitUntilEmpty, withClient } from '../../setup/database.ts';
import { USERS } from '../../setup/seed.ts';

const NAME = 'scale.webhooks.heldSnapshot';
const DELIVERIES = 20_000;
const CLAIMED = 50;

// A minute of traffic. Its rows are dead when they are sent, but the snapshot keeps vacuum from removing them.
const INSERT_MINUTE = `
  insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, mentions, next_attempt_at)
  select substr(md5(n || e.id), 1, 24), e.id, lpad(to_hex(n), 24, '0'), 'msg_' || md5(n || e.id), 'article.created', '{"type":"article.created","timestamp":"2026-01-01T00:00:00.000Z","data":{"title":"' || repeat('x', 500) || '"}}', '{}',
    now() - interval '1 minute' * (1 - n::float / $1)
  from webhook_endpoints e, generate_series(1, $1::int) n`;
const INSERT_DUE = INSERT_MINUTE.replace('substr(md5(n || e.id), 1, 24)', `'due' || substr(md5(n || e.id), 1, 21)`)
  .replace(`lpad(to_hex(n), 24, '0')`, `'due' || lpad(to_hex(n), 21, '0')`)
  .replace(/now\(\) - interval '1 minute' \* \(1 - n::float \/ \$1\)/, `now() - interval '1 second'`);

interface ExplainedPlan {
  Plan: { 'Shared Hit Blocks': number; 'Shared Read Blocks': number };
}

/** Returns the blocks that one claim of 50 due deliveries reads, as the median of all endpoints. Changes nothing. */
async function countClaimBlocks(client: pg.Client): Promise<number> {
  const { any } = createClaimStatements({
    table: 'users',
    active: `u.status = 'active'`,
    json: () => `'{}'`,
    hasRole: () => 'true',
  });
  const { rows: endpoints } = await client.query<{ id: string }>('select id from webhook_endpoints order by id');
  const blocks: number[] = [];
  for (const { id } of endpoints) {
    await waitUntilEmpty(client, `select from webhook_turns where endpoint_id = '${id}' and holder is not null`);
    await client.query('begin');
    await client.query(
      INSERT_DUE.replace(
        'webhook_endpoints e,',
        `webhook_endpoints e join (select '${id}'::text as id) one using (id),`,
      ),
      [2 * CLAIMED],
    );
    await client.query(`prepare claim (text, int, bigint, boolean, text[], text, jsonb, jsonb) as ${any}`);
    const { rows } = await client.query<{ 'QUERY PLAN': ExplainedPlan[] }>(
      `explain (analyze, buffers, format json) execute claim('${id}', ${CLAIMED}, 5000, false, '{admin}', 'bench', '{}', null)`,
    );
    const plan = rows[0]!['QUERY PLAN'][0]!.Plan;

    blocks.push(plan['Shared Hit Blocks'] + plan['Shared Read Blocks']);
    await client.query('rollback');
    await client.query('deallocate claim');
  }
  return median(blocks);
}

async function sendMinute(client: pg.Client): Promise<void> {
  await client.query(INSERT_MINUTE, [DELIVERIES / USERS]);
  await waitUntilEmpty(client, 'select from webhook_deliveries limit 1');
}

/** Measures what a claim reads while another session holds a snapshot for a minute of traffic, compared to a vacuumed table. */
export const webhookStorage: Group = {
  name: 'scale',
  async run(bench: Bench): Promise<Figure[]> {
    if (!bench.isRequested(NAME)) return [];
    bench.logProgress(`${NAME} …`);
    const receiver = await startReceiver(bench, USERS);
    await resetDatabaseAndRedis(bench);
    const processes = await Promise.all([startBelfry(bench, 'relay'), startBelfry(bench, 'webhook-worker')]);
    const figure = await withClient(bench.servers.databaseUrl, async (client) => {
      await sendMinute(client);
      await client.query('vacuum webhook_deliveries, webhook_turns');
      const before = await countClaimBlocks(client);
      return withClient(bench.servers.databaseUrl, async (holder): Promise<Figure> => {
        await holder.query('begin isolation level repeatable read');
        await holder.query('select from webhook_deliveries limit 1');
        await sendMinute(client);
        const held = await countClaimBlocks(client);
        await holder.query('rollback');
        const note = `a claim of ${CLAIMED} deliveries reads ${before} blocks, and ${held} after ${DELIVERIES} deliveries under the snapshot`;
        return { name: NAME, value: held / before, unit: '×', note };
      });
    });
    await Promise.all([receiver.stop(), ...processes.map((process) => process.stop())]);
    await removeEndpoints(bench);
    return [figure];
  },
};
