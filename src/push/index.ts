import { devicesOfDeletedUsers } from '../accounts/devices/index.ts';
import type { FeatureParts } from '../declare/extension.ts';
import type { PushSender } from '../declare/host.ts';
import type { Platform } from '../platform/platform.ts';
import { type Captured, createCaptured } from './captured.ts';
import { createFinished } from './finished.ts';
import { createReceipt, type Receipt } from './receipt.ts';
import { createSender, type Sender } from './send.ts';
import { pushSweeps } from './sweeps.ts';
import type { Transport } from './transport.ts';
import { startPushWorker } from './worker.ts';

export { pushTables } from './tables.ts';
export { transportMistakes } from './transport.ts';

/** Push notifications of an app. */
export interface Push {
  enqueueWithin: Sender['enqueueWithin'];
  /** `app.push`. */
  sender: PushSender & { receipt(pushId: string, deviceId: string, report: Receipt): Promise<void> };
  /** Worker and sweeps; and devices go with their user. */
  parts: FeatureParts;
  captured: Captured;
}

/**
 * Makes push notifications. Nothing is connected yet.
 *
 * @param transports asked in order; a device that none accepts is captured outside production and fails in production
 */
export function createPush(platform: Platform, transports: readonly Transport[]): Push {
  const finished = createFinished(platform);
  const installed = new Set(transports.map((transport) => transport.name));
  const { enqueueWithin, ...sender } = createSender(platform, transports, finished);
  return {
    enqueueWithin,
    sender: { ...sender, receipt: createReceipt(platform) },
    parts: {
      consumers: [devicesOfDeletedUsers],
      sweeps: pushSweeps(platform, installed),
      workers: { 'push-worker': () => startPushWorker(platform, transports, finished) },
    },
    captured: createCaptured(platform.database),
  };
}
