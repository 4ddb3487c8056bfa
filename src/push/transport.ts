import { type DevicePlatform, readSubscription } from '../accounts/devices/index.ts';
import { withDeadline } from '../platform/deadline.ts';
import type { Logger } from '../platform/log.ts';
import type { PushContent } from './message.ts';

/** No provider gives out shorter ones; a letter that is one would blot out whole sentences. */
const SHORTEST_SECRET = 8;

/** What is never told of a device: its token; of a browser also the part of the endpoint that is secret, and the key. */
function secretsOf({ platform, token }: { platform: DevicePlatform; token: string }): string[] {
  const subscription = platform === 'web' ? readSubscription(token) : undefined;
  if (subscription === undefined) return [token];
  const { endpoint, keys } = subscription;
  return [token, endpoint.slice(endpoint.lastIndexOf('/') + 1), keys.auth];
}

/** A text of a transport or its provider without the tokens of these devices: it may repeat what it was sent. */
export function withoutTokens(text: string, devices: readonly { platform: DevicePlatform; token: string }[]): string {
  const secrets = devices.flatMap(secretsOf).filter((secret) => secret.length >= SHORTEST_SECRET);
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '…'), text);
}

/** Causes of causes that are told; one may be its own. */
const DEEPEST_CAUSE = 4;

/** Anything can be thrown, also what cannot be made a text. */
function textOf(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return 'something that is no error';
  }
}

/** What was thrown as an error that can be logged: message, stack and causes, and nothing else that hangs on it. */
export function errorWithoutTokens(
  thrown: unknown,
  devices: readonly { platform: DevicePlatform; token: string }[],
  depth = 0,
): Error {
  const redact = (text: unknown) => withoutTokens(textOf(text), devices);
  if (!(thrown instanceof Error)) return new Error(redact(thrown));
  const error = new Error(redact(thrown.message));
  error.stack = redact(thrown.stack);
  if (thrown.cause !== undefined && depth < DEEPEST_CAUSE) {
    error.cause = errorWithoutTokens(thrown.cause, devices, depth + 1);
  }
  return error;
}

/** A device as transports see it. */
export interface TransportDevice {
  /** Null: a raw token. */
  id: string | null;
  platform: DevicePlatform;
  /** Whole; of a browser the JSON of its PushSubscription. */
  token: string;
  /** The user's id; null for a raw token. */
  user: string | null;
  locale: string | null;
}

/** A transport's answer for one device. */
export interface TransportResult {
  ok: boolean;
  /** The provider's id of the notification. */
  id?: string;
  /** Shown in results, and stored: it must hold no token and no secret. */
  error?: string;
  /** The provider says that the token is gone: the device is removed. */
  unregistered?: boolean;
  /** With `unregistered`: epoch ms since when the provider knows it. A device that registered again after that is kept. */
  goneSince?: number;
  /** The provider refuses credentials, project, topic or key: nothing is wrong with the device. It is kept, and an alarm raised. */
  misconfigured?: boolean;
  /** It may work later. Without any of these three, the message or the device is what is wrong, and will stay so. */
  retryable?: boolean;
  /** With `retryable`: the least time in ms that the provider asks to wait. */
  retryAfterMs?: number;
}

/** What a call of `send` is about. */
export interface SendContext {
  /** Of the push: the same when a chunk is sent again after a crash, or a device is tried again. */
  id: string;
  /** Epoch ms at which the message's `ttl` runs out; missing without `ttl`. Nothing is tried again after it. */
  expiresAt?: number;
}

/** A message and the devices that it goes to. */
export interface Sending {
  message: PushContent;
  devices: readonly TransportDevice[];
  context: SendContext;
}

/** Delivers push messages. A device goes to the first transport that accepts it. */
export interface Transport {
  readonly name: string;
  /**
   * Sends a message to up to 500 devices. Gives one result per device, in the same order, within 60 seconds. Several calls
   * may be under way at once.
   */
  send(
    message: PushContent,
    devices: readonly TransportDevice[],
    context: SendContext,
  ): Promise<readonly TransportResult[]> | readonly TransportResult[];
  /**
   * Sends several messages at once, to up to 500 devices in all: those of small pushes, gathered. Gives the results of each, in
   * the same order, within 60 seconds. Without it, `send` is called for each, side by side.
   */
  sendMany?(
    sendings: readonly Sending[],
  ): Promise<readonly (readonly TransportResult[])[]> | readonly (readonly TransportResult[])[];
  /** Whether it takes a device. Default: every one. A device goes to the first transport that accepts it. */
  accepts?(device: TransportDevice): boolean;
  /** Bytes of a message as the provider counts them for devices of a platform. With `limitBytes`: more is refused unsent. */
  sizeOf?(message: PushContent, platform: DevicePlatform): number;
  readonly limitBytes?: number;
  /**
   * Asks the provider whether it takes the credentials; called when a push-worker starts. Rejects with a clear message when
   * it refuses them, and resolves when it cannot be reached: that says nothing about credentials.
   */
  check?(): Promise<void>;
  /** Closes connections; called when the push-worker has stopped, after the last `send`. */
  close?(): Promise<void>;
}

/** The name of the transport of simulated devices. */
export const SIMULATED = 'simulated';

/** Time for one call of a transport; what is not answered by then counts as failed. */
const SEND_TIMEOUT_MS = 60_000;
const ERROR_MAX = 500;
const METHODS = ['sendMany', 'accepts', 'sizeOf', 'check', 'close'] as const;

/** Every malformed or doubled transport, a line each. */
export function transportConfigErrors(transports: readonly Transport[]): readonly string[] {
  const errors: string[] = [];
  const names = new Set<string>();
  for (const [i, transport] of transports.entries()) {
    const name: unknown = transport?.name;
    if (typeof name !== 'string' || name === '') errors.push(`transports[${i}] has no name`);
    else if (name === SIMULATED) errors.push(`transport "${name}": the name is that of simulated devices`);
    else if (names.has(name)) errors.push(`transport "${name}" is installed twice`);
    else names.add(name);
    if (typeof transport?.send !== 'function')
      errors.push(`transports[${i}] has no method send(message, devices, { id })`);
    for (const method of METHODS) {
      if (transport?.[method] !== undefined && typeof transport[method] !== 'function')
        errors.push(`transports[${i}].${method} is not a function`);
    }
    if (transport?.sizeOf !== undefined && !((transport.limitBytes ?? 0) > 0))
      errors.push(`transports[${i}] has sizeOf and needs limitBytes, a number above 0`);
  }
  return errors;
}

/** Whether a transport accepts a device. One whose `accepts` throws does not. */
export function takesDevice(transport: Transport, device: TransportDevice, log: Logger): boolean {
  try {
    return transport.accepts?.(device) ?? true;
  } catch (error) {
    const err = errorWithoutTokens(error, [device]);
    log.error({ err, transport: transport.name }, 'a push transport failed at accepts()');
    return false;
  }
}

/** The first transport that accepts a device. */
export function transportFor(
  transports: readonly Transport[],
  device: TransportDevice,
  log: Logger,
): Transport | undefined {
  return transports.find((transport) => takesDevice(transport, device, log));
}

function storable(text: unknown, fallback: string | undefined): string | undefined {
  if (typeof text !== 'string' || text === '') return fallback;
  return text.slice(0, ERROR_MAX).replaceAll('\0', '').toWellFormed();
}

/** A result as it is stored and shown. What it says repeats no token of `devices`. */
function normalized(result: TransportResult | undefined, devices: readonly TransportDevice[]): TransportResult {
  if (typeof result !== 'object' || result === null) {
    return { ok: false, error: 'The transport gave no result for this device' };
  }
  if (result.ok === true) {
    const id = storable(result.id, undefined);
    return id === undefined ? { ok: true } : { ok: true, id };
  }
  const reason = typeof result.error === 'string' ? withoutTokens(result.error, devices) : undefined;
  const error = storable(reason, 'The transport gave no reason')!;
  const failed: TransportResult = { ok: false, error, unregistered: result.unregistered === true };
  const { goneSince } = result;
  if (failed.unregistered) return typeof goneSince === 'number' && goneSince > 0 ? { ...failed, goneSince } : failed;
  if (result.misconfigured === true) return { ...failed, misconfigured: true };
  if (result.retryable !== true) return failed;
  const { retryAfterMs } = result;
  const asked = typeof retryAfterMs === 'number' && retryAfterMs > 0 && retryAfterMs < Number.POSITIVE_INFINITY;
  return { ...failed, retryable: true, ...(asked ? { retryAfterMs: Math.ceil(retryAfterMs) } : {}) };
}

/** Calls a transport. Rejects when it does, when it is late, and when it returns no list. */
async function callInTime(call: () => unknown): Promise<readonly unknown[]> {
  const results = await withDeadline(Promise.resolve(call()), SEND_TIMEOUT_MS);
  if (!Array.isArray(results)) throw new Error('its answer is not a list of results');
  return results;
}

/**
 * Calls a transport. Never throws: whatever is not answered is a failed result, retryable when the transport threw or was
 * late. Gives exactly one result per device, of one class at most: gone before misconfigured before retryable.
 */
async function resultsOf(
  transport: Transport,
  sendings: readonly Sending[],
  call: () => Promise<readonly unknown[]>,
  log: Logger,
): Promise<TransportResult[][]> {
  try {
    const lists = await call();
    return sendings.map(({ devices }, i) => {
      const results = (Array.isArray(lists[i]) ? lists[i] : []) as readonly TransportResult[];
      return devices.map((device, at) => normalized(results[at], [device]));
    });
  } catch (error) {
    const err = errorWithoutTokens(
      error,
      sendings.flatMap(({ devices }) => devices),
    );
    log.error({ err, transport: transport.name, push: sendings[0]?.context.id }, 'a push transport failed');
    const failed = normalized({ ok: false, error: `The transport failed: ${err.message}`, retryable: true }, []);
    return sendings.map(({ devices }) => devices.map(() => failed));
  }
}

/**
 * Hands messages to a transport: in one call where it takes several, else in calls side by side. Never throws.
 *
 * @returns a promise for each, of one result per device in order
 */
export function sendThrough(
  transport: Transport,
  sendings: readonly Sending[],
  log: Logger,
): Promise<TransportResult[]>[] {
  if (transport.sendMany !== undefined && sendings.length > 1) {
    const all = resultsOf(transport, sendings, () => callInTime(() => transport.sendMany!(sendings)), log);
    return sendings.map(async (_, i) => (await all)[i]!);
  }
  return sendings.map(async (sending) => {
    const { message, devices, context } = sending;
    const call = async () => [await callInTime(() => transport.send(message, devices, context))];
    return (await resultsOf(transport, [sending], call, log))[0]!;
  });
}
