import { setTimeout as sleep } from 'node:timers/promises';
import type { Group } from '../../figure.ts';
import { measureCommitToReceipt, startAllProcesses } from '../../measure/commit-to-receipt.ts';
import { percentile } from '../../measure/statistics.ts';
import { addEndpoints, removeEndpoints, startReceiver } from '../../setup/belfry.ts';
import { withClient } from '../../setup/database.ts';

const NAME = 'webhooks.hanging.p99';
const WAITING_DELIVERIES = 1000;
const CREATES = 300;
const INTERVAL_MS = 50;

// Deliveries of the endpoint at this address, which never responds.
const INSERT_DELIVERIES = `
  insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, next_attempt_at)
  select 'd' || lpad(to_hex(n), 23, '0'), e.id, lpad(to_hex(n), 24, '0'), 'msg_' || n, 'article.created', '{}', now()
  from webhook_endpoints e, generate_series(1, $1::int) n where e.url = $2`;

/**
 * Measures commit to receipt at a healthy receiver while many deliveries wait for one that never responds. Every record goes to
 * both.
 */
export const hangingReceiver: Group = {
  name: 'webhooks',
  async run(bench) {
    if (!bench.isRequested(NAME)) return [];
    bench.logProgress(`${NAME} …`);
    const silentReceiver = await bench.children.start(
      new URL('../../processes/silent-receiver.ts', import.meta.url),
      {},
    );
    await addEndpoints(bench, silentReceiver, [0]);
    const receiver = await startReceiver(bench, 1);
    const processes = await startAllProcesses(bench);
    await withClient(bench.servers.databaseUrl, (client) =>
      client.query(INSERT_DELIVERIES, [WAITING_DELIVERIES, `${silentReceiver.url}/`]),
    );
    while ((await silentReceiver.call<number>('requests')) === 0) await sleep(20);
    const times = await measureCommitToReceipt(processes.web, receiver, { creates: CREATES, intervalMs: INTERVAL_MS });
    const hangingRequests = await silentReceiver.call<number>('requests');
    await Promise.all([receiver.stop(), silentReceiver.stop(), processes.stop()]);
    await removeEndpoints(bench);
    const sorted = times.toSorted((a, b) => a - b);
    const getPercentile = (share: number) => percentile(sorted, share);
    const note = `${WAITING_DELIVERIES} deliveries wait; ${CREATES} creates ${INTERVAL_MS} ms apart; median ${getPercentile(0.5).toFixed(1)} ms, longest ${getPercentile(1).toFixed(1)} ms; ${hangingRequests} requests hung`;
    return [{ name: NAME, value: getPercentile(0.99), unit: 'ms', note }];
  },
};
