import type { DevicePlatform } from '../../accounts/devices/index.ts';
import { messageSizeError, type Transport, type TransportDevice, type TransportResult } from '../message/transport.ts';
import type { ClaimedChunk, ClaimedDevice } from './claim-chunks.ts';

/** Even a message with a `ttl` of only seconds gets a first try after a short wait in the queue. */
const FIRST_TRY_GRACE_MS = 60_000;

/** After this many lost workers, a chunk is given up, because the chunk itself most likely crashes them. */
const MAX_LOST_WORKERS = 4;

/** The devices of a chunk to pass to its transport, and the devices that are not sent to, each with its result. */
interface PreparedDevices {
  sendable: { claimed: ClaimedDevice; device: TransportDevice }[];
  refused: { claimed: ClaimedDevice; result: TransportResult }[];
}

/** Separates the devices to send to from those that are refused: the device is gone, or the message has expired or is too large. */
export function separateSendableDevices(
  chunk: ClaimedChunk,
  transport: Transport | undefined,
  now: number,
): PreparedDevices {
  const { message, expiresAt = Number.POSITIVE_INFINITY } = chunk;
  const sizes = new Map<DevicePlatform, string | undefined>();

  function findRefusalReason({ device, tries }: ClaimedDevice): string | undefined {
    if (device.token === null) return 'The device is no longer registered, or its user is not active';
    if (chunk.claimsSinceResult > MAX_LOST_WORKERS + 1) return 'Given up: every worker that tried to send it died';
    if (now > expiresAt + (tries === 0 ? FIRST_TRY_GRACE_MS : 0)) return 'Expired: its ttl ended before it was sent';
    if (transport === undefined) return undefined;
    if (!sizes.has(device.platform)) sizes.set(device.platform, messageSizeError(transport, message, device.platform));
    return sizes.get(device.platform);
  }

  const prepared: PreparedDevices = { sendable: [], refused: [] };
  for (const claimed of chunk.devices) {
    const error = findRefusalReason(claimed);
    if (error === undefined) prepared.sendable.push({ claimed, device: claimed.device as TransportDevice });
    else prepared.refused.push({ claimed, result: { ok: false, error } });
  }
  return prepared;
}
