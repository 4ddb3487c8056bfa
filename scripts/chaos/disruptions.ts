/** The kinds of faults. */
type FaultKind = 'kill relay' | 'kill webhook-worker' | 'flush Redis' | 'restart Postgres';

/** A fault and its time. */
export interface Fault {
  kind: FaultKind;
  /** The part of the run that is over by then, 0 to 1. */
  at: number;
  /** ms until the killed process or server is started again. */
  awayMs: number;
}

const LONGEST_AWAY_MS = 600;

/** Returns kills at random moments and the other two faults in the middle, sorted by time. */
export function planFaults(kills: number, random: () => number): Fault[] {
  const fault = (kind: FaultKind, from: number, to: number): Fault => ({
    kind,
    at: from + (to - from) * random(),
    awayMs: Math.round(random() * LONGEST_AWAY_MS),
  });
  const faults = [fault('flush Redis', 0.4, 0.6), fault('restart Postgres', 0.4, 0.7)];
  for (let i = 0; i < kills; i++) faults.push(fault('kill relay', 0.1, 0.95), fault('kill webhook-worker', 0.1, 0.95));
  return faults.sort((a, b) => a.at - b.at);
}

/** Returns a generator of pseudo-random numbers from 0 to 1 (exclusive), the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
