import type { Host } from '../../../declare/host.ts';
import { newId } from '../../../platform/ids.ts';
import type { AddToBatch } from '../../../platform/micro-batch.ts';
import type { GlobalGate } from '../readability/readability.ts';
import type { ClaimedEndpoint, ClaimRow, ClaimTexts } from './claim.ts';
import { type Claim, claimOf } from './claim.ts';
import type { Lane } from './endpoint-jobs.ts';
import type { EndedTurn, RenewedTurn, TurnRenewals } from './lease-store.ts';
import { type EndpointNow, MAKE_TURN, TURN_LEASE_MS } from './lease-store.ts';
import { createRate, type Rate } from './rate-limit.ts';

/** What turns are made with. */
export interface TurnParts {
  host: Pick<Host, 'database'>;
  /** How many deliveries are claimed at once, by lane. */
  chunk: Record<Lane, number>;
  claimTexts: ClaimTexts;
  /** Roles that a global endpoint's owner needs; null when roles alone do not decide it. */
  globalRoles: readonly string[] | null;
  /** Asked before each claim, where functions decide it. */
  globalGate: GlobalGate | undefined;
  endTurn: AddToBatch<EndedTurn>;
  renewals: TurnRenewals;
}

/** A turn of an endpoint: the right to send its deliveries, which one job has at a time. */
export interface Turn {
  /** Claims what is due, beginning the turn or going on with it. Undefined: the endpoint is disabled, removed, or its owner may not receive. */
  claim(): Promise<Claim | undefined>;
  /** Counts one more request against the endpoint's rate; false: it has to wait. */
  mayBegin(): boolean;
  /** ms until the rate lets another request begin; 0: now. */
  waitMs(): number;
  /**
   * Whether the endpoint was disabled, removed or changed since it was last claimed for: what is not begun is left to the next turn.
   * Known a second later, at a renewal.
   */
  isOutdated(): boolean;
  /** A result is written, or will not be. */
  noteResult(deliveryId: string, isWritten: boolean): void;
  /**
   * Ends the turn; what was claimed and not sent is free again, as if it had never been claimed. A delivery whose result could not be
   * written stays claimed: it is sent again after some time, rather than lost.
   */
  end(): Promise<void>;
}

/** Whether an endpoint is still sent to as it was when it was claimed for. */
function isSame({ url, secret, ordered, rateLimit }: EndpointNow, before: ClaimedEndpoint): boolean {
  return (
    url === before.url &&
    secret === before.secrets[0] &&
    ordered === before.ordered &&
    rateLimit?.limit === before.rateLimit?.limit &&
    rateLimit?.windowSeconds === before.rateLimit?.windowSeconds
  );
}

/** Makes a turn, which begins with the first claim that gives something. */
export function createTurn(parts: TurnParts, endpointId: string, lane: Lane): Turn {
  const { database } = parts.host;
  const holder = newId();
  /** The attempts of each delivery when it was claimed. */
  const claimed = new Map<string, number>();
  const unwritten = new Map<string, number>();
  let rate: Rate | undefined;
  /** How far the clock of Postgres is ahead of `performance.now()`: several workers count an endpoint's requests, so they go by one clock. */
  let aheadMs = 0;
  let ordered = false;
  let latest: ClaimedEndpoint | undefined;
  let isOutdated = false;
  let claimedAt = 0;
  const renewed: RenewedTurn = {
    endpointId,
    holder,
    get claimedAt() {
      return claimedAt;
    },
    see(endpoint) {
      isOutdated = endpoint === undefined || !isSame(endpoint, latest!);
    },
  };
  let begun = false;

  const now = () => performance.now() + aheadMs;

  /** The rule may have changed since the last claim. */
  function follow({ rateLimit, rate: before, now: theirs }: ClaimedEndpoint): void {
    aheadMs = theirs - performance.now();
    const state = rate?.state(theirs) ?? before ?? {};
    rate = rateLimit === null ? undefined : createRate(rateLimit, state, theirs);
  }

  async function claim(): Promise<Claim | undefined> {
    if (parts.globalGate !== undefined && !(await parts.globalGate('endpoint', endpointId))) return undefined;
    const before = JSON.stringify(Object.fromEntries(claimed));
    const known = rate === undefined ? null : JSON.stringify(rate.state(now()));
    const values = [
      endpointId,
      parts.chunk[lane],
      TURN_LEASE_MS,
      lane === 'slow',
      parts.globalRoles,
      holder,
      before,
      known,
    ];
    const { any, inLine } = parts.claimTexts;
    const statement = ordered ? { name: 'webhook_claim_in_line', text: inLine } : { name: 'webhook_claim', text: any };
    const found = claimOf(await database.write<ClaimRow>({ ...statement, values }));
    if (found?.endpoint.turn === 'none') {
      await database.write({ text: MAKE_TURN, values: [endpointId] });
      return claim();
    }
    if (found !== undefined && found.endpoint.ordered !== ordered) {
      ordered = found.endpoint.ordered;
      return claim();
    }
    if (found === undefined) return undefined;
    follow(found.endpoint);
    latest = found.endpoint;
    isOutdated = false;
    claimedAt = performance.now();
    for (const { id, attempt } of found.deliveries) claimed.set(id, attempt - 1);
    if (!begun && found.deliveries.length > 0) {
      begun = true;
      parts.renewals.add(renewed);
    }
    return found;
  }

  return {
    claim,
    mayBegin: () => rate === undefined || rate.take(now()),
    waitMs: () => rate?.waitMs(now()) ?? 0,
    isOutdated: () => isOutdated,
    noteResult(deliveryId, isWritten) {
      if (!isWritten) unwritten.set(deliveryId, claimed.get(deliveryId)!);
      else claimed.delete(deliveryId);
    },
    async end() {
      parts.renewals.remove(renewed);
      if (begun) await parts.endTurn({ endpointId, holder, left: unwritten, rate: rate?.state(now()) });
    },
  };
}
