import { setTimeout as sleep } from 'node:timers/promises';
import type { Receiver } from './receiver.ts';
import type { DemoUser } from './user.ts';

const CLIENTS = 20;

/** The expected result of a run: for each user, the ids of the records that their endpoint must receive. */
export type Expected = Map<string, Set<string>>;

/**
 * Creates records from 20 concurrent clients. Every second record is a draft, which only its author may read. The others are
 * published, so that all endpoints receive them.
 *
 * @param progress called after each record with their number so far
 */
export async function createRecords(
  users: readonly DemoUser[],
  count: number,
  progress: (done: number) => void,
): Promise<Expected> {
  const expected: Expected = new Map(users.map((person) => [person.name, new Set()]));
  let next = 0;
  let done = 0;
  const runClient = async (_: unknown, index: number) => {
    while (next < count) {
      const number = next++;
      const author = users[number % users.length]!;
      const draft = number % 4 < 2;
      const id = await author.post(`Post ${number}`, draft ? 'draft' : 'published', index + 1);
      for (const person of users) if (!draft || person === author) expected.get(person.name)!.add(id);
      progress(++done);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, runClient));
  return expected;
}

/** The result of a run over all endpoints. */
export interface Outcome {
  expected: number;
  received: number;
  missing: number;
  /** Deliveries to owners who may not read the record. */
  misdirected: number;
  duplicates: number;
  refused: number;
  /** ms from commit to first receipt, ascending. */
  latencies: number[];
}

function compareDeliveries(expected: Expected, receiver: Receiver): Outcome {
  const outcome: Outcome = {
    expected: 0,
    received: 0,
    missing: 0,
    misdirected: 0,
    duplicates: 0,
    refused: 0,
    latencies: [],
  };
  for (const [name, ids] of expected) {
    const { messages, duplicates, refused } = receiver.arrivals(name);
    const receivedMs = new Map([...messages.values()].map(({ record, ms }) => [record, ms]));
    outcome.expected += ids.size;
    outcome.duplicates += duplicates;
    outcome.refused += refused;
    for (const [record, ms] of receivedMs) {
      if (ids.has(record)) outcome.latencies.push(ms);
      else outcome.misdirected += 1;
    }
    outcome.received += [...ids].filter((id) => receivedMs.has(id)).length;
  }
  outcome.missing = outcome.expected - outcome.received;
  outcome.latencies.sort((a, b) => a - b);
  return outcome;
}

/** Waits until everything has arrived, at most `ms`, and a little longer for messages that must not arrive. */
export async function waitForOutcome(expected: Expected, receiver: Receiver, ms: number): Promise<Outcome> {
  const deadline = Date.now() + ms;
  while (compareDeliveries(expected, receiver).missing > 0 && Date.now() < deadline) await sleep(50);
  await sleep(500);
  return compareDeliveries(expected, receiver);
}
