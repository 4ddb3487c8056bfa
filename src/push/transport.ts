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
  error?: string;
  /** The provider says that the token is gone: the device is removed. */
  unregistered?: boolean;
}

/** Delivers push messages. A device goes to the first transport that accepts it. */
export interface Transport {
  readonly name: string;
  /**
   * Sends a message to up to 500 devices. Gives one result per device, in the same order.
   *
   * @param context `id`: of the push, the same when a chunk is sent again after a crash
   */
  send(
    message: PushContent,
    devices: readonly TransportDevice[],
    context: { id: string },
  ): Promise<readonly TransportResult[]> | readonly TransportResult[];
  /** Whether it takes a device. Default: every one. A device goes to the first transport that accepts it. */
  accepts?(device: TransportDevice): boolean;
}

/** Time for one call of a transport; what is not answered by then counts as failed. */
const SEND_TIMEOUT_MS = 60_000;
const ERROR_MAX = 500;

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
    if (transport?.accepts !== undefined && typeof transport.accepts !== 'function') {
      faults.push(`transports[${i}].accepts is not a function`);
    }
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
  return { ok: false, error, unregistered: result.unregistered === true };
}

/** Calls a transport. Never throws: whatever is not answered is a failed result. Gives exactly one result per device. */
export async function sendThrough(
  transport: Transport,
  message: PushContent,
  devices: readonly TransportDevice[],
  id: string,
  log: Logger,
): Promise<TransportResult[]> {
  const late = new AbortController();
  try {
    const timeout = sleep(SEND_TIMEOUT_MS, undefined, { signal: late.signal }).then(() => {
      throw new Error(`no answer within ${SEND_TIMEOUT_MS / 1000} s`);
    });
    timeout.catch(() => undefined);
    const results: unknown = await Promise.race([transport.send(message, devices, { id }), timeout]);
    if (!Array.isArray(results)) throw new Error('its answer is not a list of results');
    return devices.map((_, i) => cleaned(results[i]));
  } catch (error) {
    log.error({ err: error, transport: transport.name, push: id }, 'a push transport failed');
    const reason = error instanceof Error ? error.message : String(error);
    return devices.map(() => cleaned({ ok: false, error: `The transport failed: ${reason}` }));
  } finally {
    late.abort();
  }
}
