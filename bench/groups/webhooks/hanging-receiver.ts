import { setTimeout as sleep } from 'node:timers/promises';
import type { Group } from '../../figure.ts';
import { commitToReceipt, startAll } from '../../measure/commit-to-receipt.ts';
import { percentile } from '../../measure/statistics.ts';
import { addEndpoints, removeEndpoints, startReceiver } from '../../setup/belfry.ts';
import { withClient } from '../../setup/database.ts';

const NAME = 'webhooks.hanging.p99';
const WAITING = 1000;
const CREATES = 300;
const APART_MS = 50;

// Deliveries of the endpoint at this address, which never responds.
const FILL = `
  insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, next_attempt_at)
  select 'd' || lpad(to_hex(n), 23, '0'), e.id, lpad(to_hex(n), 24, '0'), 'msg_' || n, 'article.created', '{}', now()
  from webhook_endpoints e, generate_series(1, $1::int) n where e.url = $2`;

/**
 * Measures commit to receipt at a healthy receiver while many deliveries wait for one that never responds. Every record goes to
 * both.
 */
export const hanging: Group = {
  name: 'webhooks',
  async run(bench) {
    if (!bench.wants(NAME)) return [];
    bench.say(`${NAME} …`);
    const silent = await bench.children.start(new URL('../../processes/silent-receiver.ts', import.meta.url), {});
    await addEndpoints(bench, silent, [0]);
    const receiver = await startReceiver(bench, 1);
    const processes = await startAll(bench);
    await withClient(bench.servers.databaseUrl, (client) => client.query(FILL, [WAITING, `${silent.url}/`]));
    while ((await silent.ask<number>('requests')) === 0) await sleep(20);
    const times = await commitToReceipt(processes.web, receiver, { creates: CREATES, apartMs: APART_MS });
    const asked = await silent.ask<number>('requests');
    await Promise.all([receiver.stop(), silent.stop(), processes.stop()]);
    await removeEndpoints(bench);
    const sorted = times.toSorted((a, b) => a - b);
    const at = (share: number) => percentile(sorted, share);
    const note = `${WAITING} deliveries wait; ${CREATES} creates ${APART_MS} ms apart; median ${at(0.5).toFixed(1)} ms, longest ${at(1).toFixed(1)} ms; ${asked} requests hung`;
    return [{ name: NAME, value: at(0.99), unit: 'ms', note }];
  },
};
