import { expect, test } from 'vitest';
import {
  type LaneBudget,
  type LaneName,
  MIN_REPLICA_CONNECTIONS,
  mayTake,
  minimumOf,
  planLanes,
  planReplicaLanes,
  shareConnections,
} from '../../../../src/platform/data/postgres/lanes.ts';

test.each([
  // [connections that the server allows, open in other programs, web processes, share]
  [17, 0, 1, 8],
  [37, 8, 1, 8],
  [57, 11, 1, 15],
  [97, 0, 1, 28],
  [97, 30, 2, 22],
  [97, 12, 6, 14],
  [97, 97, 1, 8],
  [297, 20, 9, 28],
])('of %i connections, with %i open elsewhere, each of %i web processes gets %i', (allowed, elsewhere, webs, share) => {
  expect(shareConnections(allowed, elsewhere, webs)).toBe(share);
});

test('every budget from 2 guarantees each lane a connection', () => {
  for (let budget = 2; budget <= 40; budget++) {
    const { lanes, laneFor } = planLanes(budget);
    const minimums = lanes.reduce((sum, { min }) => sum + min, 0);
    expect(minimums).toBeLessThanOrEqual(budget);
    for (const lane of Object.values(laneFor)) {
      const { min } = lanes.find(({ name }) => name === lane)!;
      // Cursors share what the others leave.
      if (lane === 'cursors') expect(budget).toBeGreaterThan(minimums);
      else expect(min).toBeGreaterThan(0);
    }
  }
  expect(() => planLanes(1)).toThrow(RangeError);
});

test('every budget from 4 guarantees each lane of a replica a connection, and leaves one for exports', () => {
  for (let budget = MIN_REPLICA_CONNECTIONS; budget <= 40; budget++) {
    const { lanes, laneFor } = planReplicaLanes(budget);
    expect(lanes.map(({ name }) => name)).toEqual(['reads', 'lists', 'scans', 'cursors']);
    expect(lanes.reduce((sum, { min }) => sum + min, 0)).toBeLessThan(budget);
    for (const lane of Object.values(laneFor)) expect(lanes.some(({ name }) => name === lane)).toBe(true);
  }
});

/** The lanes of a budget of 8, of which 5 are guaranteed. @param used how many connections each lane uses; some are being opened */
function createBudget(used: Partial<Record<LaneName, number>>, limit = 8): LaneBudget {
  const lanes = planLanes(8).lanes.map((lane) => {
    const count = used[lane.name] ?? 0;
    return { ...lane, busy: Math.ceil(count / 2), opening: Math.floor(count / 2) };
  });
  return { lanes, guaranteed: 5, limit };
}

const EACH_ONE = { reads: 1, lists: 1, scans: 1, writes: 1, transactions: 1 };

test.each<[lane: LaneName, used: Partial<Record<LaneName, number>>, limit: number, allowed: boolean]>([
  ['reads', {}, 8, true],
  // Four others keep their minimum.
  ['writes', { writes: 3 }, 8, true],
  ['writes', { writes: 4 }, 8, false],
  ['writes', { writes: 4, lists: 1 }, 8, false],
  ['transactions', { writes: 4 }, 8, true],
  ['cursors', { cursors: 1 }, 8, true],
  ['cursors', { writes: 4 }, 8, false],
  // The maximum of a lane.
  ['reads', { reads: 2 }, 8, false],
  ['cursors', { cursors: 2 }, 8, false],
  ['writes', { ...EACH_ONE, writes: 3 }, 8, true],
  ['writes', { ...EACH_ONE, writes: 4 }, 8, false],
  // Postgres refuses further connections, but the minimums still fit.
  ['writes', { writes: 1 }, 5, false],
  ['lists', { writes: 1 }, 5, true],
  // They no longer fit: nothing is kept for anyone, but scans leave two connections.
  ['writes', { writes: 3 }, 4, true],
  ['writes', { writes: 4 }, 4, false],
  ['scans', { scans: 1 }, 4, true],
  ['scans', { scans: 2 }, 4, false],
  ['scans', {}, 2, true],
  ['scans', { scans: 1 }, 2, false],
])('%s may take one more of the connections that are not used by %j, out of %i: %s', (name, used, limit, allowed) => {
  const budget = createBudget(used, limit);
  expect(mayTake(budget.lanes.find((lane) => lane.name === name)!, budget)).toBe(allowed);
});

test('a lane has no minimum while the minimums of all lanes do not fit into the budget', () => {
  const minimums = (limit: number) => {
    const budget = createBudget({}, limit);
    return budget.lanes.map((lane) => minimumOf(lane, budget));
  };
  expect(minimums(5)).toEqual([1, 1, 1, 1, 1, 0]);
  expect(minimums(4)).toEqual([0, 0, 0, 0, 0, 0]);
});
