import { NOT_READABLE } from '../readability/readability.ts';
import { createAttemptTarget, createNotReadableOutcome, type Outcome } from './attempt.ts';
import { createCheckedAttempts } from './checked-attempts.ts';
import type { Claim, ClaimedDelivery } from './claim.ts';
import type { EndpointLease } from './endpoint-lease.ts';
import type { ReleaseSlot } from './request-slots.ts';
import type { SendParts } from './send-parts.ts';

/** Sends the requested deliveries (tests, and retries that a client asked for) of an endpoint under its lease. */
export interface RequestedSender {
  /** Sends a claimed delivery, with the endpoint settings that its own claim returned. */
  send(claim: Claim, release: ReleaseSlot): Promise<void>;
  /**
   * Claims and sends requested deliveries, each as soon as it has a slot. The lease does not wait for a slot: if no slot becomes free
   * before the lease ends, its release adds a job for the requests. Otherwise hanging tests of other endpoints would delay the ordinary
   * deliveries of this endpoint.
   */
  sendWhenSlotIsFree(): void;
  countInFlight(): number;
  isClaiming(): boolean;
  /** From now on, gives back slots that it was waiting for. */
  end(): void;
}

/** What the sender reports to the lease. */
interface LeaseEvents {
  onBegin(): void;
  onOutcome(claimed: ClaimedDelivery, outcome: Outcome): void;
  onFailedCheck(error: unknown): void;
  /** Called after each delivery, and when nothing was left to claim. */
  onEnd(): void;
  /** Whether a response shows that its receiver does not hang. */
  wasGood(outcome: Outcome | undefined): boolean | undefined;
}

/** @param endpoint the endpoint of the lease */
export function createRequestedSender(
  parts: SendParts,
  lease: EndpointLease,
  endpoint: { id: string; owner: string },
  events: LeaseEvents,
): RequestedSender {
  const { slots, host, sender, check } = parts;
  let inFlight = 0;
  let isAwaitingSlot = false;
  let isClaiming = false;
  let hasEnded = false;

  async function send({ endpoint: claimedFor, deliveries }: Claim, release: ReleaseSlot): Promise<void> {
    const [claimed] = deliveries as [ClaimedDelivery];
    events.onBegin();
    inFlight += 1;
    let wasGood: boolean | undefined;
    try {
      const own = createCheckedAttempts({ check, sender, ...host }, claimedFor);
      const target = createAttemptTarget(sender, claimedFor);
      const outcome = await own.attemptIfReadable(() => target, claimed, []);
      wasGood = events.wasGood(outcome);
      // The outcome is undefined if the endpoint must not be sent to any more since the claim a moment ago.
      events.onOutcome(claimed, outcome ?? createNotReadableOutcome(NOT_READABLE));
    } catch (error) {
      events.onFailedCheck(error);
    }
    inFlight -= 1;
    release(wasGood);
    events.onEnd();
  }

  function sendWhenSlotIsFree(): void {
    if (isAwaitingSlot || isClaiming || hasEnded || parts.isStopping()) return;
    isAwaitingSlot = true;
    slots.acquire('requested', endpoint.owner, (release) => {
      isAwaitingSlot = false;
      if (hasEnded) release();
      else void claimAndSendOne(release);
    });
  }

  async function claimAndSendOne(release: ReleaseSlot): Promise<void> {
    isClaiming = true;
    let claim: Claim | undefined;
    try {
      if (!parts.isStopping()) claim = await lease.claimRequestedDelivery();
    } catch (error) {
      host.log.error(
        { err: error, endpoint: endpoint.id },
        'a requested webhook delivery could not be claimed; the sweep will find it',
      );
    }
    isClaiming = false;
    if (claim === undefined || claim.deliveries.length === 0) {
      release();
      events.onEnd();
      return;
    }
    void send(claim, release);
    sendWhenSlotIsFree();
  }

  return {
    send,
    sendWhenSlotIsFree,
    countInFlight: () => inFlight,
    isClaiming: () => isClaiming,
    end() {
      hasEnded = true;
    },
  };
}
