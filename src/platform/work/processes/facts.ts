/** The requests that a process served lately. */
export interface RequestFacts {
  inFlight: number;
  /** Consecutive intervals of `intervalSeconds`, the newest last. `failed`: responses with a status of 500 or more. */
  intervalSeconds: number;
  points: readonly { count: number; failed: number; seconds: number }[];
  /** The requests of all intervals by duration: the number up to each bound in seconds, not more; the last number is of those above all bounds. */
  bounds: readonly number[];
  buckets: readonly number[];
}

/** The use of the Postgres connections of a process. */
export interface ConnectionFacts {
  max: number;
  open: number;
  idle: number;
  /** Callers that wait for a connection now, and those since the start that waited in vain. */
  waiting: number;
  waitTimeouts: number;
}

/** A failed entry of a queue, whose work is enqueued again by the relay if its row still waits. */
export interface QueueFailure {
  queue: string;
  /** The id of the entry. */
  id: string;
  /** The kind of work. */
  name: string;
  error: string;
  /** ISO 8601. */
  at: string;
}

/** A queue that a process works on. */
export interface QueueFacts {
  name: string;
  running: number;
  concurrency: number;
  /** The newest failures since the start. */
  failures: readonly QueueFailure[];
}

/** The realtime streams that are open in a process. */
interface StreamFacts {
  open: number;
  max: number;
  subscriptions: number;
  /** The changes that the process read, and the streams that it ended because their clients read too slowly, since the start. */
  changes: number;
  cutOff: number;
  /** ms from the newest change until this process read it, up to the last minute; null if there was none. */
  lagMs: number | null;
}

/** What features say about the process in which they run. */
export interface ProcessFacts {
  requests: RequestFacts;
  connections: ConnectionFacts;
  queues: readonly QueueFacts[];
  streams: StreamFacts;
}
