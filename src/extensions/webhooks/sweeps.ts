import { DAY_MS, type ExtensionHost, type Host, type Sweep, writeInBatches } from '../../extension/index.ts';
import { createDisabledNotifier, createEndedKeysSweep } from './endpoints/disabling.ts';
import { createBackfillPages } from './engine/backfill/backfill-pages.ts';
import { createBackfillSweeps, createLeftoverSweep } from './engine/backfill/backfills.ts';
import { createResultWriter } from './engine/delivery/record-results.ts';
import { createEventRetentionSweep } from './engine/fanout/publish.ts';
import { ADOPT_PENDING, EXPIRE_WAITING } from './engine/polling/waiting-sql.ts';
import { createPendingEndpoints } from './engine/recovery/pending-endpoints.ts';
import { createReclaimSweeps } from './engine/recovery/reclaim.ts';
import { createRetentionSweeps } from './engine/recovery/retention.ts';
import { createUnknownMentionsSweep } from './engine/recovery/unknown-mentions.ts';
import type { Parts } from './parts.ts';
import type { WebhookSettings } from './settings/settings.ts';

/** The error of a delivery that nobody has acknowledged in time. Shown in the delivery log. */
const NOT_ACKNOWLEDGED = 'not acknowledged in time';

/** Creates the sweep that fails the deliveries that nobody has polled and acknowledged for as long as finished ones are kept. */
function createWaitingExpirySweep(
  { database }: Pick<Host, 'database'>,
  { keepDeliveriesDays, cleanMs }: Pick<WebhookSettings, 'keepDeliveriesDays' | 'cleanMs'>,
): Sweep {
  const keepMs = keepDeliveriesDays * DAY_MS;
  return {
    name: 'webhooks: messages that nobody polls',
    everyMs: cleanMs,
    async run() {
      const adopted = await writeInBatches(database, ADOPT_PENDING, []);
      const now = Date.now();
      // Ids begin with the second of their creation. A delivery that waits again has an older id, which only widens the search.
      const before = Math.max(0, Math.floor((now - keepMs) / 1000) + 1)
        .toString(16)
        .padStart(8, '0');
      const values = [NOT_ACKNOWLEDGED, new Date(now).toISOString(), before, keepMs];
      return adopted + (await writeInBatches(database, EXPIRE_WAITING, values));
    },
  };
}

/** Creates what the relay does from time to time. */
export function createSweeps(host: ExtensionHost, settings: WebhookSettings, parts: Parts): Sweep[] {
  const { owners, limits, recoveries, eventLog, check } = parts;
  const pending = createPendingEndpoints(host, owners, settings);
  return [
    ...createReclaimSweeps(host, settings, pending, createResultWriter(host, settings)),
    ...createRetentionSweeps(host, owners, settings, pending),
    createUnknownMentionsSweep(host),
    createEndedKeysSweep(host, limits, createDisabledNotifier(host, settings), settings.pollMs),
    ...recoveries.sweeps,
    createEventRetentionSweep(host, settings),
    createWaitingExpirySweep(host, settings),
    ...(eventLog === undefined
      ? [createLeftoverSweep(host, settings)]
      : createBackfillSweeps(host, settings, createBackfillPages(host, owners, settings, { eventLog, check, limits }))),
  ];
}
