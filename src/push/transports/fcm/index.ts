import type { TokenMessage } from 'firebase-admin/messaging';
import { isExpoToken } from '../../../accounts/devices/index.ts';
import type { SendContext, Transport, TransportDevice, TransportResult } from '../../message/transport.ts';
import { isApnsToken } from '../apns/errors.ts';
import { createBatcher } from '../batches.ts';
import { type Failure, MAX_WAIT_MS, NOT_SENT_IN_TIME, toFailedResult } from '../failure.ts';
import { CALL_TIMEOUT_MS, type FcmClient, type FcmResult, openFcmClient } from './client.ts';
import { classifyFcmError } from './errors.ts';
import { countFcmBytes, createFcmMessage, FCM_LIMIT_BYTES, fcmMessageError } from './message.ts';
import type { ServiceAccount } from './service-account.ts';

// The library's limit of messages per call, and the number of calls at which its throughput peaks: each call opens a connection.
const MESSAGES_PER_CALL = 500;
const CONCURRENT_CALLS = 4;
const COLLECT_MS = 5;

/** A token that belongs to no device, for checking the credentials: if FCM accepts them, it reports only that the token is invalid. */
const UNREGISTERED_TOKEN = 'belfry-credentials-check';

function toTransportResult({ messageId, error }: FcmResult, device: TransportDevice): TransportResult {
  if (error !== undefined) return toFailedResult(classifyFcmError(error), device);
  return messageId === undefined ? { ok: true } : { ok: true, id: messageId };
}

/**
 * Creates the transport for Firebase Cloud Messaging: Android devices, and iOS devices with FCM tokens. Concurrent sends share calls.
 * The Admin SDK is loaded at the first send or check.
 *
 * @param options in ms: `deadlineMs`, the timeout of a call; `maxWaitMs`, after which a message that is still waiting is not sent
 */
export function createFcmTransport(
  account: ServiceAccount,
  { deadlineMs = CALL_TIMEOUT_MS, maxWaitMs = MAX_WAIT_MS } = {},
): Transport {
  let client: Promise<FcmClient> | undefined;
  const openClientOnce = () => {
    client ??= openFcmClient(account, deadlineMs);
    return client;
  };
  const late: FcmResult | Failure = NOT_SENT_IN_TIME;
  const addToBatch = createBatcher<TokenMessage, FcmResult | typeof late>({
    send: (messages) =>
      openClientOnce().then(
        (opened) => opened.send(messages),
        (error: unknown) => messages.map(() => ({ error })),
      ),
    maxPerBatch: MESSAGES_PER_CALL,
    maxConcurrent: CONCURRENT_CALLS,
    gatherMs: COLLECT_MS,
    maxWaitMs,
    late,
  });

  return {
    name: 'fcm',
    limitBytes: FCM_LIMIT_BYTES,
    accepts: ({ platform, token }) =>
      !isExpoToken(token) && (platform === 'android' || (platform === 'ios' && !isApnsToken(token))),
    sizeOf: countFcmBytes,
    async send(message, devices: readonly TransportDevice[], context: SendContext) {
      const refusal = fcmMessageError(message);
      if (refusal !== undefined) {
        return devices.map((device) =>
          toFailedResult({ class: 'permanent', name: 'InvalidMessage', detail: refusal }, device),
        );
      }
      const byPlatform = new Map<string, ReturnType<typeof createFcmMessage>>();
      const results = await addToBatch(
        devices.map(({ platform, token }) => {
          const platformMessage = byPlatform.get(platform) ?? createFcmMessage(message, platform, context);
          byPlatform.set(platform, platformMessage);
          return { ...platformMessage, token };
        }),
      );
      return results.map((result, i) =>
        'class' in result ? toFailedResult(result, devices[i]!) : toTransportResult(result, devices[i]!),
      );
    },
    async check() {
      const [result] = await (await openClientOnce()).send(
        [{ token: UNREGISTERED_TOKEN, data: { check: 'credentials' } }],
        true,
      );
      if (result?.error === undefined) return;
      const { class: kind, name, detail } = classifyFcmError(result.error);
      if (kind === 'misconfigured') {
        throw new Error(`FCM refuses the credentials of project "${account.projectId}": ${name}: ${detail}`);
      }
    },
    async close() {
      await (await client)?.close();
    },
  };
}
