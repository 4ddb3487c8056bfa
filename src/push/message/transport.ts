import { type DevicePlatform, parsePushSubscription } from '../../accounts/devices/index.ts';
import { assertOutsideTransaction } from '../../platform/data/postgres/transaction-watch.ts';
import { withDeadline } from '../../platform/helpers/concurrency/deadline.ts';
import type { Logger } from '../../platform/observability/log.ts';
import type { PushContent } from './message.ts';

/** Shorter tokens are not redacted: no provider issues them, and a one-letter token would redact whole sentences. */
const MIN_SECRET_LENGTH = 8;

/** Returns the secrets of a device: its token and, for a browser, the last part of its endpoint and the `auth` key. */
function secretsOfDevice({ platform, token }: { platform: DevicePlatform; token: string }): string[] {
  const subscription = platform === 'web' ? parsePushSubscription(token) : undefined;
  if (subscription === undefined) return [token];
  const { endpoint, keys } = subscription;
  return [token, endpoint.slice(endpoint.lastIndexOf('/') + 1), keys.auth];
}

/** Redacts the tokens of these devices in a text of a transport or provider, which may repeat its input. */
export function redactTokens(text: string, devices: readonly { platform: DevicePlatform; token: string }[]): string {
  const secrets = devices.flatMap(secretsOfDevice).filter((secret) => secret.length >= MIN_SECRET_LENGTH);
  return secrets.reduce((redacted, secret) => redacted.replaceAll(secret, '…'), text);
}

/** How many `cause` links of an error to follow: a chain of causes can be circular. */
const MAX_CAUSE_DEPTH = 4;

/** Converts any thrown value to a text, even a value whose conversion to a string throws. */
function describeThrown(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return 'a value that cannot be converted to text';
  }
}

/** Converts a thrown value to an error that is safe to log: only message, stack and causes, with tokens redacted. */
function toRedactedError(
  thrown: unknown,
  devices: readonly { platform: DevicePlatform; token: string }[],
  depth = 0,
): Error {
  const redact = (text: unknown) => redactTokens(describeThrown(text), devices);
  if (!(thrown instanceof Error)) return new Error(redact(thrown));
  const error = new Error(redact(thrown.message));
  error.stack = redact(thrown.stack);
  if (thrown.cause !== undefined && depth < MAX_CAUSE_DEPTH) {
    error.cause = toRedactedError(thrown.cause, devices, depth + 1);
  }
  return error;
}

/** A device as passed to transports. */
export interface TransportDevice {
  /** The id of the registered device; null for a raw token. */
  id: string | null;
  platform: DevicePlatform;
  /** The unmasked token; for a browser, the JSON of its PushSubscription. */
  token: string;
  /** User id; null for a raw token. */
  user: string | null;
  locale: string | null;
}

/** A transport's result for one device. */
export interface TransportResult {
  /** Whether the provider accepted the notification. */
  ok: boolean;
  /** The provider's id of the notification. */
  id?: string;
  /** The error text. It is stored and shown in results, so it must contain no token and no secret. */
  error?: string;
  /** The provider reports that the token is no longer valid: the device is removed. */
  unregistered?: boolean;
  /** With `unregistered`: epoch ms at which the token became invalid. A device that registered again after that is kept. */
  goneSince?: number;
  /** The provider refuses the credentials, project, topic or key. The device is kept and an alarm is raised. */
  misconfigured?: boolean;
  /** A later try may succeed. Without `unregistered`, `misconfigured` or `retryable`, the failure is permanent. */
  retryable?: boolean;
  /** With `retryable`: the minimum wait in ms that the provider asks for. */
  retryAfterMs?: number;
}

/** The push that a call of `send` belongs to. */
export interface SendContext {
  /** Id of the push. The same for every retry, and when a chunk is sent again after a crash. */
  id: string;
  /** Epoch ms at which the message's `ttl` expires; missing without `ttl`. There are no retries after it. */
  expiresAt?: number;
}

/** A message and its devices. */
export interface TransportRequest {
  message: PushContent;
  devices: readonly TransportDevice[];
  context: SendContext;
}

/** Delivers push messages. Each device is sent to through the first transport that accepts it. */
export interface Transport {
  readonly name: string;
  /**
   * Sends a message to up to 500 devices. Returns one result per device, in the same order, within 60 seconds. Calls can run
   * concurrently.
   */
  send(
    message: PushContent,
    devices: readonly TransportDevice[],
    context: SendContext,
  ): Promise<readonly TransportResult[]> | readonly TransportResult[];
  /**
   * Sends the messages of several small pushes, to up to 500 devices in total. Returns the results of each message, in the same
   * order, within 60 seconds. Without this method, `send` is called for each message concurrently.
   */
  sendMany?(
    requests: readonly TransportRequest[],
  ): Promise<readonly (readonly TransportResult[])[]> | readonly (readonly TransportResult[])[];
  /** Whether the transport handles a device. Default: every device. */
  accepts?(device: TransportDevice): boolean;
  /** Bytes of a message as the provider counts them for a platform. Needs `limitBytes`: a larger message is refused before sending. */
  sizeOf?(message: PushContent, platform: DevicePlatform): number;
  /** The largest message in bytes, as `sizeOf` counts them. */
  readonly limitBytes?: number;
  /**
   * Checks the credentials with the provider; called when a push-worker starts. Rejects with a clear message if the provider
   * refuses them. Resolves if the provider cannot be reached.
   */
  check?(): Promise<void>;
  /** Closes connections; called when the push-worker stops, after the last `send`. */
  close?(): Promise<void>;
}

/** The name of the transport of simulated devices. */
export const SIMULATED_TRANSPORT = 'simulated';

/** Timeout in ms for one call of a transport. Devices without a result by then have failed. */
const SEND_TIMEOUT_MS = 60_000;
const MAX_ERROR_LENGTH = 500;
const OPTIONAL_METHODS = ['sendMany', 'accepts', 'sizeOf', 'check', 'close'] as const;

/** Returns the configuration errors of transports that are malformed or have the same name, one line each. */
export function transportConfigErrors(transports: readonly Transport[]): readonly string[] {
  const errors: string[] = [];
  const names = new Set<string>();
  for (const [i, transport] of transports.entries()) {
    const name: unknown = transport?.name;
    if (typeof name !== 'string' || name === '') errors.push(`transports[${i}] has no name`);
    else if (name === SIMULATED_TRANSPORT)
      errors.push(`transport "${name}": the name is reserved for simulated devices; rename it`);
    else if (names.has(name)) errors.push(`transport "${name}" is installed twice`);
    else names.add(name);
    if (typeof transport?.send !== 'function')
      errors.push(`transports[${i}] has no method send(message, devices, { id })`);
    for (const method of OPTIONAL_METHODS) {
      if (transport?.[method] !== undefined && typeof transport[method] !== 'function')
        errors.push(`transports[${i}].${method} is not a function`);
    }
    if (transport?.sizeOf !== undefined && !((transport.limitBytes ?? 0) > 0))
      errors.push(`transports[${i}] has sizeOf but no valid limitBytes: set limitBytes to a number above 0`);
  }
  return errors;
}

/** Whether a transport accepts a device. If the transport's `accepts` throws, the error is logged and the result is false. */
export function acceptsDevice(transport: Transport, device: TransportDevice, log: Logger): boolean {
  try {
    return transport.accepts?.(device) ?? true;
  } catch (error) {
    const err = toRedactedError(error, [device]);
    log.error(
      { err, transport: transport.name },
      'accepts() of a push transport threw an error, so the transport is not used for this device',
    );
    return false;
  }
}

/** Returns the first transport that accepts a device; undefined if no transport does. */
export function findTransport(
  transports: readonly Transport[],
  device: TransportDevice,
  log: Logger,
): Transport | undefined {
  return transports.find((transport) => acceptsDevice(transport, device, log));
}

/** Returns an error text if a message is too large for a transport and platform; otherwise undefined. */
export function messageSizeError(
  transport: Transport,
  message: PushContent,
  platform: DevicePlatform,
): string | undefined {
  const { name, limitBytes } = transport;
  if (transport.sizeOf === undefined || limitBytes === undefined) return undefined;
  try {
    const bytes = transport.sizeOf(message, platform);
    if (bytes <= limitBytes) return undefined;
    return `MessageTooBig: transport "${name}" would send ${bytes} bytes to ${platform}; the limit is ${limitBytes}`;
  } catch (error) {
    return `The transport failed: ${toRedactedError(error, []).message}`;
  }
}

function toStorableText(text: unknown, fallback: string | undefined): string | undefined {
  if (typeof text !== 'string' || text === '') return fallback;
  return text.slice(0, MAX_ERROR_LENGTH).replaceAll('\0', '').toWellFormed();
}

/** Normalizes a result for storing and showing it, with the tokens of `devices` redacted. */
function normalizeResult(result: TransportResult | undefined, devices: readonly TransportDevice[]): TransportResult {
  if (typeof result !== 'object' || result === null) {
    return { ok: false, error: 'The transport returned no result for this device' };
  }
  if (result.ok === true) {
    const id = toStorableText(result.id, undefined);
    return id === undefined ? { ok: true } : { ok: true, id };
  }
  const reason = typeof result.error === 'string' ? redactTokens(result.error, devices) : undefined;
  const error = toStorableText(reason, 'The transport returned no error text')!;
  const failed: TransportResult = { ok: false, error, unregistered: result.unregistered === true };
  const { goneSince } = result;
  if (failed.unregistered) return typeof goneSince === 'number' && goneSince > 0 ? { ...failed, goneSince } : failed;
  if (result.misconfigured === true) return { ...failed, misconfigured: true };
  if (result.retryable !== true) return failed;
  const { retryAfterMs } = result;
  const isValidWait = typeof retryAfterMs === 'number' && retryAfterMs > 0 && retryAfterMs < Number.POSITIVE_INFINITY;
  return { ...failed, retryable: true, ...(isValidWait ? { retryAfterMs: Math.ceil(retryAfterMs) } : {}) };
}

/** Calls a method of a transport. Rejects if the method throws, rejects, takes longer than 60 s, or does not return an array. */
async function callTransportWithTimeout(call: () => unknown): Promise<readonly unknown[]> {
  const results = await withDeadline(Promise.resolve(call()), SEND_TIMEOUT_MS);
  if (!Array.isArray(results)) throw new Error('the transport did not return an array of results');
  return results;
}

/**
 * Calls a transport and normalizes its results; never throws. A missing result becomes a failed result, which is retryable if the
 * transport threw or timed out. Returns exactly one result per device; `unregistered` wins over `misconfigured`, and that over `retryable`.
 */
async function callAndNormalizeResults(
  transport: Transport,
  requests: readonly TransportRequest[],
  call: () => Promise<readonly unknown[]>,
  log: Logger,
): Promise<TransportResult[][]> {
  try {
    const resultLists = await call();
    return requests.map(({ devices }, i) => {
      const results = (Array.isArray(resultLists[i]) ? resultLists[i] : []) as readonly TransportResult[];
      return devices.map((device, at) => normalizeResult(results[at], [device]));
    });
  } catch (error) {
    const err = toRedactedError(
      error,
      requests.flatMap(({ devices }) => devices),
    );
    log.error(
      { err, transport: transport.name, push: requests[0]?.context.id },
      'a push transport failed; sending to its devices is retried',
    );
    const failed = normalizeResult({ ok: false, error: `The transport failed: ${err.message}`, retryable: true }, []);
    return requests.map(({ devices }) => devices.map(() => failed));
  }
}

/**
 * Sends messages through a transport: in one call if it has `sendMany`, otherwise in concurrent calls. Never throws.
 *
 * @returns one promise per message, each with one result per device in order
 */
export function sendThroughTransport(
  transport: Transport,
  requests: readonly TransportRequest[],
  log: Logger,
): Promise<TransportResult[]>[] {
  assertOutsideTransaction(`A push is sent through the transport "${transport.name}"`);
  if (transport.sendMany !== undefined && requests.length > 1) {
    const allResults = callAndNormalizeResults(
      transport,
      requests,
      () => callTransportWithTimeout(() => transport.sendMany!(requests)),
      log,
    );
    return requests.map(async (_, i) => (await allResults)[i]!);
  }
  return requests.map(async (request) => {
    const { message, devices, context } = request;
    const call = async () => [await callTransportWithTimeout(() => transport.send(message, devices, context))];
    return (await callAndNormalizeResults(transport, [request], call, log))[0]!;
  });
}
