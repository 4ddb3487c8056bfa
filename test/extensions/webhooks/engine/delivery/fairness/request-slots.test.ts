import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import {
  computeSlotLimits,
  createRequestSlots,
  type ReleaseSlot,
  type RequestSlots,
  type SlotKind,
} from '../../../../../../src/extensions/webhooks/engine/delivery/request-slots.ts';

const runInSlot = <T>(slots: RequestSlots, kind: SlotKind, owner: string, task: () => Promise<T>) =>
  new Promise<T>((resolve, reject) => {
    slots.acquire(kind, owner, (release) => void task().finally(release).then(resolve, reject));
  });

test('both lanes together never exceed the slots, the slow lane never exceeds its part, and neither lane starves', async () => {
  const slots = createRequestSlots(6, { slow: 2, untried: 2, slowOrUntried: 3, requested: 1 });
  const now = { fast: 0, slow: 0 };
  const most = { fast: 0, slow: 0, both: 0 };
  const done: string[] = [];
  const task = (lane: 'fast' | 'slow', owner: number, ms: number) =>
    runInSlot(slots, lane, `owner ${owner}`, async () => {
      now[lane] += 1;
      most[lane] = Math.max(most[lane], now[lane]);
      most.both = Math.max(most.both, now.fast + now.slow);
      await sleep(ms);
      now[lane] -= 1;
      done.push(lane);
    });
  await Promise.all([
    ...Array.from({ length: 20 }, (_, i) => task('slow', i, 5)),
    ...Array.from({ length: 60 }, (_, i) => task('fast', i, 1)),
  ]);
  expect(most).toMatchObject({ slow: 2, both: 6 });
  expect(done.slice(0, 40)).toContain('fast');
  expect(done.slice(0, 40)).toContain('slow');
});

test('however many slow or untried receivers hang, slots stay free for receivers that are known to respond', async () => {
  const slots = createRequestSlots(6, { slow: 2, untried: 2, slowOrUntried: 3, requested: 1 });
  const releases: (() => void)[] = [];
  for (const [i, kind] of (['untried', 'slow', 'untried', 'slow', 'untried'] as const).entries()) {
    slots.acquire(kind, `owner ${i}`, (release) => releases.push(release));
  }
  expect(releases).toHaveLength(3);
  const isFull = (kind: SlotKind) => slots.isFull(kind, 'another');
  expect([isFull('slow'), isFull('untried'), isFull('fast')]).toEqual([true, true, false]);
  expect(await runInSlot(slots, 'fast', 'another', async () => 'ran')).toBe('ran');
  while (releases.length > 0) releases.shift()!();
  expect([isFull('slow'), isFull('untried')]).toEqual([false, false]);
});

test.each(['untried', 'slow', 'requested'] as const)(
  'one owner gets at most half of the %s slots, however many calls wait; other owners get the rest',
  (kind) => {
    const slots = createRequestSlots(20, { slow: 4, untried: 4, slowOrUntried: 7, requested: 4 });
    const begun: string[] = [];
    const releases: (() => void)[] = [];
    const acquire = (owner: string) =>
      slots.acquire(kind, owner, (release) => {
        begun.push(owner);
        releases.push(release);
      });
    for (let i = 0; i < 10; i++) acquire('a');
    expect(begun).toEqual(['a', 'a']);
    expect([slots.isOwnerAtLimit(kind, 'a'), slots.isOwnerAtLimit(kind, 'b')]).toEqual([true, false]);
    acquire('b');
    acquire('c');
    acquire('c');
    expect(begun).toEqual(['a', 'a', 'b', 'c']);
    // The slot of `a` goes to `a` again: `c` came later and has waited less.
    releases.shift()!();
    expect(begun).toEqual(['a', 'a', 'b', 'c', 'a']);
    // Now it is the turn of `c`, although nine calls of `a` came before.
    releases.shift()!();
    expect(begun).toEqual(['a', 'a', 'b', 'c', 'a', 'c']);
  },
);

test('in the fast lane, waiting calls of one owner begin together, up to half of all slots, and then other owners follow', () => {
  const slots = createRequestSlots(6, { slow: 2, untried: 2, slowOrUntried: 3, requested: 1 });
  const begun: string[] = [];
  const releases: (() => void)[] = [];
  const acquire = (owner: string) =>
    slots.acquire('fast', owner, (release) => {
      begun.push(owner);
      releases.push(release);
    });
  for (let i = 0; i < 6; i++) acquire('x');
  for (let i = 0; i < 5; i++) for (const owner of ['a', 'b', 'c']) acquire(owner);
  while (releases.length > 0) releases.shift()!();
  expect(begun.slice(6).join('')).toBe('aaabbbcccaabbcc');
});

test('an owner with slow and untried endpoints gets at most half of the slots for both together', () => {
  const slots = createRequestSlots(10, { slow: 5, untried: 5, slowOrUntried: 7, requested: 2 });
  const begun: string[] = [];
  for (let i = 0; i < 10; i++)
    for (const kind of ['slow', 'untried'] as const) slots.acquire(kind, 'a', () => void begun.push(kind));
  expect(begun).toHaveLength(4);
  expect([slots.isFull('slow', 'b'), slots.isFull('untried', 'b')]).toEqual([false, false]);
});

test('a call that releases its slot at once lets all waiting calls begin', () => {
  const slots = createRequestSlots(1, { slow: 1, untried: 1, slowOrUntried: 1, requested: 1 });
  let releaseFirst = () => {};
  let begun = 0;
  slots.acquire('slow', 'a', (release) => {
    releaseFirst = release;
  });
  for (let i = 0; i < 1000; i++) {
    slots.acquire('fast', `owner ${i}`, (release) => {
      begun += 1;
      release();
    });
  }
  releaseFirst();
  expect(begun).toBe(1000);
});

test('a task that fails releases its slot', async () => {
  const slots = createRequestSlots(1, { slow: 1, untried: 1, slowOrUntried: 1, requested: 1 });
  await expect(runInSlot(slots, 'fast', 'a', () => Promise.reject(new Error('x')))).rejects.toThrow('x');
  expect(await runInSlot(slots, 'slow', 'a', async () => 'ran')).toBe('ran');
});

/** Slots that begin with ten and may grow to a hundred. */
const createGrowing = () =>
  createRequestSlots(10, computeSlotLimits(10), { size: 100, limits: computeSlotLimits(100) });

/** Acquires slots for calls that stay in flight. */
function createHolder(slots: RequestSlots, kind: SlotKind, owner: string) {
  const releases: ReleaseSlot[] = [];
  return {
    releases,
    acquire(count: number) {
      for (let i = 0; i < count; i++) slots.acquire(kind, owner, (release) => void releases.push(release));
    },
  };
}

test.each([
  ['fast', 10, 75],
  ['untried', 3, 25],
  ['slow', 3, 25],
  ['requested', 1, 13],
] as const)('good responses raise the %s slots of a waiting owner from %i to %i', (kind, first, last) => {
  const slots = createGrowing();
  const { releases, acquire } = createHolder(slots, kind, 'a');
  acquire(1000);
  expect(releases).toHaveLength(first);
  let ended = 0;
  let most = 0;
  while (ended < 900) {
    releases[ended++]!(true);
    most = Math.max(most, releases.length - ended);
  }
  expect(most).toBe(last);
});

test('receivers that hang get no more slots, however many good responses other kinds of requests get', () => {
  const slots = createGrowing();
  const hanging = createHolder(slots, 'untried', 'hanging');
  hanging.acquire(50);
  const well = createHolder(slots, 'fast', 'well');
  well.acquire(2000);
  for (let i = 0; i < 1500; i++) well.releases[i]!(true);
  expect(hanging.releases).toHaveLength(3);
});

test('bad responses lower the slots again, not below the first number', () => {
  const slots = createGrowing();
  const { releases, acquire } = createHolder(slots, 'slow', 'a');
  acquire(1000);
  for (let i = 0; i < 500; i++) releases[i]!(true);
  expect(slots.countSlots('slow')).toBe(50);
  for (let i = 500; i < 540; i++) releases[i]!(false);
  expect(slots.countSlots('slow')).toBeLessThan(20);
  for (let i = 540; i < 600; i++) releases[i]!(false);
  expect(slots.countSlots('slow')).toBe(5);
});

test('healthy endpoints of a user that then hang do not hold all slots: other owners get theirs at once', () => {
  const slots = createGrowing();
  const hanging = createHolder(slots, 'fast', 'hanging');
  hanging.acquire(1000);
  expect(hanging.releases).toHaveLength(10);
  for (const [i, kind] of (['fast', 'untried', 'slow', 'requested'] as const).entries()) {
    const other = createHolder(slots, kind, `other ${i}`);
    other.acquire(1);
    expect(other.releases).toHaveLength(1);
  }
  // Even after it has grown as far as one owner may.
  for (let i = 0; i < 900; i++) hanging.releases[i]!(true);
  const last = createHolder(slots, 'fast', 'last');
  last.acquire(4);
  expect(last.releases).toHaveLength(4);
});

test('there are never more slots than the maximum, however many owners there are', () => {
  const slots = createGrowing();
  const owners = Array.from({ length: 60 }, (_, i) => createHolder(slots, 'fast', `owner ${i}`));
  for (const { acquire } of owners) acquire(4);
  expect(owners.reduce((sum, { releases }) => sum + releases.length, 0)).toBe(100);
});

test('slots do not grow while the process cannot cope with more requests', () => {
  let isOverloaded = true;
  const slots = createRequestSlots(
    10,
    computeSlotLimits(10),
    { size: 100, limits: computeSlotLimits(100) },
    () => !isOverloaded,
  );
  const { releases, acquire } = createHolder(slots, 'fast', 'a');
  acquire(1000);
  for (let i = 0; i < 200; i++) releases[i]!(true);
  expect(slots.countSlots('fast')).toBe(10);
  isOverloaded = false;
  for (let i = 200; i < 250; i++) releases[i]!(true);
  expect(slots.countSlots('fast')).toBe(60);
});

test('slots that may not grow stay as they are', () => {
  const slots = createRequestSlots(4, computeSlotLimits(4));
  const { releases, acquire } = createHolder(slots, 'fast', 'a');
  acquire(100);
  for (let i = 0; i < 50; i++) releases[i]!(i % 3 > 0);
  expect(releases).toHaveLength(54);
});

test.each(['slow', 'requested'] as const)(
  'the %s slots of a worker grow to their maximum with good responses, also if each owner has one endpoint',
  async (kind) => {
    const slots = createRequestSlots(10, computeSlotLimits(10), { size: 256, limits: computeSlotLimits(256) });
    let waiting = 1000;
    // A worker runs twice as many jobs as it has slots.
    const work = async (): Promise<void> => {
      while (waiting > 0) {
        const owner = `owner ${waiting--}`;
        await new Promise<void>((resolve) => {
          slots.acquire(kind, owner, (release) => {
            setImmediate(() => {
              release(true);
              resolve();
            });
          });
        });
        while (workers.length < 2 * slots.countSlots(kind)) workers.push(work());
      }
    };
    const workers: Promise<void>[] = [];
    for (let i = 2 * slots.countSlots(kind); i > 0; i--) workers.push(work());
    for (const worker of workers) await worker;
    expect(slots.countSlots(kind)).toBe(computeSlotLimits(256)[kind]);
  },
);
