import { expect } from 'vitest';
import type { ClaimedDelivery } from '../../../../../../src/extensions/webhooks/engine/delivery/claim.ts';
import { LEASE_MS } from '../../../../../../src/extensions/webhooks/engine/delivery/lease-store.ts';
import type { ReleaseSlot } from '../../../../../../src/extensions/webhooks/engine/delivery/request-slots.ts';
import { mayStillSend } from '../../../../../../src/extensions/webhooks/engine/delivery/sending-decisions.ts';
import {
  type Circumstances,
  createSendingState,
  type SendingAction,
  type SendingEvent,
  type SendingState,
} from '../../../../../../src/extensions/webhooks/engine/delivery/sending-state.ts';
import { step } from '../../../../../../src/extensions/webhooks/engine/delivery/sending-step.ts';
import { createDelivery, createEndpoint, createOutcome } from './sending-fixtures.ts';
import { EVENTLESS, generateEndpoint, type Happening, type ModelStart, PAUSES_MS } from './sending-happenings.ts';

type ActionOf<Type extends SendingAction['type']> = Extract<SendingAction, { type: Type }>;

interface Attempt {
  delivery: ClaimedDelivery;
  slot: ReleaseSlot;
  isRequested: boolean;
  /** Whether the check is over and the request was sent. */
  isSent: boolean;
}

/**
 * A lease with all that surrounds it: slots, claims, attempts, results and time. Carries out the actions of `step`, and checks after each
 * that a lease may do that. Its records tell what became of each claimed delivery.
 */
export class SendingModel {
  readonly claimed: string[] = [];
  /** Deliveries whose requests were sent. */
  readonly sent: string[] = [];
  readonly recorded: string[] = [];
  /** Deliveries that another lease can claim again, because this one did not send them. */
  readonly returned: string[] = [];
  hasEnded = false;
  /** Whether new deliveries were announced, or a full batch was claimed, since the last claim began. */
  mayHaveMissed: boolean;
  /** Whether the lease must begin no more requests, after what happened. */
  private mustEnd = false;

  private readonly circumstances = {
    now: 0,
    isOutdated: false,
    isStopping: false,
    canWorkerLinger: true,
    areJobsFull: true,
  };
  private readonly state: SendingState;
  private readonly start: ModelStart;
  private claimedAt = 0;
  private acquired = 0;
  private begun = 0;
  private lastBegun = -1;
  /** The slots that are held, each with whether it is for requested deliveries. */
  private readonly heldSlots = new Map<ReleaseSlot, boolean>();
  private waitingForSlot = 0;
  private isWaitingForRequestedSlot = false;
  private readonly attempts: Attempt[] = [];
  private writes = 0;
  private isClaiming = false;
  private claimingRequested: ReleaseSlot | undefined;
  private isCheckingDue = false;
  private lingersUntil: number | undefined;

  constructor(start: ModelStart) {
    this.start = start;
    this.mayHaveMissed = start.hasNew || start.isFull;
    const { lane, maxInFlight, claimingMs, pace, hasNew, allowLinger, isFull } = start;
    const endpoint = createEndpoint({ ordered: start.ordered, slow: lane === 'slow' });
    const first = { endpoint, deliveries: this.createClaimed(start.firstCount), isFull };
    this.state = createSendingState({ lane, maxInFlight, claimingMs, first, hasNew, allowLinger, pace, now: 0 });
    const requested = start.beginsWithRequested
      ? { claim: { endpoint, deliveries: this.createClaimed(1) }, slot: this.createSlot(true) }
      : undefined;
    this.handle({ type: 'started', requested });
  }

  /** Lets one of the possible things happen. */
  happen({ kind, value }: Happening): void {
    const underWay = this.listUnderWay();
    // Mostly something that is under way, so that leases get far.
    const possible = underWay.length > 0 && kind % 4 !== 0 ? underWay : this.listOthers(value);
    possible[Math.floor(kind / 4) % possible.length]!(value);
  }

  /** Lets everything that is under way end well, one after the other, and time pass, until the lease ends. */
  finish(): void {
    const most = 20 * (this.claimed.length + 20);
    for (let i = 0; i < most && (!this.hasEnded || this.isWaitingForRequestedSlot); i++) {
      const [next = () => this.pass(LEASE_MS)] = this.listUnderWay();
      next(EVENTLESS);
    }
    expect(this.hasEnded, 'the lease ends').toBe(true);
    this.returned.push(...this.state.queue.map(({ id }) => id));
  }

  /** Returns what can happen with the work of the lease. */
  private listUnderWay(): ((value: number) => void)[] {
    const { claimingRequested: slot } = this;
    return [
      ...this.attempts.map((attempt) => (value: number) => this.continueAttempt(attempt, value)),
      ...(this.writes > 0 ? [(value: number) => this.endWrite(value % this.start.valuesPerFailure !== 3)] : []),
      ...(this.isClaiming ? [(value: number) => this.endClaim(value)] : []),
      ...(this.waitingForSlot > 0 ? [() => this.grantSlot(false)] : []),
      ...(this.isWaitingForRequestedSlot ? [() => this.grantSlot(true)] : []),
      ...(slot ? [(value: number) => this.endRequestedClaim(slot, value)] : []),
      ...(this.isCheckingDue ? [(value: number) => this.endDueCheck(value)] : []),
    ];
  }

  private listOthers(value: number): (() => void)[] {
    return [
      () => this.pass(PAUSES_MS[value % PAUSES_MS.length]!),
      () => this.announce(value % 4 === 0),
      () => this.handle({ type: 'requestAnnounced' }),
      () => this.change({ canWorkerLinger: value % 4 !== 0, areJobsFull: value % 3 === 0 }),
      ...(value % 40 === 0 ? [() => this.change({ isOutdated: true }), () => this.change({ isStopping: true })] : []),
    ];
  }

  /** Only the fast lane listens for announcements, and only until the lease ends. */
  private announce(areJobsFull: boolean): void {
    this.mayHaveMissed ||= this.start.lane === 'fast' && !this.hasEnded;
    this.handle({ type: 'announced', areJobsFull });
  }

  /** Whether the end of the lease leads to another one: see `LeaseSummary`. */
  get leadsToAnother(): boolean {
    return this.state.more || this.state.queue.length > 0;
  }

  private change(changes: Partial<Circumstances>): void {
    Object.assign(this.circumstances, changes);
    if (changes.isStopping) this.handle({ type: 'stopped' });
  }

  private handle(event: SendingEvent): void {
    const wasOver = this.hasEnded;
    for (const action of step(this.state, event, this.circumstances)) {
      if (wasOver) expect(action.type, 'an action after the end').toBe('releaseSlot');
      (this.actions[action.type] as (one: SendingAction) => void)(action);
    }
  }

  private readonly actions: { [Type in SendingAction['type']]: (action: ActionOf<Type>) => void } = {
    proceed: () => this.handle({ type: 'proceeded' }),
    acquireSlot: () => this.acquireSlot(),
    send: ({ delivery, slot }) => this.send(delivery, slot),
    record: ({ delivery }) => {
      this.recorded.push(delivery.id);
      this.writes += 1;
    },
    releaseSlot: ({ slot }) => expect(this.heldSlots.delete(slot), 'the slot was held').toBe(true),
    claim: () => {
      expect([this.isClaiming, this.mustEnd, this.isOver()], 'a claim').toEqual([false, false, false]);
      this.isClaiming = true;
      this.mayHaveMissed = false;
    },
    acquireRequestedSlot: () => {
      expect(this.isWaitingForRequestedSlot, 'another requested slot is awaited').toBe(false);
      this.isWaitingForRequestedSlot = true;
    },
    claimRequested: ({ slot }) => {
      expect(this.claimingRequested, 'another requested delivery is being claimed').toBeUndefined();
      this.claimingRequested = slot;
    },
    sendRequested: ({ claim, slot }) => {
      expect(this.lingersUntil, 'the lease waits').toBeUndefined();
      this.attempts.push({ delivery: claim.deliveries[0]!, slot, isRequested: true, isSent: false });
    },
    checkDue: () => {
      this.isCheckingDue = true;
    },
    linger: ({ ms }) => {
      this.expectIdle();
      this.lingersUntil = this.circumstances.now + ms;
    },
    endLinger: () => {
      expect(this.lingersUntil, 'the lease waits').toBeDefined();
      this.lingersUntil = undefined;
    },
    end: () => {
      this.expectIdle();
      expect(this.lingersUntil, 'the lease waits').toBeUndefined();
      this.hasEnded = true;
    },
  };

  private isOver(): boolean {
    return this.circumstances.isOutdated || this.circumstances.isStopping;
  }

  private expectIdle(): void {
    const busy = [this.isClaiming, this.waitingForSlot, this.attempts.length, this.writes, this.heldSlots.size];
    expect(busy, 'nothing is under way').toEqual([false, 0, 0, 0, 0]);
  }

  private createClaimed(count: number): ClaimedDelivery[] {
    const deliveries = Array.from({ length: count }, (_, i) => createDelivery(`${this.claimed.length + i}`));
    this.claimed.push(...deliveries.map(({ id }) => id));
    return deliveries;
  }

  private createSlot(isRequested: boolean): ReleaseSlot {
    const slot = () => undefined;
    this.heldSlots.set(slot, isRequested);
    return slot;
  }

  private acquireSlot(): void {
    this.waitingForSlot += 1;
    const inFlight = this.waitingForSlot + [...this.heldSlots.values()].filter((isRequested) => !isRequested).length;
    expect([this.mustEnd, this.isOver()], 'a request is to begin').toEqual([false, false]);
    if (this.state.endpoint.ordered) {
      const requests = this.attempts.filter(({ isRequested }) => isRequested).length;
      expect([inFlight, requests, this.writes], 'requests and writes of an ordered endpoint').toEqual([1, 0, 0]);
    } else expect(inFlight).toBeLessThanOrEqual(this.state.pace.limit());
    expect(inFlight).toBeLessThanOrEqual(this.start.maxInFlight);
    this.acquired += 1;
    if (this.acquired % this.start.slotsPerWait !== 0) this.grantSlot(false);
  }

  private grantSlot(isRequested: boolean): void {
    if (isRequested) this.isWaitingForRequestedSlot = false;
    else this.waitingForSlot -= 1;
    this.handle({ type: isRequested ? 'requestedSlotGranted' : 'slotGranted', slot: this.createSlot(isRequested) });
  }

  private send(delivery: ClaimedDelivery, slot: ReleaseSlot): void {
    expect([this.mustEnd, this.isOver()], 'a request begins').toEqual([false, false]);
    if (this.begun >= this.start.rateLimit) {
      this.mustEnd = true;
      this.handle({ type: 'rateLimited', delivery, slot });
      return;
    }
    this.begun += 1;
    // The ids are numbers in the order of the claims.
    expect(Number(delivery.id), 'the next delivery').toBeGreaterThan(this.lastBegun);
    this.lastBegun = Number(delivery.id);
    this.attempts.push({ delivery, slot, isRequested: false, isSent: false });
  }

  /** Ends the check of a delivery, or the request if that was sent. */
  private continueAttempt(attempt: Attempt, value: number): void {
    const { delivery, slot, isRequested, isSent } = attempt;
    const mayGoOn = isRequested || mayStillSend(this.state, this.circumstances);
    const how = value % this.start.valuesPerFailure;
    if (isSent) {
      const [isFailed, isSlow] = [how === 0, how <= 1];
      this.endAttempt(attempt);
      this.mustEnd ||= isSlow;
      const outcome = createOutcome({ ok: !isFailed, slow: isSlow, durationMs: (value % 40) * 10 });
      this.handle({ type: 'attempted', delivery, outcome, slot, isRequested });
    } else if (how === 0) {
      this.returnDelivery(attempt);
      this.handle({ type: 'checkFailed', slot, isRequested });
    } else if (how === 1) {
      this.endAttempt(attempt);
      this.handle({
        type: 'attempted',
        delivery,
        outcome: createOutcome({ ok: false, refused: true }),
        slot,
        isRequested,
      });
    } else if (!mayGoOn || (how === 2 && !isRequested)) {
      this.returnDelivery(attempt);
      this.handle({ type: 'attempted', delivery, outcome: undefined, slot, isRequested });
    } else this.sendRequest(attempt);
  }

  private sendRequest(attempt: Attempt): void {
    const { now, isOutdated } = this.circumstances;
    if (!attempt.isRequested) expect([isOutdated, now - this.claimedAt < LEASE_MS], 'the lease').toEqual([false, true]);
    attempt.isSent = true;
    this.sent.push(attempt.delivery.id);
  }

  private endAttempt(attempt: Attempt): void {
    this.attempts.splice(this.attempts.indexOf(attempt), 1);
  }

  private returnDelivery(attempt: Attempt): void {
    this.endAttempt(attempt);
    this.mustEnd = true;
    this.returned.push(attempt.delivery.id);
  }

  private endWrite(isWritten: boolean): void {
    this.writes -= 1;
    this.mustEnd ||= !isWritten && this.state.endpoint.ordered;
    this.handle({ type: 'resultWritten', isWritten });
  }

  private endClaim(value: number): void {
    this.isClaiming = false;
    const how = value % this.start.valuesPerFailure;
    this.mustEnd ||= how < 4;
    if (how === 0) {
      this.handle({ type: 'claimed', claim: undefined, isUsable: true });
      return;
    }
    this.circumstances.isOutdated = false;
    const deliveries = how === 1 ? [] : this.createClaimed(value % 5);
    if (deliveries.length > 0 && how !== 3) this.claimedAt = this.circumstances.now;
    if (how === 3) this.returned.push(...deliveries.map(({ id }) => id));
    const claim = { endpoint: generateEndpoint(this.start, value), deliveries, isFull: deliveries.length === 4 };
    this.handle({ type: 'claimed', claim, isUsable: how !== 3 });
  }

  private endRequestedClaim(slot: ReleaseSlot, value: number): void {
    this.claimingRequested = undefined;
    const isFailed = value % 8 === 0;
    const claim = isFailed ? undefined : { endpoint: createEndpoint(), deliveries: this.createClaimed(value % 2) };
    this.handle({ type: 'requestedClaimed', claim, slot });
  }

  private endDueCheck(value: number): void {
    this.isCheckingDue = false;
    this.handle({ type: 'dueChecked', dueInMs: value % 3 === 0 ? undefined : (value % 8) * 1000 });
  }

  private pass(ms: number): void {
    this.circumstances.now += ms;
    if (this.lingersUntil === undefined || this.lingersUntil > this.circumstances.now) return;
    this.lingersUntil = undefined;
    this.handle({ type: 'lingerTimedOut' });
  }
}
