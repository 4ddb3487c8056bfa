import { createFindDevices, deviceUserData, getEndpointRule, type TokenRule } from '../accounts/devices/index.ts';
import type { UserTable } from '../accounts/users/user-state.ts';
import type { FeatureParts } from '../declare/extension.ts';
import type { PushSender, SimulatedDevices, TransactionalPushSender } from '../declare/push.ts';
import { StartupError } from '../platform/helpers/config-errors.ts';
import { findMissingPackage } from '../platform/helpers/optional-package.ts';
import type { Platform } from '../platform/platform.ts';
import type { Environment } from '../platform/settings/environment.ts';
import type { Settings } from '../platform/settings/settings.ts';
import { createPushBacklog, createPushSweeps } from './delivery/sweeps.ts';
import { startPushWorker } from './delivery/worker.ts';
import { type CapturedPushes, createCapturedPushes } from './history/read-push.ts';
import { createOpenedListener, createReceiptRecorder, type PushReceipts } from './history/receipt.ts';
import { createPushUserData } from './history/user-data.ts';
import { acceptsDevice, type Transport } from './message/transport.ts';
import { createBrowserScriptRoutes, createPushRoutes } from './routes.ts';
import { createPushFinishedSignals } from './send/finished.ts';
import { createPushSender } from './send/send.ts';
import { createSimulatedDevices } from './simulated/devices.ts';
import { createSimulatedTransport } from './simulated/transport.ts';
import { readApnsCredentials } from './transports/apns/credentials.ts';
import { createApnsTransport } from './transports/apns/index.ts';
import { createFcmTransport } from './transports/fcm/index.ts';
import { readServiceAccount } from './transports/fcm/service-account.ts';
import { createWebPushTransport } from './transports/web-push/index.ts';
import { readVapidCredentials } from './transports/web-push/vapid.ts';

export { transportConfigErrors } from './message/transport.ts';
export { pushTables } from './tables.ts';

/** Push notifications of an app. */
export interface Push {
  enqueueWithin: TransactionalPushSender['enqueueWithin'];
  /** Sends push notifications; the app's `app.push`. */
  sender: PushSender & PushReceipts;
  /** Routes, pages, worker, sweeps and the listener that records taps. */
  parts: FeatureParts;
  captured: CapturedPushes;
  /** Decides which tokens can be registered, or passed to a send as raw tokens. */
  tokenRule: TokenRule;
  /** Manages simulated devices; undefined in production. */
  simulated: SimulatedDevices | undefined;
}

/**
 * Creates push notifications. Opens no connection.
 *
 * @param appTransports tried in order; outside production, the transport of simulated devices is tried first. A device that no transport accepts
 *   is captured outside production and fails in production
 * @param users restricts sends to devices of active users; undefined in an app without accounts
 */
export function createPush(platform: Platform, appTransports: readonly Transport[], users?: UserTable): Push {
  const isSimulating = platform.env.nodeEnv !== 'production';
  const transports = isSimulating ? [createSimulatedTransport(platform), ...appTransports] : appTransports;
  const finished = createPushFinishedSignals(platform);
  const installed = new Set(transports.map((transport) => transport.name));
  const { VAPID_PUBLIC_KEY: vapid } = platform.env.push;
  // A transport without `accepts` does not count: it is used for every device, which does not show that it can handle Expo tokens.
  const acceptsExpoToken: TokenRule['acceptsExpoToken'] = (type, token) =>
    appTransports.some(
      (one) =>
        one.accepts && acceptsDevice(one, { id: null, platform: type, token, user: null, locale: null }, platform.log),
    );
  const tokenRule = { ...getEndpointRule(platform), acceptsExpoToken };
  const { enqueueWithin, ...sender } = createPushSender(
    platform,
    transports,
    finished,
    tokenRule,
    createFindDevices(users),
  );
  return {
    enqueueWithin,
    sender: { ...sender, receipt: createReceiptRecorder(platform) },
    parts: {
      routes: createPushRoutes(platform, sender),
      pages: vapid !== undefined && installed.has('web-push') ? createBrowserScriptRoutes(vapid) : [],
      listeners: { 'push.opened': createOpenedListener(platform) },
      sweeps: createPushSweeps(platform, installed),
      userData: [deviceUserData(platform.database), createPushUserData(platform.database)],
      workers: { 'push-worker': () => startPushWorker(platform, transports, finished, users) },
      backlogs: [createPushBacklog(platform.database)],
    },
    captured: createCapturedPushes(platform.database),
    tokenRule,
    simulated: isSimulating ? createSimulatedDevices(platform) : undefined,
  };
}

/**
 * Creates the transports whose credentials are in the environment: APNs, FCM, Web Push, in this order. Connects, and loads the
 * provider's library, only at the first send.
 *
 * @throws StartupError naming every credential that is missing or malformed
 */
export function createDefaultTransports(env: Environment, settings: Settings): Transport[] {
  const errors: string[] = [];
  const reportError = (text: string) => errors.push(text);
  const hasVariablesWithPrefix = (prefix: string) => Object.keys(env.push).some((name) => name.startsWith(prefix));
  const requirePackage = (service: string, name: string, oldest: string) => {
    const missing = findMissingPackage(service, { [name]: oldest });
    if (missing !== undefined) reportError(missing);
  };
  const transports: Transport[] = [];
  if (hasVariablesWithPrefix('APNS_')) {
    const credentials = readApnsCredentials(env.push, { production: env.nodeEnv === 'production' }, reportError);
    requirePackage('APNs', '@parse/node-apn', '8');
    if (credentials !== undefined) transports.push(createApnsTransport(credentials));
  }
  if (hasVariablesWithPrefix('FCM_')) {
    const account = readServiceAccount(env.push.FCM_SERVICE_ACCOUNT!, reportError);
    requirePackage('FCM', 'firebase-admin', '14');
    if (account !== undefined) transports.push(createFcmTransport(account));
  }
  if (hasVariablesWithPrefix('VAPID_')) {
    const vapid = readVapidCredentials(env.push, reportError);
    if (errors.length === 0)
      transports.push(createWebPushTransport(vapid, { rule: getEndpointRule({ env, settings }) }));
  }
  if (errors.length > 0) throw new StartupError('Invalid push credentials:', errors);
  return transports;
}
