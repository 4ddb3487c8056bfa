/** The kinds of disruptions. */
type DisruptionKind = 'kill relay' | 'kill webhook-worker' | 'flush Redis' | 'restart Postgres';

/** A disruption and its time. */
export interface Disruption {
  kind: DisruptionKind;
  /** The part of the run that is over by then, 0 to 1. */
  at: number;
  /** ms until the killed process or server is started again. */
  downMs: number;
}

const MAX_DOWN_MS = 600;

/** Returns kills at random moments and the other two disruptions in the middle, sorted by time. */
export function planDisruptions(kills: number, random: () => number): Disruption[] {
  const planDisruption = (kind: DisruptionKind, from: number, to: number): Disruption => ({
    kind,
    at: from + (to - from) * random(),
    downMs: Math.round(random() * MAX_DOWN_MS),
  });
  const disruptions = [planDisruption('flush Redis', 0.4, 0.6), planDisruption('restart Postgres', 0.4, 0.7)];
  for (let i = 0; i < kills; i++)
    disruptions.push(planDisruption('kill relay', 0.1, 0.95), planDisruption('kill webhook-worker', 0.1, 0.95));
  return disruptions.sort((a, b) => a.at - b.at);
}

/** Returns a generator of pseudo-random numbers from 0 to 1 (exclusive), the same for the same seed (mulberry32). */
export function createSeededRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
