import { afterAll, expect, test } from 'vitest';
import type { ResourceGateway } from '../../../../src/declare/host.ts';
import {
  createPendingEndpointReader,
  createReclaimSweeps,
} from '../../../../src/extensions/webhooks/recovery/reclaim.ts';
import { fillProductionDefaults, webhookSettings } from '../../../../src/extensions/webhooks/settings.ts';
import { defineUser, webhooks } from '../../../../src/index.ts';
import { createLogger } from '../../../../src/platform/observability/log.ts';
import { openDatabase } from '../../../../src/platform/postgres/database.ts';
import type { NewJob, Queues } from '../../../../src/platform/redis/queues.ts';
import { startTestApp } from '../../../support/app.ts';

// Only the web role runs: the tests run every sweep themselves, and nothing is sent.
const user = defineUser();
const { person, env } = await startTestApp({ resources: [user], extensions: [webhooks()] });
const database = openDatabase(env.DATABASE_URL!, 'test', createLogger('silent', 'test'));
afterAll(() => database.close());

test('one run finds all overdue deliveries page by page, each in its lane, and nothing else', async () => {
  const { id: owner } = await person('Many');
  // A little more than three pages. Every 10th endpoint is disabled, every 7th has nothing overdue, every 3rd is slow.
  await database.write({
    text: `
    with made as (
      insert into webhook_endpoints (id, owner_id, url, events, scope, secret, enabled, slow)
      select lpad(to_hex(i), 24, '0'), $1, 'http://127.0.0.1:9/', '{*}', 'own', 'x', i % 10 <> 0, i % 3 = 0
      from generate_series(1, 1600) i returning id
    )
    insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, next_attempt_at)
    select lpad(to_hex(i), 23, '0') || n, lpad(to_hex(i), 24, '0'), i || '-' || n, 'msg', 'user.created', '{}',
      now() + case when i % 7 = 0 then interval '1 minute' else interval '-1 minute' end
    from generate_series(1, 1600) i, generate_series(1, 2) n`,
    values: [owner],
  });
  const added: Record<string, string[]> = {};
  const queues = {
    add: async (queue: string, jobs: NewJob[]) => {
      added[queue] = [...(added[queue] ?? []), ...jobs.map(({ data }) => data.id)];
    },
  } as Queues;
  const gateway = { table: 'users', declaration: user } as unknown as ResourceGateway;
  const settings = fillProductionDefaults(webhookSettings.parse({}), false);
  const pending = createPendingEndpointReader({ database }, gateway, settings);
  const sweeps = createReclaimSweeps({ database, queues }, settings, pending, async () => undefined);
  await sweeps.find(({ name }) => name === 'webhooks: overdue deliveries')!.run();

  const numbers = Array.from({ length: 1600 }, (_, i) => i + 1).filter((i) => i % 10 !== 0 && i % 7 !== 0);
  const idOf = (i: number) => i.toString(16).padStart(24, '0');
  expect(added.webhooks!.sort()).toEqual(
    numbers
      .filter((i) => i % 3 !== 0)
      .map(idOf)
      .sort(),
  );
  expect(added['webhooks-slow']!.sort()).toEqual(
    numbers
      .filter((i) => i % 3 === 0)
      .map(idOf)
      .sort(),
  );
});
