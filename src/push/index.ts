import { createFindDevices, deviceData, endpointRule, type TokenRule } from '../accounts/devices/index.ts';
import type { UserTable } from '../accounts/users/user-state.ts';
import type { FeatureParts } from '../declare/extension.ts';
import type { PushSender, SimulatedDevices, TransactionalPushSender } from '../declare/push.ts';
import type { Platform } from '../platform/platform.ts';
import { browserPages } from './browser/pages.ts';
import { pushSweeps } from './delivery/sweeps.ts';
import { startPushWorker } from './delivery/worker.ts';
import { type Captured, createCaptured } from './history/captured.ts';
import { createReceipt, noteOpened, type Receipt } from './history/receipt.ts';
import { pushData } from './history/user-data.ts';
import { pushRoutes } from './routes.ts';
import { createFinishedSignals } from './send/finished.ts';
import { createSender } from './send/send.ts';
import { createSimulatedDevices } from './simulated/devices.ts';
import { simulatedTables } from './simulated/tables.ts';
import { simulatedTransport } from './simulated/transport.ts';
import { pushTables as ownTables } from './tables.ts';
import { type Transport, takesDevice } from './transport.ts';

export { transportConfigErrors } from './transport.ts';

/** The tables of push, by name. */
export const pushTables = { ...ownTables, ...simulatedTables };

/** Push notifications of an app. */
export interface Push {
  enqueueWithin: TransactionalPushSender['enqueueWithin'];
  /** `app.push`. */
  sender: PushSender & { receipt(pushId: string, deviceId: string, report: Receipt): Promise<void> };
  /** Routes, pages, worker, sweeps and the listener that records taps. */
  parts: FeatureParts;
  captured: Captured;
  /** Decides which tokens can be registered, or passed to a send as raw tokens. */
  tokenRule: TokenRule;
  /** Undefined in production. */
  simulated: SimulatedDevices | undefined;
}

/**
 * Creates push notifications. Opens no connection.
 *
 * @param own tried in order; outside production, the transport of simulated devices is tried first. A device that no transport accepts
 *   is captured outside production and fails in production
 * @param users restricts sends to devices of active users; undefined in an app without accounts
 */
export function createPush(platform: Platform, own: readonly Transport[], users?: UserTable): Push {
  const simulates = platform.env.nodeEnv !== 'production';
  const transports = simulates ? [simulatedTransport(platform), ...own] : own;
  const finished = createFinishedSignals(platform);
  const installed = new Set(transports.map((transport) => transport.name));
  const { VAPID_PUBLIC_KEY: vapid } = platform.env.push;
  // A transport without `accepts` takes every device, which does not show that it can handle Expo tokens.
  const takesExpo: TokenRule['takesExpo'] = (type, token) =>
    own.some(
      (one) =>
        one.accepts && takesDevice(one, { id: null, platform: type, token, user: null, locale: null }, platform.log),
    );
  const tokenRule = { ...endpointRule(platform), takesExpo };
  const { enqueueWithin, ...sender } = createSender(
    platform,
    transports,
    finished,
    tokenRule,
    createFindDevices(users),
  );
  return {
    enqueueWithin,
    sender: { ...sender, receipt: createReceipt(platform) },
    parts: {
      routes: pushRoutes(platform, sender),
      pages: vapid !== undefined && installed.has('web-push') ? browserPages(vapid) : [],
      listeners: { 'push.opened': noteOpened(platform) },
      sweeps: pushSweeps(platform, installed),
      userData: [deviceData(platform.database), pushData(platform.database)],
      workers: { 'push-worker': () => startPushWorker(platform, transports, finished, users) },
    },
    captured: createCaptured(platform.database),
    tokenRule,
    simulated: simulates ? createSimulatedDevices(platform) : undefined,
  };
}
