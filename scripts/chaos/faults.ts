/** What goes wrong. */
export type FaultKind = 'kill relay' | 'kill webhook-worker' | 'flush Redis' | 'restart Postgres';

/** A fault, and when it happens. */
export interface Fault {
  kind: FaultKind;
  /** Share of the run that is over by then, 0 to 1. */
  at: number;
  /** ms until what was killed is started again. */
  awayMs: number;
}

const LONGEST_AWAY_MS = 600;

/** Kills at random moments, the other two in the middle; in order. */
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
