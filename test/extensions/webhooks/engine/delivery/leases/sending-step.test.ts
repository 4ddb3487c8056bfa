import { describe, expect, test } from 'vitest';
import type { Outcome } from '../../../../../../src/extensions/webhooks/engine/delivery/attempt.ts';
import type { ClaimedEndpoint } from '../../../../../../src/extensions/webhooks/engine/delivery/claim.ts';
import type { LaneClaim } from '../../../../../../src/extensions/webhooks/engine/delivery/endpoint-lease.ts';
import { createPaceKeeper } from '../../../../../../src/extensions/webhooks/engine/delivery/endpoint-pace.ts';
import { BEGIN_REQUESTS_MS } from '../../../../../../src/extensions/webhooks/engine/delivery/lease-store.ts';
import { mayStillSend } from '../../../../../../src/extensions/webhooks/engine/delivery/sending-decisions.ts';
import type {
  SendingAction,
  SendingEvent,
} from '../../../../../../src/extensions/webhooks/engine/delivery/sending-state.ts';
import { step } from '../../../../../../src/extensions/webhooks/engine/delivery/sending-step.ts';
import {
  CLAIMING_MS,
  createCircumstances,
  createDelivery,
  createEndpoint,
  createOutcome,
  createState,
  MAX_IN_FLIGHT,
  NOW,
  PROCEED,
  PROCEEDED,
  releases,
  slot,
  testCases,
} from './sending-fixtures.ts';

const [a, b, c] = [createDelivery('a'), createDelivery('b'), createDelivery('c')];
const paceOf = (limit: number) => createPaceKeeper({ limit, quickestMs: 5 }, MAX_IN_FLIGHT);
const acquires: SendingAction[] = [{ type: 'acquireSlot' }, PROCEED];
const claims: SendingAction[] = [{ type: 'claim' }];
const ends: SendingAction[] = [{ type: 'end' }];
const ordered = createEndpoint({ ordered: true });

describe('the next request', () => {
  const waiting = { queue: [a, b], pace: paceOf(2) };
  testCases([
    {
      title: 'needs a slot, which counts as in flight',
      ...{ given: waiting, event: PROCEEDED, actions: acquires },
      after: { inFlight: 1, awaitingSlot: 1 },
    },
    {
      title: 'waits while as many requests are in flight as the pace allows',
      ...{ given: { ...waiting, inFlight: 2 }, event: PROCEEDED, actions: [] },
    },
    {
      title: 'is not one for which a slot is already awaited',
      ...{ given: { queue: [a], pace: paceOf(3), inFlight: 1, awaitingSlot: 1 }, event: PROCEEDED, actions: [] },
    },
    ...[
      { title: 'after a bad response', given: { isHalted: true }, circumstances: {} },
      { title: 'after the rate limit is reached', given: { isRateLimited: true }, circumstances: {} },
      { title: 'after the lease is lost', given: {}, circumstances: { isOutdated: true } },
      { title: 'while the worker stops', given: {}, circumstances: { isStopping: true } },
      { title: 'too long after the claim', given: {}, circumstances: { now: BEGIN_REQUESTS_MS } },
    ].map(({ title, given, circumstances }) => ({
      title: `does not begin ${title}, and the lease ends`,
      ...{ given: { ...waiting, ...given }, circumstances, event: PROCEEDED, actions: ends },
      after: { queue: [a, b], hasEnded: true },
    })),
    {
      title: 'of an ordered endpoint waits until the last result is written',
      ...{ given: { queue: [a], endpoint: ordered, unwritten: 1 }, event: PROCEEDED, actions: [] },
    },
    {
      title: 'of an ordered endpoint waits for a requested delivery in flight',
      given: { queue: [a], endpoint: ordered, requested: { inFlight: 1, isAwaitingSlot: false, isClaiming: false } },
      ...{ event: PROCEEDED, actions: [] },
    },
    {
      title: 'of an ordered endpoint begins alone, whatever the pace',
      given: { queue: [a, b], endpoint: ordered, pace: paceOf(4), inFlight: 1 },
      ...{ event: PROCEEDED, actions: [] },
    },
  ]);
});

describe('a slot that is granted', () => {
  const waiting = { queue: [a, b], inFlight: 2, awaitingSlot: 2 };
  const event: SendingEvent = { type: 'slotGranted', slot };
  testCases([
    {
      title: 'sends the first delivery of the queue',
      ...{ given: { ...waiting, queue: [a, b] }, event, actions: [{ type: 'send', delivery: a, slot }] },
      after: { queue: [b], inFlight: 2, awaitingSlot: 1 },
    },
    {
      title: 'sends without claiming more, although the queue is low: a response claims',
      ...{ given: { ...waiting, queue: [a, b], more: true }, event, actions: [{ type: 'send', delivery: a, slot }] },
    },
    ...[{ isOutdated: true }, { isStopping: true }, { now: BEGIN_REQUESTS_MS }].map((circumstances) => ({
      title: `is released if nothing may begin any more: ${JSON.stringify(circumstances)}`,
      ...{ given: { ...waiting, queue: [a, b] }, circumstances, event, actions: [releases(), PROCEED] },
      after: { queue: [a, b], inFlight: 1, awaitingSlot: 1 },
    })),
    {
      title: 'is released if the rate limit allows no request, and the delivery stays the first',
      given: { queue: [b], inFlight: 1 },
      event: { type: 'rateLimited', delivery: a, slot },
      actions: [releases(), PROCEED],
      after: { queue: [a, b], inFlight: 0, isRateLimited: true },
    },
  ]);
});

describe('the end of an attempt', () => {
  const attempted = (outcome: Outcome | undefined, isRequested = false): SendingEvent => {
    return { type: 'attempted', delivery: a, outcome, slot, isRequested };
  };
  const recorded = (outcome: Outcome, isGood?: boolean): SendingAction[] => {
    return [{ type: 'record', delivery: a, outcome }, releases(isGood), PROCEED];
  };
  const quick = createOutcome();
  const late = createOutcome({ slow: true, durationMs: 1500 });
  const failed = createOutcome({ ok: false, slow: true, error: 'status 500' });
  const refused = createOutcome({ ok: false, refused: true, durationMs: 0 });
  testCases([
    {
      title: 'with a quick success is recorded before its slot is released, and allows one more request',
      ...{ given: { inFlight: 1 }, event: attempted(quick), actions: recorded(quick, true) },
      after: { inFlight: 0, unwritten: 1, lastResultAt: NOW, hasRespondedWell: true, isHalted: false },
    },
    ...[late, failed].map((outcome) => ({
      title: `with ${outcome.error ?? 'a slow success'} lets no more requests begin`,
      ...{ given: { inFlight: 1 }, event: attempted(outcome), actions: recorded(outcome, false) },
      after: { inFlight: 0, unwritten: 1, isHalted: true, slow: true, hasRespondedWell: false },
    })),
    {
      title: 'with a slow success is good in the slow lane',
      ...{ start: { lane: 'slow' as const }, given: { inFlight: 1 } },
      ...{ event: attempted(late), actions: recorded(late, true) },
    },
    {
      title: 'that was refused says nothing about the receiver',
      given: { inFlight: 1, slow: true, hasRespondedWell: true },
      ...{ event: attempted(refused), actions: recorded(refused) },
      after: { slow: true, hasRespondedWell: true, isHalted: false, unwritten: 1 },
    },
    {
      title: 'that never began leaves its delivery to the next lease',
      ...{ given: { inFlight: 1 }, event: attempted(undefined), actions: [releases(), PROCEED] },
      after: { inFlight: 0, unwritten: 0, isHalted: true, more: true },
    },
    {
      title: 'whose check failed leaves its delivery to a later lease',
      given: { inFlight: 1 },
      event: { type: 'checkFailed', slot, isRequested: false },
      actions: [releases(), PROCEED],
      after: { inFlight: 0, isHalted: true, hasUnchecked: true },
    },
    {
      title: 'of a requested delivery does not change how many others are in flight',
      given: { inFlight: 1, requested: { inFlight: 1, isAwaitingSlot: false, isClaiming: false } },
      ...{ event: attempted(quick, true), actions: recorded(quick, true) },
      after: { inFlight: 1, unwritten: 1, requested: { inFlight: 0, isAwaitingSlot: false, isClaiming: false } },
    },
  ]);

  test.each([
    ['at the limit', 2, 3],
    ['below the limit', 1, 2],
  ])('with a quick success %s leads to a limit that fits', (_, inFlight, limit) => {
    const state = createState({ given: { inFlight, pace: paceOf(2) } });
    step(state, attempted(quick), createCircumstances());
    expect(state.pace.limit()).toBe(limit);
  });
});

describe('a result', () => {
  testCases([
    {
      title: 'that is written lets an ordered endpoint continue',
      given: { queue: [a], endpoint: ordered, unwritten: 1 },
      ...{ event: { type: 'resultWritten', isWritten: true }, actions: acquires },
      after: { unwritten: 0 },
    },
    {
      title: 'that could not be written ends the lease of an ordered endpoint',
      given: { queue: [a], endpoint: ordered, unwritten: 1 },
      ...{ event: { type: 'resultWritten', isWritten: false }, actions: ends },
      after: { unwritten: 0, isHalted: true, queue: [a] },
    },
    {
      title: 'that could not be written does not stop other endpoints',
      given: { queue: [a], unwritten: 1 },
      ...{ event: { type: 'resultWritten', isWritten: false }, actions: acquires },
      after: { hasFailedWrite: true, isHalted: false },
    },
  ]);
});

describe('more deliveries', () => {
  const due = { more: true };
  testCases([
    {
      title: 'are claimed when none are left',
      ...{ given: { ...due, hasNew: true, isKnownDrained: true }, event: PROCEEDED, actions: claims },
      after: { isClaiming: true, hasNew: false, isKnownDrained: false },
    },
    {
      title: 'are claimed before the queue is empty',
      ...{ given: { ...due, queue: [a], inFlight: 1 }, event: PROCEEDED, actions: claims },
    },
    {
      title: 'are not claimed while the queue is long',
      ...{ given: { ...due, queue: [a, b], inFlight: 1 }, event: PROCEEDED, actions: [] },
    },
    { title: 'are not claimed twice at once', given: { ...due, isClaiming: true }, event: PROCEEDED, actions: [] },
    { title: 'are not claimed if none may be due', event: PROCEEDED, actions: ends },
    {
      title: 'are left to other leases after the time for claims',
      ...{ given: due, circumstances: { now: CLAIMING_MS }, event: PROCEEDED, actions: ends },
    },
    {
      title: 'are claimed for longer while no other endpoint waits for a job',
      ...{
        given: due,
        circumstances: { now: 4 * CLAIMING_MS - 1, areJobsFull: false },
        event: PROCEEDED,
        actions: claims,
      },
    },
    {
      title: 'are left to other workers in the end',
      ...{ given: due, circumstances: { now: 4 * CLAIMING_MS, areJobsFull: false }, event: PROCEEDED, actions: ends },
    },
    {
      title: 'are not claimed while as many wait as are in flight, however many may be',
      given: { ...due, queue: [a, b, a], inFlight: 4, awaitingSlot: 2, pace: paceOf(4) },
      ...{ event: PROCEEDED, actions: [] },
    },
    {
      title: 'are left to the next lease in the slow lane',
      ...{ start: { lane: 'slow' as const }, given: due, event: PROCEEDED, actions: ends },
    },
    {
      title: 'are not claimed if that would give late requests more time',
      given: { ...due, queue: [a], claimingSince: BEGIN_REQUESTS_MS },
      ...{ circumstances: { now: BEGIN_REQUESTS_MS }, event: PROCEEDED, actions: ends },
    },
    {
      title: 'of an ordered endpoint are not claimed while a result is being written',
      ...{ given: { ...due, endpoint: ordered, unwritten: 1 }, event: PROCEEDED, actions: [] },
    },
    ...[{ isOutdated: true }, { isStopping: true }].map((circumstances) => ({
      title: `are not claimed if the lease must end: ${JSON.stringify(circumstances)}`,
      ...{ given: due, circumstances, event: PROCEEDED, actions: ends },
    })),
  ]);
});

describe('the end of a claim', () => {
  const claimed = (changes: Partial<LaneClaim> = {}, endpoint: Partial<ClaimedEndpoint> = {}): SendingEvent => {
    const claim = { endpoint: createEndpoint(endpoint), deliveries: [], isFull: false, ...changes };
    return { type: 'claimed', claim, isUsable: true };
  };
  const claiming = { isClaiming: true, more: true };
  testCases([
    {
      title: 'adds the deliveries behind the others and gives all of them time to begin',
      given: { ...claiming, queue: [a] },
      ...{ event: claimed({ deliveries: [b, c], isFull: true }), actions: [PROCEED] },
      after: { isClaiming: false, queue: [a, b, c], claimedAt: NOW, isAcquired: true, isClaimFull: true, more: true },
    },
    {
      title: 'without a delivery neither acquires nor continues the lease',
      ...{ given: claiming, event: claimed(), actions: [PROCEED] },
      after: { claimedAt: 0, isAcquired: false, more: false },
    },
    {
      title: 'is followed by another if new deliveries were announced meanwhile',
      ...{ given: { ...claiming, hasNew: true }, event: claimed(), actions: [PROCEED], after: { more: true } },
    },
    {
      title: 'that failed lets no more requests begin',
      given: { ...claiming, queue: [a] },
      event: { type: 'claimed', claim: undefined, isUsable: true },
      ...{ actions: [PROCEED], after: { isHalted: true, more: false, queue: [a] } },
    },
    {
      title: 'finds that another process holds the lease',
      ...{ given: claiming, event: claimed({}, { lease: 'taken' }), actions: [PROCEED], after: { isHalted: true } },
    },
    {
      title: 'finds that the endpoint has become slow, and leaves it to the slow lane',
      ...{ given: claiming, event: claimed({}, { slow: true }), actions: [PROCEED] },
      after: { isHalted: true, slow: true, more: true },
    },
    {
      title: 'whose settings cannot be read adds nothing, and the endpoint is processed again later',
      ...{ given: claiming, actions: [PROCEED], after: { queue: [], isHalted: true, hasUnchecked: true } },
      event: {
        type: 'claimed',
        claim: { endpoint: createEndpoint(), deliveries: [a], isFull: false },
        isUsable: false,
      },
    },
    {
      title: 'finds requested deliveries',
      ...{ given: claiming, event: claimed({}, { requested: true }) },
      ...{ actions: [{ type: 'acquireRequestedSlot' }, PROCEED] },
    },
  ]);
});

test('a checked delivery is sent while the lease holds, and no later than requests may begin', () => {
  const state = createState();
  expect(mayStillSend(state, createCircumstances({ now: BEGIN_REQUESTS_MS - 1 }))).toBe(true);
  expect(mayStillSend(state, createCircumstances({ now: BEGIN_REQUESTS_MS }))).toBe(false);
  expect(mayStillSend(state, createCircumstances({ isOutdated: true }))).toBe(false);
});

test.each([
  ['a full first claim', { first: { endpoint: createEndpoint(), deliveries: [a], isFull: true } }, true],
  ['an announcement during the first claim', { hasNew: true }, true],
  ['neither', {}, false],
])('%s decides whether more may be due at the start', (_, start, more) => {
  expect(createState({ start }).more).toBe(more);
});
