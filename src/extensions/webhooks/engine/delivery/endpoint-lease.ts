import type { Host } from '../../../../declare/host.ts';
import type { AddToBatch } from '../../../../platform/concurrency/micro-batch.ts';
import { createSerialQueue } from '../../../../platform/concurrency/serial-queue.ts';
import { newId } from '../../../../platform/ids.ts';
import type { LeaseRenewals } from '../../../../platform/leased-work/lease.ts';
import { retryWhileUnavailable } from '../../../../platform/postgres/retry.ts';
import type { Lane } from '../../endpoints/endpoint-jobs.ts';
import type { GlobalAccessCheck } from '../readability/readability.ts';
import { type BodyBudget, estimateDeliveryBytes } from './body-budget.ts';
import { type Claim, type ClaimedEndpoint, type ClaimRow, type ClaimStatements, parseClaimRows } from './claim.ts';
import {
  CREATE_LEASE_ROW,
  type CurrentEndpoint,
  LEASE_MS,
  type LeaseToRelease,
  type LeaseToRenew,
} from './lease-store.ts';
import { createRateCounter, type RateCounter } from './rate-limit.ts';

/** What a worker needs to hold leases of endpoints. */
export interface LeaseParts {
  host: Pick<Host, 'database'>;
  /** Maximum number of deliveries per claim, by lane. */
  chunk: Record<Lane, number>;
  bodies: BodyBudget;
  claimTexts: ClaimStatements;
  /** Roles of which the owner of a global endpoint needs one; null if `globalPolicy` has other conditions than roles. */
  globalRoles: readonly string[] | null;
  /** Called before each claim, if functions of `globalPolicy` decide which users may have global endpoints. */
  checkGlobalAccess: GlobalAccessCheck | undefined;
  releaseLease: AddToBatch<LeaseToRelease>;
  renewals: LeaseRenewals<LeaseToRenew>;
}

/** The result of a claim of due deliveries. */
export interface LaneClaim extends Claim {
  /** Whether it returned as many deliveries as it may, so that more may be due. */
  isFull: boolean;
}

/** The exclusive right to send to an endpoint. The first claim that returns a delivery acquires it. */
export interface EndpointLease {
  /**
   * Claims due deliveries of a lane. Returns undefined if the endpoint is disabled or deleted, or its owner must not be sent events. In the result,
   * `endpoint.lease` is `taken` while another process holds the lease.
   */
  claim(lane: Lane): Promise<LaneClaim | undefined>;
  /** Claims the requested delivery that has waited longest, in any lane. Otherwise like `claim`. */
  claimRequestedDelivery(): Promise<Claim | undefined>;
  /** Registers a listener that is called when a renewal finds unclaimed requested deliveries. */
  onRequested(listener: () => void): void;
  /** Counts one more request against the endpoint's rate limit and returns true; returns false if the request has to wait. */
  tryCountAgainstRateLimit(): boolean;
  /** ms until the endpoint's rate limit allows another request; 0 if it allows one now. */
  rateLimitWaitMs(): number;
  /**
   * Whether the endpoint was disabled, deleted or changed since the last `claim`. If so, deliveries that have not begun are left to the
   * next lease. Renewals detect a change within a second; a lease that lingers detects it with its next claim.
   */
  isOutdated(): boolean;
  /** A lease that lingers is not renewed: it lasts from its last claim or renewal. Nothing may be in flight. */
  setLingering(isLingering: boolean): void;
  /** Remembers whether the result of a sent delivery was written. `isWritten` false: writing has failed for good. */
  setResultWritten(deliveryId: string, isWritten: boolean): void;
  /**
   * Releases the lease. Deliveries that were claimed but not sent become claimable, as if they had never been claimed. A delivery whose
   * result could not be written stays claimed, so that it is sent again later instead of being lost.
   */
  release(): Promise<void>;
}

/** Whether an endpoint still has the URL, secret, order and rate limit that it had when it was claimed. */
function hasSameSettings({ url, secret, ordered, rateLimit }: CurrentEndpoint, before: ClaimedEndpoint): boolean {
  return (
    url === before.url &&
    secret === before.secrets[0] &&
    ordered === before.ordered &&
    rateLimit?.limit === before.rateLimit?.limit &&
    rateLimit?.windowSeconds === before.rateLimit?.windowSeconds
  );
}

/** Creates a lease of an endpoint. The first claim that returns a delivery acquires the lease. */
export function createEndpointLease(parts: LeaseParts, endpointId: string): EndpointLease {
  const { database } = parts.host;
  const holder = newId();
  /** By delivery id: the number of attempts before the claim. Contains the claimed deliveries whose results are not written yet. */
  const claimed = new Map<string, number>();
  const unwritten = new Map<string, number>();
  /** By delivery id: the bytes of the deliveries of which this lease holds the bodies. */
  const heldBytes = new Map<string, number>();
  let rate: RateCounter | undefined;
  /** ms by which the clock of Postgres is ahead of `performance.now()`. Workers that share an endpoint's rate limit need one clock. */
  let postgresAheadMs = 0;
  let ordered = false;
  let latest: ClaimedEndpoint | undefined;
  let isOutdated = false;
  let claimedAt = 0;
  let isIdle = false;
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
  let isAcquired = false;
  // One claim at a time, because each claim writes everything that the lease has claimed.
  const claimOneByOne = createSerialQueue();

  const estimatePostgresTime = () => performance.now() + postgresAheadMs;

  /** Continues counting requests, with the rate limit that a claim returned: it may have changed since the last claim. */
  function continueRateCounter({ rateLimit, rate: before, now: postgresNow }: ClaimedEndpoint): void {
    postgresAheadMs = postgresNow - performance.now();
    const state = rate?.getRateState(postgresNow) ?? before ?? {};
    rate = rateLimit === null ? undefined : createRateCounter(rateLimit, state, postgresNow);
  }

  async function runClaimStatement(
    name: string,
    text: string,
    wanted: number,
    slow: boolean | null,
  ): Promise<LaneClaim | undefined> {
    if (parts.checkGlobalAccess !== undefined && !(await parts.checkGlobalAccess(endpointId))) return undefined;
    const before = JSON.stringify(Object.fromEntries(claimed));
    const known = rate === undefined ? null : JSON.stringify(rate.getRateState(estimatePostgresTime()));
    const planned = parts.bodies.plan(wanted);
    const values = [endpointId, planned.count, LEASE_MS, slow, parts.globalRoles, holder, before, known];
    let claim: Claim | undefined;
    try {
      let sentAt = 0;
      // A claim whose response was lost with the connection is repeated by the same holder, and claims the same deliveries again.
      const rows = await retryWhileUnavailable(database, () => {
        sentAt = performance.now();
        return database.write<ClaimRow>({ name, text, values });
      });
      claim = parseClaimRows(rows, sentAt);
    } finally {
      planned.settle(claim?.deliveries ?? []);
    }
    for (const delivery of claim?.deliveries ?? []) heldBytes.set(delivery.id, estimateDeliveryBytes(delivery));
    if (claim?.endpoint.lease === 'none') {
      await database.write({ text: CREATE_LEASE_ROW, values: [endpointId] });
      return runClaimStatement(name, text, wanted, slow);
    }
    return claim && { ...claim, isFull: claim.deliveries.length === planned.count };
  }

  /** Remembers the claimed deliveries. With the first of them, the lease is acquired and its renewals start. */
  function rememberClaimAndStartRenewals({ endpoint, deliveries }: Claim): void {
    latest ??= endpoint;
    // A claim that returns nothing does not renew the lease.
    if (deliveries.length > 0) claimedAt = performance.now();
    for (const { id, attempt } of deliveries) claimed.set(id, attempt - 1);
    if (isAcquired || deliveries.length === 0) return;
    isAcquired = true;
    parts.renewals.add(renewed, () => {
      isOutdated = true;
    });
  }

  async function claim(lane: Lane): Promise<LaneClaim | undefined> {
    const { any, ordered: orderedText } = parts.claimTexts;
    const [name, text] = ordered ? ['webhook_claim_ordered', orderedText] : ['webhook_claim', any];
    const found = await runClaimStatement(name!, text!, parts.chunk[lane], lane === 'slow');
    if (found === undefined) return undefined;
    if (found.endpoint.ordered !== ordered) {
      ordered = found.endpoint.ordered;
      return claim(lane);
    }
    continueRateCounter(found.endpoint);
    latest = found.endpoint;
    isOutdated = false;
    rememberClaimAndStartRenewals(found);
    return found;
  }

  async function claimRequestedDelivery(): Promise<Claim | undefined> {
    const found = await runClaimStatement('webhook_claim_requested', parts.claimTexts.requested, 1, null);
    if (found !== undefined) rememberClaimAndStartRenewals(found);
    return found;
  }

  function freeBody(deliveryId: string): void {
    parts.bodies.free(heldBytes.get(deliveryId) ?? 0);
    heldBytes.delete(deliveryId);
  }

  return {
    claim: (lane) => claimOneByOne(() => claim(lane)),
    claimRequestedDelivery: () => claimOneByOne(claimRequestedDelivery),
    onRequested: (listener) => {
      notifyRequested = listener;
    },
    tryCountAgainstRateLimit: () => rate === undefined || rate.tryTakeRequest(estimatePostgresTime()),
    rateLimitWaitMs: () => rate?.waitMs(estimatePostgresTime()) ?? 0,
    isOutdated: () => isOutdated,
    setLingering(idle) {
      isIdle = idle;
    },
    setResultWritten(deliveryId, isWritten) {
      freeBody(deliveryId);
      if (!isWritten) unwritten.set(deliveryId, claimed.get(deliveryId)!);
      else claimed.delete(deliveryId);
    },
    async release() {
      parts.renewals.remove(renewed);
      for (const deliveryId of [...heldBytes.keys()]) freeBody(deliveryId);
      if (!isAcquired) return;
      await parts.releaseLease({
        endpointId,
        owner: latest!.owner,
        holder,
        unwritten,
        rate: rate?.getRateState(estimatePostgresTime()),
      });
    },
  };
}
