import { describe } from 'vitest';
import { LINGER_MS } from '../../../../../../src/extensions/webhooks/engine/delivery/linger.ts';
import type {
  Circumstances,
  SendingAction,
  SendingEvent,
  SendingState,
} from '../../../../../../src/extensions/webhooks/engine/delivery/sending-state.ts';
import {
  createDelivery,
  createEndpoint,
  NOW,
  PROCEED,
  PROCEEDED,
  releases,
  slot,
  testCases,
} from './sending-fixtures.ts';

const ends: SendingAction[] = [{ type: 'end' }];
const ordered = createEndpoint({ ordered: true });

describe('an announcement of new deliveries', () => {
  const announced: SendingEvent = { type: 'announced', areJobsFull: false };
  const lingering = { isLingering: true, claimingSince: -1000 };
  testCases([
    {
      title: 'ends the wait of the lease and starts the time for claims anew',
      ...{ given: lingering, event: announced, actions: [{ type: 'endLinger' }, PROCEED] },
      after: { isLingering: false, more: true, hasNew: true, claimingSince: NOW, paceSince: NOW },
    },
    {
      title: 'does not give the lease more time while other endpoints may have to wait',
      given: lingering,
      event: { type: 'announced', areJobsFull: true },
      ...{ actions: [{ type: 'endLinger' }, PROCEED], after: { claimingSince: -1000 } },
    },
    {
      title: 'does not give the lease more time while it claims full batches',
      ...{ given: { claimingSince: -1000, isClaimFull: true, inFlight: 1 }, event: announced, actions: [] },
      after: { claimingSince: -1000, more: true },
    },
    {
      title: 'claims only with the next response while a request is in flight, which may hang',
      ...{ given: { inFlight: 1 }, event: announced, actions: [], after: { more: true, hasNew: true } },
    },
    {
      title: 'is left to the next lease once this one has ended',
      ...{ given: { hasEnded: true }, event: announced, actions: [], after: { more: false } },
    },
    {
      title: 'is left to the next lease in the slow lane',
      ...{ start: { lane: 'slow' as const }, event: announced, actions: [], after: { more: false } },
    },
  ]);
});

describe('the wait for new deliveries', () => {
  const drained = { isAcquired: true, hasRespondedWell: true };
  const waits: SendingAction[] = [{ type: 'linger', ms: LINGER_MS - NOW }];
  const notWaiting: [string, Partial<SendingState>, Partial<Circumstances>?][] = [
    ['of a lease that was never acquired', { isAcquired: false }],
    ['of an endpoint whose last response was bad', { hasRespondedWell: false }],
    ['after a result that could not be written', { hasFailedWrite: true }],
    ['after a failed claim', { isHalted: true }],
    ['without a job that keeps others from being added', { isLingerAllowed: false }],
    ['long after the last result', {}, { now: LINGER_MS }],
    ['while too many leases wait', {}, { canWorkerLinger: false }],
    ['while the worker stops', {}, { isStopping: true }],
    ['of a changed endpoint', {}, { isOutdated: true }],
  ];
  testCases([
    {
      title: 'begins when everything is sent and written',
      ...{ given: drained, event: PROCEEDED, actions: waits, after: { isLingering: true, hasEnded: false } },
    },
    ...[
      { inFlight: 1 },
      { unwritten: 1 },
      { isClaiming: true },
      { requested: { inFlight: 1, isAwaitingSlot: false, isClaiming: false } },
      { requested: { inFlight: 0, isAwaitingSlot: false, isClaiming: true } },
    ].map((busy) => ({
      title: `does not begin before that: ${JSON.stringify(busy)}`,
      ...{ given: { ...drained, ...busy }, event: PROCEEDED, actions: [], after: { hasEnded: false } },
    })),
    ...notWaiting.map(([title, given, circumstances = {}]) => ({
      title: `does not begin ${title}`,
      ...{ given: { ...drained, ...given }, circumstances, event: PROCEEDED, actions: ends },
    })),
    {
      title: 'of an ordered endpoint finds out once whether a delivery is due',
      given: { ...drained, endpoint: ordered },
      ...{ event: PROCEEDED, actions: [...waits, { type: 'checkDue' }], after: { isKnownDrained: true } },
    },
    {
      title: 'of an ordered endpoint ends if a delivery is due soon',
      given: { ...drained, endpoint: ordered, isLingering: true, isKnownDrained: true },
      event: { type: 'dueChecked', dueInMs: LINGER_MS },
      actions: [{ type: 'endLinger' }, { type: 'end' }],
    },
    ...[undefined, LINGER_MS + 1].map((dueInMs) => ({
      title: `of an ordered endpoint goes on if the next delivery is due in ${dueInMs} ms`,
      given: { ...drained, endpoint: ordered, isLingering: true, isKnownDrained: true },
      ...{ event: { type: 'dueChecked' as const, dueInMs }, actions: [], after: { isLingering: true } },
    })),
    {
      title: 'ends with the lease after its time',
      ...{ given: { ...drained, isLingering: true }, circumstances: { now: LINGER_MS } },
      ...{ event: { type: 'lingerTimedOut' }, actions: ends, after: { hasEnded: true } },
    },
    {
      title: 'ends with the lease when the worker stops',
      ...{ given: { ...drained, isLingering: true }, circumstances: { isStopping: true } },
      ...{ event: { type: 'stopped' }, actions: [{ type: 'endLinger' }, { type: 'end' }] },
    },
    {
      title: 'does not begin after the end of the lease, which ends once',
      ...{ given: { ...drained, hasEnded: true }, event: { type: 'stopped' }, actions: [] },
    },
  ]);
});

describe('requested deliveries', () => {
  const idle = { inFlight: 0, isAwaitingSlot: false, isClaiming: false };
  const claim = { endpoint: createEndpoint(), deliveries: [createDelivery('a')] };
  const sends: SendingAction = { type: 'sendRequested', claim, slot };
  const asks: SendingAction = { type: 'acquireRequestedSlot' };
  const announced: SendingEvent = { type: 'requestAnnounced' };
  const granted: SendingEvent = { type: 'requestedSlotGranted', slot };
  testCases([
    {
      title: 'get a slot of their own, even while no other request may begin',
      ...{ given: { isHalted: true, isRateLimited: true }, event: announced, actions: [asks] },
      after: { requested: { ...idle, isAwaitingSlot: true } },
    },
    ...[{ isAwaitingSlot: true }, { isClaiming: true }].map((busy) => ({
      title: `wait for one slot at a time: ${JSON.stringify(busy)}`,
      ...{ given: { requested: { ...idle, ...busy } }, event: announced, actions: [] },
    })),
    { title: 'get no slot while the worker stops', circumstances: { isStopping: true }, event: announced, actions: [] },
    { title: 'get no slot after the end of the lease', given: { hasEnded: true }, event: announced, actions: [] },
    {
      title: 'do not keep a lease that only waits for their slot',
      ...{ given: { requested: { ...idle, isAwaitingSlot: true } }, event: PROCEEDED, actions: ends },
    },
    {
      title: 'are claimed when they have a slot',
      given: { requested: { ...idle, isAwaitingSlot: true } },
      ...{ event: granted, actions: [{ type: 'claimRequested', slot }] },
      after: { requested: { ...idle, isClaiming: true } },
    },
    {
      title: 'give back a slot that is granted after the end',
      given: { hasEnded: true, requested: { ...idle, isAwaitingSlot: true } },
      ...{ event: granted, actions: [releases()] },
    },
    {
      title: 'give back a slot that is granted while the worker stops',
      given: { requested: { ...idle, isAwaitingSlot: true } },
      ...{ circumstances: { isStopping: true }, event: granted, actions: [releases(), PROCEED] },
    },
    {
      title: 'are sent at once, which ends a wait, and the next is asked for',
      given: { isLingering: true, requested: { ...idle, isClaiming: true } },
      event: { type: 'requestedClaimed', claim, slot },
      actions: [{ type: 'endLinger' }, sends, asks],
      after: { isLingering: false, requested: { inFlight: 1, isAwaitingSlot: true, isClaiming: false } },
    },
    ...[undefined, { ...claim, deliveries: [] }].map((nothing) => ({
      title: `give back the slot if ${nothing ? 'none was requested' : 'they cannot be claimed'}`,
      given: { requested: { ...idle, isClaiming: true } },
      event: { type: 'requestedClaimed' as const, claim: nothing, slot },
      ...{ actions: [releases(), PROCEED], after: { requested: idle } },
    })),
    {
      title: 'begin a lease with the one that acquired it, in its slot',
      event: { type: 'started', requested: { claim, slot } },
      ...{ actions: [sends, PROCEED], after: { requested: { ...idle, inFlight: 1 } } },
    },
    {
      title: 'are asked for at the start if the first claim found some',
      given: { endpoint: createEndpoint({ requested: true }) },
      ...{ event: { type: 'started', requested: undefined }, actions: [asks, PROCEED] },
    },
  ]);
});
