import type { LeaseRenewals } from '../../../../extension/index.ts';
import { type BodyBudget, estimateDeliveryBytes } from './body-budget.ts';
import type { Claim, ClaimedDelivery, ClaimedEndpoint } from './claim.ts';
import type { CurrentEndpoint, LeaseToRenew } from './lease-store.ts';
import { createRateCounter, type RateCounter } from './rate-limit.ts';

/** Counts the requests of a lease against the endpoint's rate limit. */
export function createLeaseRate() {
  let counter: RateCounter | undefined;
  /** ms by which the clock of Postgres is ahead of `performance.now()`. Workers that share an endpoint's rate limit need one clock. */
  let postgresAheadMs = 0;
  const estimatePostgresTime = () => performance.now() + postgresAheadMs;
  const getState = () => counter?.getRateState(estimatePostgresTime());
  return {
    /** Continues counting requests, with the rate limit that a claim returned: it may have changed since the last claim. */
    continueCounter({ rateLimit, rate: before, now: postgresNow }: ClaimedEndpoint): void {
      postgresAheadMs = postgresNow - performance.now();
      const state = counter?.getRateState(postgresNow) ?? before ?? {};
      counter = rateLimit === null ? undefined : createRateCounter(rateLimit, state, postgresNow);
    },
    getState,
    toJson: () => (counter === undefined ? null : JSON.stringify(getState())),
    tryTakeRequest: () => counter === undefined || counter.tryTakeRequest(estimatePostgresTime()),
    waitMs: () => counter?.waitMs(estimatePostgresTime()) ?? 0,
  };
}

/** Remembers the deliveries of which a lease holds the bodies, by the bytes that they take from the budget. */
export function createHeldBodies(budget: BodyBudget) {
  const heldBytes = new Map<string, number>();
  const free = (deliveryId: string) => {
    budget.free(heldBytes.get(deliveryId) ?? 0);
    heldBytes.delete(deliveryId);
  };
  return {
    hold: (delivery: ClaimedDelivery) => heldBytes.set(delivery.id, estimateDeliveryBytes(delivery)),
    free,
    freeAll() {
      for (const deliveryId of [...heldBytes.keys()]) free(deliveryId);
    },
  };
}

/** Whether an endpoint still has the URL, secret, headers, order and rate limit that it had when it was claimed. */
function hasSameSettings(
  { url, secret, headers, ordered, rateLimit }: CurrentEndpoint,
  before: ClaimedEndpoint,
): boolean {
  return (
    url === before.url &&
    secret === before.secrets[0] &&
    headers === before.headers &&
    ordered === before.ordered &&
    rateLimit?.limit === before.rateLimit?.limit &&
    rateLimit?.windowSeconds === before.rateLimit?.windowSeconds
  );
}

/** Renews a lease from its first claim that returns a delivery on. */
export function createLeaseRenewal(renewals: LeaseRenewals<LeaseToRenew>, endpointId: string, holder: string) {
  let latest: ClaimedEndpoint | undefined;
  let isOutdated = false;
  let claimedAt = 0;
  let isIdle = false;
  let isAcquired = false;
  let notifyRequested = () => {};
  const renewed: LeaseToRenew = {
    endpointId,
    holder,
    get claimedAt() {
      return isIdle ? performance.now() : claimedAt;
    },
    onRenewed(endpoint) {
      isOutdated ||= !hasSameSettings(endpoint, latest!);
      if (endpoint.requested) notifyRequested();
    },
  };
  return {
    /** Remembers a claim. With its first delivery, the lease is acquired and its renewals start. */
    rememberClaim({ endpoint, deliveries }: Claim): void {
      latest ??= endpoint;
      // A claim that returns nothing does not renew the lease.
      if (deliveries.length > 0) claimedAt = performance.now();
      if (isAcquired || deliveries.length === 0) return;
      isAcquired = true;
      renewals.add(renewed, () => {
        isOutdated = true;
      });
    },
    setCurrentEndpoint(endpoint: ClaimedEndpoint): void {
      latest = endpoint;
      isOutdated = false;
    },
    onRequested(listener: () => void): void {
      notifyRequested = listener;
    },
    isOutdated: () => isOutdated,
    setLingering(isLingering: boolean): void {
      isIdle = isLingering;
    },
    /** Returns the owner of the endpoint; undefined if the lease was not acquired. */
    getOwnerIfAcquired: () => (isAcquired ? latest!.owner : undefined),
    end: () => renewals.remove(renewed),
  };
}
