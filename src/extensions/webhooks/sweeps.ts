import type { ExtensionHost, Sweep } from '../../extension/index.ts';
import { createDisabledNotifier, createEndedKeysSweep } from './endpoints/disabling.ts';
import { createBackfillPages } from './engine/backfill/backfill-pages.ts';
import { createBackfillSweeps, createLeftoverSweep } from './engine/backfill/backfills.ts';
import { createResultWriter } from './engine/delivery/record-results.ts';
import { createEventRetentionSweep } from './engine/fanout/publish.ts';
import { createWaitingExpirySweep } from './engine/polling/expiry.ts';
import { createPendingEndpoints } from './engine/recovery/pending-endpoints.ts';
import { createReclaimSweeps } from './engine/recovery/reclaim.ts';
import { createRetentionSweeps } from './engine/recovery/retention.ts';
import { createUnknownMentionsSweep } from './engine/recovery/unknown-mentions.ts';
import type { Parts } from './parts.ts';
import type { WebhookSettings } from './settings/settings.ts';

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
