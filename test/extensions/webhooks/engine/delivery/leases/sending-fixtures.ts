import { expect, test } from 'vitest';
import type { Outcome } from '../../../../../../src/extensions/webhooks/engine/delivery/attempt.ts';
import type {
  ClaimedDelivery,
  ClaimedEndpoint,
} from '../../../../../../src/extensions/webhooks/engine/delivery/claim.ts';
import {
  type Circumstances,
  createSendingState,
  type SendingAction,
  type SendingEvent,
  type SendingStart,
  type SendingState,
} from '../../../../../../src/extensions/webhooks/engine/delivery/sending-state.ts';
import { step } from '../../../../../../src/extensions/webhooks/engine/delivery/sending-step.ts';

/** Creates a claimed endpoint of the fast lane. */
export function createEndpoint(changes: Partial<ClaimedEndpoint> = {}): ClaimedEndpoint {
  return {
    id: 'endpoint',
    owner: 'owner',
    organisationRole: null,
    readOwner: { json: {}, at: Number.NEGATIVE_INFINITY },
    scope: 'own',
    key: null,
    url: 'http://receiver.test/',
    secrets: [],
    headers: null,
    slow: false,
    ordered: false,
    rateLimit: null,
    rate: null,
    now: 0,
    requested: false,
    lease: 'own',
    row: null,
    dueFrom: null,
    snapshot: '0 0',
    startedAt: 0,
    ...changes,
  };
}

/** Creates a claimed delivery. */
export function createDelivery(id: string): ClaimedDelivery {
  return {
    id,
    eventId: `event_${id}`,
    messageId: `msg_${id}`,
    type: 'note.created',
    body: `{"type":"note.created","data":{"id":"${id}"}}`,
    encryptedBody: null,
    trace: null,
    attempt: 1,
    scheduleAttempt: 1,
    dueAt: 0,
  };
}

/** Creates the outcome of an attempt; without changes, of a quick success. */
export function createOutcome(changes: Partial<Outcome> = {}): Outcome {
  return {
    ok: true,
    at: '2026-01-01T00:00:00.000Z',
    statusCode: 204,
    durationMs: 5,
    error: null,
    response: '',
    retryAfterMs: null,
    gone: false,
    slow: false,
    ...changes,
  };
}

export const CLAIMING_MS = 250;
export const MAX_IN_FLIGHT = 4;
/** The time of the events of `testCases`, by the clock by which the lease begins at 0. */
export const NOW = 100;

/** The slot of all events. */
export const slot = () => undefined;
export const releases = (isGood?: boolean): SendingAction => ({ type: 'releaseSlot', slot, isGood });
export const PROCEED: SendingAction = { type: 'proceed' };
export const PROCEEDED: SendingEvent = { type: 'proceeded' };

/** An event of a lease, and what it leads to. */
interface Case {
  title: string;
  /** What differs from a lease of the fast lane that has claimed nothing and may linger. */
  start?: Partial<SendingStart>;
  /** What differs from the state in which such a lease begins. */
  given?: Partial<SendingState>;
  circumstances?: Partial<Circumstances>;
  event: SendingEvent;
  actions: SendingAction[];
  /** What the state contains after the event. */
  after?: Partial<SendingState>;
}

/** Creates the circumstances in which a healthy lease goes on. */
export function createCircumstances(changes: Partial<Circumstances> = {}): Circumstances {
  return { now: NOW, isOutdated: false, isStopping: false, canWorkerLinger: true, areJobsFull: true, ...changes };
}

/** Creates the state of a lease: see `Case`. */
export function createState({ start, given }: Pick<Case, 'start' | 'given'> = {}): SendingState {
  const first = { endpoint: createEndpoint(), deliveries: [] };
  const usual = { lane: 'fast', maxInFlight: MAX_IN_FLIGHT, claimingMs: CLAIMING_MS, pace: undefined, now: 0 } as const;
  return Object.assign(createSendingState({ ...usual, first, hasNew: false, allowLinger: true, ...start }), given);
}

/** Defines a test for each case. */
export function testCases(cases: readonly Case[]): void {
  test.each(cases)('$title', ({ start, given, circumstances, event, actions, after = {} }) => {
    const state = createState({ ...(start && { start }), ...(given && { given }) });
    expect(step(state, event, createCircumstances(circumstances))).toEqual(actions);
    expect(state).toMatchObject(after);
  });
}
