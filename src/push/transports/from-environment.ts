import { endpointRule } from '../../accounts/devices/index.ts';
import { type Environment, StartupError } from '../../platform/config/environment.ts';
import type { Settings } from '../../platform/config/settings.ts';
import type { Transport } from '../transport.ts';
import { readApnsCredentials } from './apns/credentials.ts';
import { createApnsTransport } from './apns/index.ts';
import { createFcmTransport } from './fcm/index.ts';
import { readServiceAccount } from './fcm/service-account.ts';
import { createWebPushTransport } from './web-push/index.ts';
import { readVapid } from './web-push/vapid.ts';

/**
 * Creates the transports whose credentials are in the environment: APNs, FCM, Web Push, in this order. Connects, and loads the
 * provider's library, only at the first send.
 *
 * @throws StartupError naming every credential that is missing or malformed
 */
export function transportsFrom(env: Environment, settings: Settings): Transport[] {
  const errors: string[] = [];
  const reportError = (text: string) => errors.push(text);
  const uses = (prefix: string) => Object.keys(env.push).some((name) => name.startsWith(prefix));
  const transports: Transport[] = [];
  if (uses('APNS_')) {
    const credentials = readApnsCredentials(env.push, { production: env.nodeEnv === 'production' }, reportError);
    if (credentials !== undefined) transports.push(createApnsTransport(credentials));
  }
  if (uses('FCM_')) {
    const account = readServiceAccount(env.push.FCM_SERVICE_ACCOUNT!, reportError);
    if (account !== undefined) transports.push(createFcmTransport(account));
  }
  if (uses('VAPID_')) {
    const vapid = readVapid(env.push, reportError);
    if (errors.length === 0) transports.push(createWebPushTransport(vapid, { rule: endpointRule({ env, settings }) }));
  }
  if (errors.length > 0) throw new StartupError('Invalid push credentials:', errors);
  return transports;
}
