import type { Platform } from '../platform/platform.ts';
import { type ClaimedChunk, RENEW_MS, renewClaims } from './claim-chunks.ts';

/** The chunks that a worker has, so that others leave them to it for as long as it lives. */
export interface Claims {
  add(chunk: ClaimedChunk): void;
  remove(chunk: ClaimedChunk): void;
  stop(): void;
}

/** Renews the claims of a worker. */
export function createClaims({ database, log }: Pick<Platform, 'database' | 'log'>): Claims {
  const held = new Set<ClaimedChunk>();
  const timer = setInterval(() => {
    if (held.size === 0) return;
    renewClaims(database, [...held]).catch((error) => log.warn({ err: error }, 'claims of pushes were not renewed'));
  }, RENEW_MS);
  return {
    add: (chunk) => void held.add(chunk),
    remove: (chunk) => void held.delete(chunk),
    stop: () => clearInterval(timer),
  };
}
