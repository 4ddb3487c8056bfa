import { type DevicePlatform, maskToken, tokenHash } from '../accounts/devices/index.ts';
import type { Logger } from '../platform/log.ts';
import { type Transport, type TransportDevice, transportFor } from './transport.ts';

/** Devices that one job sends to at once: FCM's and APNs' sweet spot, and a bound of what a crash can repeat. */
const CHUNK_DEVICES = 500;

/** A device of a push, before it is stored. */
export interface Target {
  deviceId: string | null;
  userId: string | null;
  platform: DevicePlatform;
  /** Raw tokens only, like its hash. */
  token: string | null;
  tokenHash: string | null;
  maskedToken: string;
}

/** Targets of one transport; null when none accepts them. */
export interface Chunk {
  transport: string | null;
  targets: Target[];
}

function toTarget({ id, user, platform, token }: TransportDevice): Target {
  return {
    deviceId: id,
    userId: user,
    platform,
    token: id === null ? token : null,
    tokenHash: id === null ? tokenHash(token) : null,
    maskedToken: maskToken(platform, token),
  };
}

/** Devices in chunks of at most 500 by transport. Empty when there is none. */
export function toChunks(devices: readonly TransportDevice[], transports: readonly Transport[], log: Logger): Chunk[] {
  const byTransport = Map.groupBy(devices, (device) => transportFor(transports, device, log)?.name ?? null);
  const chunks: Chunk[] = [];
  for (const [transport, accepted] of byTransport) {
    for (let at = 0; at < accepted.length; at += CHUNK_DEVICES) {
      chunks.push({ transport, targets: accepted.slice(at, at + CHUNK_DEVICES).map(toTarget) });
    }
  }
  return chunks;
}
