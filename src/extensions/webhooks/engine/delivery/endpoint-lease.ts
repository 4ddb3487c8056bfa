import {
  type AddToBatch,
  createSerialQueue,
  type Database,
  type Host,
  type LeaseRenewals,
  newId,
  retryWhileUnavailable,
} from '../../../../extension/index.ts';
import type { Settled } from '../../../../platform/data/postgres/settled.ts';
import type { Lane } from '../../endpoints/endpoint-jobs.ts';
import type { GlobalAccessCheck } from '../readability/readability.ts';
import type { BodyBudget } from './body-budget.ts';
import { type Claim, type ClaimKindName, type ClaimRow, type ClaimStatement, parseClaimRows } from './claim.ts';
import { createHeldBodies, createLeaseRate, createLeaseRenewal } from './lease-state.ts';
import { CREATE_LEASE_ROW, LEASE_MS, type LeaseRows, type LeaseToRelease, type LeaseToRenew } from './lease-store.ts';

/** What a worker needs to hold leases of endpoints. */
export interface LeaseDependencies {
  host: Pick<Host, 'database'>;
  /** Maximum number of deliveries per claim, by lane. */
  chunk: Record<Lane, number>;
  bodies: BodyBudget;
  claimStatements: Record<ClaimKindName, ClaimStatement>;
  leaseRows: LeaseRows;
  /** The time up to which all deliveries have been committed. */
  settled: Settled;
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
  /** When a search for due deliveries begins, after the last claim: see `dueFrom` in tables.ts. */
  getDueFrom(): string | null;
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

async function readClaim(
  database: Database,
  statement: { name: string; text: string; values: unknown[] },
): Promise<Claim | undefined> {
  let sentAt = 0;
  // A claim whose response was lost with the connection is repeated by the same holder, and claims the same deliveries again.
  const rows = await retryWhileUnavailable(database, () => {
    sentAt = performance.now();
    return database.write<ClaimRow>(statement);
  });
  return parseClaimRows(rows, sentAt);
}

/** What a lease has claimed, which its next claim states. */
interface ClaimedSoFar {
  endpointId: string;
  holder: string;
  /** By delivery id: the number of attempts before the claim. Contains the claimed deliveries whose results are not written yet. */
  claimed: ReadonlyMap<string, number>;
  rate: ReturnType<typeof createLeaseRate>;
  bodies: ReturnType<typeof createHeldBodies>;
}

/** Returns the attempts by delivery as JSON. Ids need no quoting, and building an object of hundreds of them first takes long. */
function toJson(claimed: ReadonlyMap<string, number>): string {
  let members = '';
  for (const [id, attempts] of claimed) members += `${members === '' ? '' : ','}"${id}":${attempts}`;
  return `{${members}}`;
}

/** @param limit maximum number of deliveries @param slow whether the claim is for the slow lane; null: either */
async function runClaimStatement(
  parts: LeaseDependencies,
  soFar: ClaimedSoFar,
  kind: ClaimKindName,
  limit: number,
  slow: boolean | null,
): Promise<Claim | undefined> {
  const { leaseRows, settled } = parts;
  const { database } = parts.host;
  const { endpointId, holder, claimed, rate } = soFar;
  const { byEndpoint, byRow } = parts.claimStatements[kind];
  const before = toJson(claimed);
  const values = [
    endpointId,
    limit,
    LEASE_MS,
    slow,
    parts.globalRoles,
    holder,
    before,
    rate.toJson(),
    settled.position,
  ];
  const read = async (statement: ClaimStatement['byRow'], ...more: string[]) => {
    const { passed } = settled;
    const claim = await readClaim(database, { ...statement, values: [...values, ...more] });
    if (claim === undefined) return undefined;
    settled.noteSnapshot(passed, claim.endpoint.snapshot);
    if (claim.deliveries.length > 0) settled.notePassedTime(claim.endpoint.startedAt);
    return claim;
  };
  for (let row = leaseRows.get(endpointId), last: string | undefined; row !== undefined && row !== last; ) {
    const claim = await read(byRow, row);
    if (claim === undefined || claim.endpoint.lease === 'own') {
      leaseRows.set(endpointId, claim?.endpoint.row);
      return claim;
    }
    // A renewal may have moved the row while the claim waited for it.
    last = row;
    row = leaseRows.get(endpointId);
  }
  const claim = await read(byEndpoint);
  leaseRows.set(endpointId, claim?.endpoint.row);
  if (claim?.endpoint.lease !== 'none') return claim;
  await database.write({ text: CREATE_LEASE_ROW, values: [endpointId] });
  return runClaimStatement(parts, soFar, kind, limit, slow);
}

async function claimDeliveries(
  parts: LeaseDependencies,
  soFar: ClaimedSoFar,
  kind: ClaimKindName,
  wanted: number,
  slow: boolean | null,
): Promise<LaneClaim | undefined> {
  if (parts.checkGlobalAccess !== undefined && !(await parts.checkGlobalAccess(soFar.endpointId))) return undefined;
  const planned = parts.bodies.plan(wanted);
  let claim: Claim | undefined;
  try {
    claim = await runClaimStatement(parts, soFar, kind, planned.count, slow);
  } finally {
    planned.settle(claim?.deliveries ?? []);
  }
  for (const delivery of claim?.deliveries ?? []) soFar.bodies.hold(delivery);
  return claim && { ...claim, isFull: claim.deliveries.length === planned.count };
}

/** Creates a lease of an endpoint. The first claim that returns a delivery acquires the lease. */
export function createEndpointLease(parts: LeaseDependencies, endpointId: string): EndpointLease {
  const holder = newId();
  /** By delivery id: the number of attempts before the claim. Contains the claimed deliveries whose results are not written yet. */
  const claimed = new Map<string, number>();
  const unwritten = new Map<string, number>();
  const bodies = createHeldBodies(parts.bodies);
  const rate = createLeaseRate();
  const renewal = createLeaseRenewal(parts.renewals, endpointId, holder);
  const soFar = { endpointId, holder, claimed, rate, bodies };
  let ordered = false;
  let dueFrom: string | null = null;
  // One claim at a time, because each claim writes everything that the lease has claimed.
  const claimOneByOne = createSerialQueue();

  function rememberClaim(claim: Claim): void {
    dueFrom = claim.endpoint.dueFrom;
    for (const { id, attempt } of claim.deliveries) claimed.set(id, attempt - 1);
    renewal.rememberClaim(claim);
  }

  async function claim(lane: Lane): Promise<LaneClaim | undefined> {
    const kind = ordered ? 'ordered' : 'any';
    const found = await claimDeliveries(parts, soFar, kind, parts.chunk[lane], lane === 'slow');
    if (found === undefined) return undefined;
    if (found.endpoint.ordered !== ordered) {
      ordered = found.endpoint.ordered;
      return claim(lane);
    }
    rate.continueCounter(found.endpoint);
    renewal.setCurrentEndpoint(found.endpoint);
    rememberClaim(found);
    return found;
  }

  async function claimRequestedDelivery(): Promise<Claim | undefined> {
    const found = await claimDeliveries(parts, soFar, 'requested', 1, null);
    if (found !== undefined) rememberClaim(found);
    return found;
  }

  return {
    claim: (lane) => claimOneByOne(() => claim(lane)),
    claimRequestedDelivery: () => claimOneByOne(claimRequestedDelivery),
    getDueFrom: () => dueFrom,
    onRequested: renewal.onRequested,
    tryCountAgainstRateLimit: rate.tryTakeRequest,
    rateLimitWaitMs: rate.waitMs,
    isOutdated: renewal.isOutdated,
    setLingering: renewal.setLingering,
    setResultWritten(deliveryId, isWritten) {
      bodies.free(deliveryId);
      if (!isWritten) unwritten.set(deliveryId, claimed.get(deliveryId)!);
      else claimed.delete(deliveryId);
    },
    async release() {
      renewal.end();
      bodies.freeAll();
      const owner = renewal.getOwnerIfAcquired();
      if (owner === undefined) return;
      await parts.releaseLease({
        endpointId,
        owner,
        holder,
        unwritten,
        rate: rate.getState(),
      });
    },
  };
}
