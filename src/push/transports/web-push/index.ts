import type { Dispatcher } from 'undici';
import { type EndpointRule, endpointError, parsePushSubscription } from '../../../accounts/devices/index.ts';
import { createOnce } from '../../../platform/helpers/concurrency/once.ts';
import { createGuardedAgent } from '../../../platform/http/address-guard/index.ts';
import { sendPost } from '../../../platform/http/post.ts';
import { PLACEHOLDER_ID } from '../../message/message.ts';
import type { SendContext, Transport, TransportDevice, TransportResult } from '../../message/transport.ts';
import { type Failure, MAX_WAIT_MS, NOT_SENT_IN_TIME, toFailedResult } from '../failure.ts';
import { createOriginLimit, openWebPushClient, type WebPushClient } from './client.ts';
import { classifyWebPushResponse } from './errors.ts';
import {
  countWebPushBytes,
  createWebPushOptions,
  createWebPushPayload,
  WEB_PUSH_LIMIT_BYTES,
  webPushMessageError,
} from './message.ts';
import type { VapidCredentials } from './vapid.ts';

/** Maximum concurrent requests per origin, each on a keep-alive connection. */
const REQUESTS_PER_ORIGIN = 64;
/** Timeout in ms for a request: DNS, connection, TLS and response. */
const TIMEOUT_MS = 10_000;

/**
 * Creates the transport for browsers: Web Push (RFC 8030, 8291, 8292). The library encrypts and signs. Requests go through the guarded
 * agent, which only connects to public addresses, whatever the endpoint's host resolves to. The library is loaded at the first send.
 *
 * @param options `rule`: which endpoints are allowed; `agent`: replaces the guarded agent; in ms: `timeoutMs` for a request, `maxWaitMs`,
 *   after which a message that is still waiting is not sent
 */
export function createWebPushTransport(
  vapid: VapidCredentials,
  {
    rule,
    timeoutMs = TIMEOUT_MS,
    maxWaitMs = MAX_WAIT_MS,
    agent = createGuardedAgent({
      allowPrivate: rule.allowPrivate,
      connectTimeoutMs: timeoutMs,
      connections: REQUESTS_PER_ORIGIN,
    }),
  }: { rule: EndpointRule; timeoutMs?: number; maxWaitMs?: number; agent?: Dispatcher },
): Transport {
  const runWithinOriginLimit = createOriginLimit(REQUESTS_PER_ORIGIN);
  const openClientOnce = createOnce(() => openWebPushClient(vapid));

  async function sendToDevice(
    device: TransportDevice,
    requestTo: (
      subscription: NonNullable<ReturnType<typeof parsePushSubscription>>,
    ) => ReturnType<WebPushClient['createRequest']>,
    giveUpAt: number,
  ): Promise<TransportResult> {
    const failWith = (failure: Failure) => toFailedResult(failure, device);
    const subscription = parsePushSubscription(device.token);
    if (subscription === undefined) {
      return failWith({ class: 'gone', name: 'InvalidRegistration', detail: 'The token is not a PushSubscription' });
    }
    const { endpoint } = subscription;
    const refusal = endpointError(endpoint, rule);
    if (refusal !== undefined) return failWith({ class: 'permanent', name: 'EndpointRefused', detail: refusal });

    return runWithinOriginLimit(new URL(endpoint).origin, async () => {
      if (performance.now() > giveUpAt) return failWith(NOT_SENT_IN_TIME);
      let request: ReturnType<WebPushClient['createRequest']>;
      try {
        request = requestTo(subscription);
      } catch (error) {
        // The message is the same for all devices, so only the keys of the subscription can cause the error.
        return failWith({ class: 'gone', name: 'InvalidRegistration', detail: (error as Error).message });
      }
      const posted = await sendPost(agent, { ...request, timeoutMs });
      const failure = classifyWebPushResponse(posted);
      if (failure !== undefined) return failWith(failure);
      return posted.location === undefined ? { ok: true } : { ok: true, id: posted.location };
    });
  }

  return {
    name: 'web-push',
    limitBytes: WEB_PUSH_LIMIT_BYTES,
    accepts: ({ platform }) => platform === 'web',
    sizeOf: (message) => countWebPushBytes(message, PLACEHOLDER_ID),
    async send(message, devices, context: SendContext) {
      const refusal = webPushMessageError(message);
      if (refusal !== undefined) {
        return devices.map((device) =>
          toFailedResult({ class: 'permanent', name: 'SilentNotSupported', detail: refusal }, device),
        );
      }
      const library = await openClientOnce();
      const payload = createWebPushPayload(message, context.id);
      const options = createWebPushOptions(message, context);
      const giveUpAt = performance.now() + maxWaitMs;
      return Promise.all(
        devices.map((device) => sendToDevice(device, (to) => library.createRequest(to, payload, options), giveUpAt)),
      );
    },
    close: () => agent.close(),
  };
}
