import { type DevicePlatform, findDevices, maskToken, tokenHash } from '../accounts/devices/index.ts';
import type { Logger } from '../platform/log.ts';
import type { Executor } from '../platform/postgres/database.ts';
import type { PushMessage } from './message.ts';
import { type Transport, type TransportDevice, transportFor } from './transport.ts';

/** Devices that one job sends to at once: FCM's and APNs' sweet spot, and a bound of what a crash can repeat. */
const CHUNK_DEVICES = 500;

/** A device of a push, before it is stored. */
export interface Target {
  deviceId: string | null;
  userId: string | null;
  platform: DevicePlatform;
  /** Raw tokens only. */
  token: string | null;
  maskedToken: string;
}

/** Targets of one transport; null when none accepts them. */
export interface Chunk {
  transport: string | null;
  targets: Target[];
}

/** Every device of a message, once: one that is reached in several ways is sent to as the registered device it is. */
async function devicesOf(database: Executor, message: PushMessage): Promise<TransportDevice[]> {
  const registered = await findDevices(database, message);
  const devices: TransportDevice[] = registered.map(({ userId, ...device }) => ({ ...device, user: userId }));
  const known = new Set(
    message.tokens.length === 0 ? [] : registered.map((device) => tokenHash(device.platform, device.token)),
  );
  const { platform } = message;
  for (const token of message.tokens) {
    const hash = tokenHash(platform, token);
    if (known.has(hash)) continue;
    known.add(hash);
    devices.push({ id: null, platform, token, user: null, locale: null });
  }
  return devices;
}

function toTarget({ id, user, platform, token }: TransportDevice): Target {
  return {
    deviceId: id,
    userId: user,
    platform,
    token: id === null ? token : null,
    maskedToken: maskToken(platform, token),
  };
}

/** The devices of a message in chunks of at most 500 by transport. Empty when there is none. */
export async function findTargets(
  database: Executor,
  message: PushMessage,
  transports: readonly Transport[],
  log: Logger,
): Promise<Chunk[]> {
  const devices = await devicesOf(database, message);
  const byTransport = Map.groupBy(devices, (device) => transportFor(transports, device, log)?.name ?? null);
  const chunks: Chunk[] = [];
  for (const [transport, accepted] of byTransport) {
    for (let at = 0; at < accepted.length; at += CHUNK_DEVICES) {
      chunks.push({ transport, targets: accepted.slice(at, at + CHUNK_DEVICES).map(toTarget) });
    }
  }
  return chunks;
}
