import { setTimeout as sleep } from 'node:timers/promises';
import type { DevicePlatform } from '../accounts/devices/index.ts';
import type { Logger } from '../platform/log.ts';
import type { PushContent } from './message.ts';

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
  /** Epoch ms at which the message's `ttl` runs out; missing without `ttl`. The push is not called after it. */
  expiresAt?: number;
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

/** Time for one call of a transport; what is not answered by then counts as failed. */
const SEND_TIMEOUT_MS = 60_000;
const ERROR_MAX = 500;
const METHODS = ['accepts', 'sizeOf', 'check', 'close'] as const;

/** Every malformed or doubled transport, a line each. */
export function transportMistakes(transports: readonly Transport[]): readonly string[] {
  const faults: string[] = [];
  const names = new Set<string>();
  for (const [i, transport] of transports.entries()) {
    const name: unknown = transport?.name;
    if (typeof name !== 'string' || name === '') faults.push(`transports[${i}] has no name`);
    else if (names.has(name)) faults.push(`transport "${name}" is installed twice`);
    else names.add(name);
    if (typeof transport?.send !== 'function')
      faults.push(`transports[${i}] has no method send(message, devices, { id })`);
    for (const method of METHODS) {
      if (transport?.[method] !== undefined && typeof transport[method] !== 'function')
        faults.push(`transports[${i}].${method} is not a function`);
    }
    if (transport?.sizeOf !== undefined && !((transport.limitBytes ?? 0) > 0))
      faults.push(`transports[${i}] has sizeOf and needs limitBytes, a number above 0`);
  }
  return faults;
}

/** The first transport that accepts a device. One whose `accepts` throws does not accept. */
export function transportFor(
  transports: readonly Transport[],
  device: TransportDevice,
  log: Logger,
): Transport | undefined {
  return transports.find((transport) => {
    try {
      return transport.accepts?.(device) ?? true;
    } catch (error) {
      log.error({ err: error, transport: transport.name }, 'a push transport failed at accepts()');
      return false;
    }
  });
}

function storable(text: unknown, fallback: string | undefined): string | undefined {
  if (typeof text !== 'string' || text === '') return fallback;
  return text.slice(0, ERROR_MAX).replaceAll('\0', '').toWellFormed();
}

function cleaned(result: TransportResult | undefined): TransportResult {
  if (typeof result !== 'object' || result === null) {
    return { ok: false, error: 'The transport gave no result for this device' };
  }
  if (result.ok === true) {
    const id = storable(result.id, undefined);
    return id === undefined ? { ok: true } : { ok: true, id };
  }
  const error = storable(result.error, 'The transport gave no reason')!;
  const failed: TransportResult = { ok: false, error, unregistered: result.unregistered === true };
  if (failed.unregistered) return failed;
  if (result.misconfigured === true) return { ...failed, misconfigured: true };
  if (result.retryable !== true) return failed;
  const { retryAfterMs } = result;
  const asked = typeof retryAfterMs === 'number' && retryAfterMs > 0 && retryAfterMs < Number.POSITIVE_INFINITY;
  return { ...failed, retryable: true, ...(asked ? { retryAfterMs: Math.ceil(retryAfterMs) } : {}) };
}

/**
 * Calls a transport. Never throws: whatever is not answered is a failed result, retryable when the transport threw or was
 * late. Gives exactly one result per device, of one class at most: gone before misconfigured before retryable.
 */
export async function sendThrough(
  transport: Transport,
  message: PushContent,
  devices: readonly TransportDevice[],
  context: SendContext,
  log: Logger,
): Promise<TransportResult[]> {
  const late = new AbortController();
  try {
    const timeout = sleep(SEND_TIMEOUT_MS, undefined, { signal: late.signal }).then(() => {
      throw new Error(`no answer within ${SEND_TIMEOUT_MS / 1000} s`);
    });
    timeout.catch(() => undefined);
    const results: unknown = await Promise.race([transport.send(message, devices, context), timeout]);
    if (!Array.isArray(results)) throw new Error('its answer is not a list of results');
    return devices.map((_, i) => cleaned(results[i]));
  } catch (error) {
    log.error({ err: error, transport: transport.name, push: context.id }, 'a push transport failed');
    const reason = error instanceof Error ? error.message : String(error);
    return devices.map(() => cleaned({ ok: false, error: `The transport failed: ${reason}`, retryable: true }));
  } finally {
    late.abort();
  }
}
