import { setTimeout as sleep } from 'node:timers/promises';
import type { Receiver } from './receiver.ts';
import type { Person } from './user.ts';

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
  people: readonly Person[],
  count: number,
  progress: (done: number) => void,
): Promise<Expected> {
  const expected: Expected = new Map(people.map((person) => [person.name, new Set()]));
  let next = 0;
  let done = 0;
  const client = async (_: unknown, index: number) => {
    while (next < count) {
      const number = next++;
      const author = people[number % people.length]!;
      const draft = number % 4 < 2;
      const id = await author.post(`Post ${number}`, draft ? 'draft' : 'published', index + 1);
      for (const person of people) if (!draft || person === author) expected.get(person.name)!.add(id);
      progress(++done);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return expected;
}

/** The result of a run over all endpoints. */
export interface Outcome {
  expected: number;
  received: number;
  missing: number;
  /** Deliveries to owners who may not read the record. */
  strangers: number;
  duplicates: number;
  refused: number;
  /** ms from commit to first receipt, ascending. */
  latencies: number[];
}

function compare(expected: Expected, receiver: Receiver): Outcome {
  const outcome: Outcome = {
    expected: 0,
    received: 0,
    missing: 0,
    strangers: 0,
    duplicates: 0,
    refused: 0,
    latencies: [],
  };
  for (const [name, ids] of expected) {
    const { messages, duplicates, refused } = receiver.arrivals(name);
    const got = new Map([...messages.values()].map(({ record, ms }) => [record, ms]));
    outcome.expected += ids.size;
    outcome.duplicates += duplicates;
    outcome.refused += refused;
    for (const [record, ms] of got) {
      if (ids.has(record)) outcome.latencies.push(ms);
      else outcome.strangers += 1;
    }
    outcome.received += [...ids].filter((id) => got.has(id)).length;
  }
  outcome.missing = outcome.expected - outcome.received;
  outcome.latencies.sort((a, b) => a - b);
  return outcome;
}

/** Waits until everything has arrived, at most `ms`, and a little longer for messages that must not arrive. */
export async function outcomeOf(expected: Expected, receiver: Receiver, ms: number): Promise<Outcome> {
  const deadline = Date.now() + ms;
  while (compare(expected, receiver).missing > 0 && Date.now() < deadline) await sleep(50);
  await sleep(500);
  return compare(expected, receiver);
}
