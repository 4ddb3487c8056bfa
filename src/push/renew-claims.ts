import type { Platform } from '../platform/platform.ts';
import { type ClaimedChunk, RENEW_MS, renewClaims } from './claim-chunks.ts';

/** Renews the claims of the chunks that a worker has, so that others leave them to it for as long as it lives. */
export interface ClaimRenewals {
  add(chunk: ClaimedChunk): void;
  remove(chunk: ClaimedChunk): void;
  stop(): void;
}

/** Makes it. Claims are renewed until `stop`. */
export function createClaimRenewals({ database, log }: Pick<Platform, 'database' | 'log'>): ClaimRenewals {
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
