import type { Notification } from '@parse/node-apn';
import { PLACEHOLDER_ID } from '../../message/message.ts';
import type { SendContext, Transport, TransportDevice, TransportResult } from '../../message/transport.ts';
import { createBatcher } from '../batches.ts';
import { type Failure, MAX_WAIT_MS, NOT_SENT_IN_TIME, toFailedResult } from '../failure.ts';
import { type ApnsClient, type ApnsResult, openApnsClient, RESPONSE_TIMEOUT_MS } from './client.ts';
import type { ApnsCredentials } from './credentials.ts';
import { classifyApnsError, isApnsToken } from './errors.ts';
import { APNS_LIMIT_BYTES, apnsMessageError, createApnsHeaders, createApnsId, createApnsPayload } from './message.ts';

/** Concurrent notifications: where the library's throughput peaks, below the 1,000 streams that APNs allows. */
const CONCURRENT_NOTIFICATIONS = 500;

/** A well-formed token that belongs to no device, for checking the credentials. */
const UNREGISTERED_TOKEN = '0'.repeat(64);

/** A notification to one device. The devices of a push share the object of the library. */
interface Outgoing {
  client: ApnsClient;
  notification: Notification;
  pushId: string;
  device: TransportDevice;
}

function toTransportResult(result: ApnsResult | Failure, device: TransportDevice): TransportResult {
  if ('class' in result) return toFailedResult(result, device);
  if ('error' in result) return toFailedResult(classifyApnsError(result.error), device);
  return result.id === undefined ? { ok: true } : { ok: true, id: result.id };
}

/**
 * Creates the transport for the Apple Push Notification service: iOS devices with APNs tokens. Uses one connection, with up to 500
 * concurrent notifications over all sends. The library is loaded at the first send or check.
 *
 * @param options in ms: `responseTimeoutMs` for a response; `maxWaitMs`, after which a notification that is still waiting is not sent
 */
export function createApnsTransport(
  credentials: ApnsCredentials,
  { responseTimeoutMs = RESPONSE_TIMEOUT_MS, maxWaitMs = MAX_WAIT_MS } = {},
): Transport {
  const { topic } = credentials;
  const sendAll = createBatcher<Outgoing, ApnsResult | Failure>({
    async send([outgoing]) {
      const { client: opened, notification, pushId, device } = outgoing!;
      return [await opened.send(notification, device.token, createApnsId(pushId, device))];
    },
    maxPerBatch: 1,
    maxConcurrent: CONCURRENT_NOTIFICATIONS,
    gatherMs: 0,
    maxWaitMs,
    late: NOT_SENT_IN_TIME,
  });
  let client: Promise<ApnsClient> | undefined;
  const openClientOnce = () => {
    client ??= openApnsClient(credentials, responseTimeoutMs);
    return client;
  };

  return {
    name: 'apns',
    limitBytes: APNS_LIMIT_BYTES,
    accepts: ({ platform, token }) => platform === 'ios' && isApnsToken(token),
    sizeOf: (message) => Buffer.byteLength(JSON.stringify(createApnsPayload(message, PLACEHOLDER_ID))),
    async send(message, devices: readonly TransportDevice[], context: SendContext) {
      const refusal = apnsMessageError(message);
      if (refusal !== undefined) {
        return devices.map((device) =>
          toFailedResult({ class: 'permanent', name: 'InvalidMessage', detail: refusal }, device),
        );
      }
      let opened: ApnsClient;
      try {
        opened = await openClientOnce();
      } catch (error) {
        const failure = { class: 'misconfigured', name: 'InvalidCredentials', detail: String(error) } as const;
        return devices.map((device) => toFailedResult(failure, device));
      }
      const compiled = JSON.stringify(createApnsPayload(message, context.id));
      const notification = opened.notification({ topic, ...createApnsHeaders(message, context), compiled });
      const results = await sendAll(
        devices.map((device) => ({ client: opened, notification, pushId: context.id, device })),
      );
      return results.map((result, i) => toTransportResult(result, devices[i]!));
    },
    async check() {
      const where = `APNs (${credentials.production ? 'production' : 'sandbox'}, topic "${topic}")`;
      const opened = await openClientOnce().catch((error: Error) => {
        throw new Error(`${where}: the credentials are invalid: ${error.message}`);
      });
      const silent = {
        topic,
        pushType: 'background',
        priority: 5,
        expiry: 0,
        rawPayload: { aps: { 'content-available': 1 } },
      };
      const result = await opened.send(opened.notification(silent), UNREGISTERED_TOKEN);
      if (!('error' in result)) return;
      const { class: kind, name, detail } = classifyApnsError(result.error);
      if (kind === 'misconfigured') throw new Error(`${where} refuses the credentials: ${name}: ${detail}`);
    },
    async close() {
      await (await client?.catch(() => undefined))?.close();
    },
  };
}
