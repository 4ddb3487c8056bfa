import type { DevicePlatform } from '../accounts/devices/index.ts';
import type { ClaimedChunk, ClaimedDevice } from './claim-chunks.ts';
import { tooLarge } from './size.ts';
import type { Transport, TransportDevice, TransportResult } from './transport.ts';

/** A message with a `ttl` of seconds is worth a first try after a short wait in the queue. */
const FIRST_TRY_GRACE_MS = 60_000;

/** A chunk whose workers die with it again and again is most likely what kills them. */
const MAX_LOST = 4;

/** The devices of a chunk that a transport is asked for, and what the others are told. */
export interface Prepared {
  sendable: { claimed: ClaimedDevice; device: TransportDevice }[];
  refused: { claimed: ClaimedDevice; result: TransportResult }[];
}

/** Sorts out devices that are gone, too late, or cannot carry the message. */
export function prepare(chunk: ClaimedChunk, transport: Transport | undefined, now: number): Prepared {
  const { message, expiresAt = Number.POSITIVE_INFINITY } = chunk;
  const sizes = new Map<DevicePlatform, string | undefined>();

  function refusalOf({ device, tries }: ClaimedDevice): string | undefined {
    if (device.token === null) return 'The device is no longer registered, or its user is not active';
    if (chunk.unanswered > MAX_LOST + 1) return 'Given up: its workers were lost again and again';
    if (now > expiresAt + (tries === 0 ? FIRST_TRY_GRACE_MS : 0)) return 'Expired: its ttl ran out before it was sent';
    if (transport === undefined) return undefined;
    if (!sizes.has(device.platform)) sizes.set(device.platform, tooLarge(transport, message, device.platform));
    return sizes.get(device.platform);
  }

  const prepared: Prepared = { sendable: [], refused: [] };
  for (const claimed of chunk.devices) {
    const error = refusalOf(claimed);
    if (error === undefined) prepared.sendable.push({ claimed, device: claimed.device as TransportDevice });
    else prepared.refused.push({ claimed, result: { ok: false, error } });
  }
  return prepared;
}
