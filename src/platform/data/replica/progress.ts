/** The position of the primary in its write-ahead log at a moment. */
interface PrimarySample {
  /** The time of this process, by `performance.now()`, before it asked the primary. */
  askedAt: number;
  /** The clock of the primary in ms since 1970, before it read `position`. */
  clock: number;
  /** The position in bytes. All transactions that were committed before `clock` are before it. */
  position: number;
}

/**
 * How far a replica has caught up. Times are those of the primary's clock, so that all processes agree on them, whatever their own
 * clocks say.
 */
export interface ReplicaProgress {
  addSample(sample: PrimarySample): void;
  /** Records that the replica has replayed everything before a position. */
  setReplayed(position: number): void;
  /** Forgets the samples: they are positions in the log of another server. */
  reset(): void;
  /** The clock of the primary, never behind it; undefined without a recent sample. */
  primaryNow(): number | undefined;
  /** Whether the replica has every transaction that was committed before this time of the primary. */
  hasCommitsUntil(time: number): boolean;
  /** For how long, in ms, the replica has lacked something that the primary is known to have. Infinite before it has reached a sample. */
  lagMs(): number;
  /** How old the data of the replica is at most, in ms: the time since the newest sample that it has reached. */
  ageMs(): number;
}

/** The samples that the replica has not reached yet. With more, those in between are left out, which overestimates the lag. */
const MAX_SAMPLES = 120;

/** After this time, the clocks of two machines may have drifted apart by more than a millisecond. */
const MAX_CLOCK_AGE_MS = 60_000;

/** Creates the progress of a replica. @param now the time of this process in ms */
export function createReplicaProgress(now: () => number = () => performance.now()): ReplicaProgress {
  let waiting: PrimarySample[] = [];
  let newest: PrimarySample | undefined;
  let reached: PrimarySample | undefined;
  return {
    addSample(sample) {
      newest = sample;
      waiting.push(sample);
      if (waiting.length > MAX_SAMPLES) waiting = waiting.filter((_, i) => (waiting.length - i) % 2 === 1);
    },
    setReplayed(position) {
      const count = waiting.findLastIndex((sample) => sample.position <= position) + 1;
      if (count === 0) return;
      reached = waiting[count - 1];
      waiting = waiting.slice(count);
    },
    reset() {
      waiting = [];
      newest = undefined;
      reached = undefined;
    },
    primaryNow() {
      const age = newest === undefined ? Number.POSITIVE_INFINITY : now() - newest.askedAt;
      return age > MAX_CLOCK_AGE_MS ? undefined : newest!.clock + age;
    },
    hasCommitsUntil: (time) => reached !== undefined && reached.clock >= time,
    lagMs() {
      if (reached === undefined) return Number.POSITIVE_INFINITY;
      return waiting[0] === undefined ? 0 : now() - waiting[0].askedAt;
    },
    ageMs: () => (reached === undefined ? Number.POSITIVE_INFINITY : now() - reached.askedAt),
  };
}

/** The first bytes of each block of the log, which hold no transaction. The first block of a segment has more. */
const BLOCK_HEADER_BYTES = 24;
const SEGMENT_HEADER_BYTES = 40;

/**
 * Returns a position at which the log ends as a replica reports it. Postgres names the end of a full block as the place of the next entry,
 * behind the header of the next block, which a replica does not reach before that entry exists.
 */
export function removeBlockHeader(position: number, blockBytes: number, segmentBytes: number): number {
  if (position % segmentBytes === SEGMENT_HEADER_BYTES) return position - SEGMENT_HEADER_BYTES;
  if (position % blockBytes === BLOCK_HEADER_BYTES) return position - BLOCK_HEADER_BYTES;
  return position;
}
