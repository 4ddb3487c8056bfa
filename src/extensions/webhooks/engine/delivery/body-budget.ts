import type { ClaimedDelivery } from './claim.ts';

/** A claim that is about to run. */
interface BudgetedClaim {
  /** How many deliveries it may claim: at least one. */
  count: number;
  /** Called with the deliveries when the claim has ended. */
  settle(deliveries: readonly ClaimedDelivery[]): void;
}

/** Bounds the bytes of the bodies that a worker has claimed: while they are many, claims return fewer deliveries. */
export interface BodyBudget {
  /** Plans a claim. @param wanted the maximum number of deliveries */
  plan(wanted: number): BudgetedClaim;
  /** Frees the bytes of a delivery that was sent or given back. */
  free(bytes: number): void;
}

const HEAP_SHARE = 1 / 8;
const MIN_BYTES = 8 * 2 ** 20;
/** What a body is assumed to need at first, with its delivery. */
const FIRST_ESTIMATE_BYTES = 4096;
/** How much of the estimate remains after a claim of smaller bodies. */
const DECAY = 0.95;

/** Returns how many bytes of bodies a worker may claim. @param heapBytes the maximum size of its heap */
export function computeBodyBytes(heapBytes: number): number {
  return Math.max(MIN_BYTES, Math.floor(heapBytes * HEAP_SHARE));
}

/** Returns the approximate bytes that a claimed delivery needs in memory. */
export function estimateDeliveryBytes({ body, encryptedBody }: ClaimedDelivery): number {
  return body.length + (encryptedBody?.length ?? 0);
}

/**
 * Creates a budget. The sizes of bodies are known only after a claim, so a claim reserves as much as the largest recent bodies would need.
 * If even one such body does not fit, a claim still gets one delivery, so that sending goes on.
 */
export function createBodyBudget(maxBytes: number): BodyBudget {
  let usedBytes = 0;
  let estimateBytes = FIRST_ESTIMATE_BYTES;
  return {
    plan(wanted) {
      const count = Math.min(wanted, Math.max(1, Math.floor((maxBytes - usedBytes) / estimateBytes)));
      const reservedBytes = count * estimateBytes;
      usedBytes += reservedBytes;
      return {
        count,
        settle(deliveries) {
          const sizes = deliveries.map(estimateDeliveryBytes);
          usedBytes += sizes.reduce((sum, size) => sum + size, 0) - reservedBytes;
          if (sizes.length > 0) estimateBytes = Math.max(1, ...sizes, estimateBytes * DECAY);
        },
      };
    },
    free(bytes) {
      usedBytes -= bytes;
    },
  };
}
