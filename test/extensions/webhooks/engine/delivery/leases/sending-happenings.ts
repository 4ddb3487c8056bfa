import fc from 'fast-check';
import type { Lane } from '../../../../../../src/extensions/webhooks/endpoints/endpoint-jobs.ts';
import type { ClaimedEndpoint } from '../../../../../../src/extensions/webhooks/engine/delivery/claim.ts';
import type { EndpointPace } from '../../../../../../src/extensions/webhooks/engine/delivery/endpoint-pace.ts';
import { createEndpoint } from './sending-fixtures.ts';

/** How a generated lease begins. */
export interface ModelStart {
  lane: Lane;
  ordered: boolean;
  maxInFlight: number;
  claimingMs: number;
  pace: EndpointPace | undefined;
  firstCount: number;
  isFull: boolean;
  hasNew: boolean;
  allowLinger: boolean;
  beginsWithRequested: boolean;
  /** How many requests the rate limit allows. */
  rateLimit: number;
  /** Of so many slots in a row, only the last has to wait. */
  slotsPerWait: number;
  /** One in so many values lets something go wrong. */
  valuesPerFailure: number;
}

/** One thing that happens: `kind` chooses among those that are possible, and `value` how it goes. */
export interface Happening {
  kind: number;
  value: number;
}

export const starts: fc.Arbitrary<ModelStart> = fc.record({
  lane: fc.constantFrom('fast', 'fast', 'fast', 'slow'),
  ordered: fc.boolean(),
  maxInFlight: fc.integer({ min: 1, max: 6 }),
  claimingMs: fc.constantFrom(250, 10_000),
  pace: fc.option(fc.record({ limit: fc.integer({ min: 1, max: 6 }), quickestMs: fc.constant(5) }), { nil: undefined }),
  firstCount: fc.integer({ min: 0, max: 6 }),
  isFull: fc.boolean(),
  hasNew: fc.boolean(),
  allowLinger: fc.boolean(),
  beginsWithRequested: fc.boolean(),
  rateLimit: fc.constantFrom(2, 1000, 1000),
  slotsPerWait: fc.integer({ min: 1, max: 5 }),
  valuesPerFailure: fc.constantFrom(16, 200),
});
// Without the usual preference for small numbers, which stand for failures here.
const choices = fc.noBias(fc.nat({ max: 9999 }));
export const happenings: fc.Arbitrary<Happening[]> = fc.array(fc.record({ kind: choices, value: choices }), {
  maxLength: 150,
  size: 'max',
});

/** A value with which all goes well and nothing new is found. */
export const EVENTLESS = 90;

/** The times that pass. */
export const PAUSES_MS = [1, 1, 5, 20, 100, 300, 1000, 2999, 3000, 5000];

/** Creates the endpoint that a claim finds. It may have been changed, or have got slow, since the lease began. */
export function generateEndpoint(start: ModelStart, value: number): ClaimedEndpoint {
  const { lane, ordered, valuesPerFailure } = start;
  return createEndpoint({
    slow: (lane === 'slow') !== (value % valuesPerFailure === 2),
    ordered: ordered !== (value % 23 === 0),
    requested: value % 7 === 0,
    lease: value % valuesPerFailure === 1 ? 'taken' : 'own',
  });
}
