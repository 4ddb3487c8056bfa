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

/** A queue of entries, each of which points to a row in Postgres. */
export interface QueueState {
  name: string;
  waiting: number;
  active: number;
  /** Entries for a later time. */
  delayed: number;
  /** Entries that failed and were kept. Belfry keeps none: the relay enqueues the work again. */
  failed: number;
  /** How long the next entry has been waiting, in seconds; null: none waits. */
  oldestSeconds: number | null;
  /** The processes that work on the queue, and how many entries they can run at once. */
  workers: number;
  concurrency: number;
  /** The newest failures that the processes remember. */
  failures: QueueFailure[];
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

/** How a process is doing, measured since its previous heartbeat. */
export interface Vitals {
  /** In bytes: all memory of the process, and the part of its JavaScript heap that is used. */
  memory: { rss: number; heapUsed: number; heapLimit: number };
  /** The share of one CPU that the process used: above 1 if threads ran at the same time. */
  cpu: number;
  /** `meanMs`, `maxMs`: by how much timers were late. `busy`: the share of the time in which code ran, from 0 to 1. */
  eventLoop: { meanMs: number; maxMs: number; busy: number };
}

/** A request that took longer than `settings.slowLog.requestMs`. */
export interface SlowRequest {
  /** When its response was sent, ISO 8601. */
  at: string;
  method: string;
  /** The pattern of its route; null for an unknown path. */
  route: string | null;
  /** Null if the client left before the response was sent. */
  status: number | null;
  ms: number;
  requestId: string | null;
  /** The statements that ran for the request, and the time from sending each until its result, in ms. They may run side by side. */
  statements: number;
  postgresMs: number;
}

/** The slow runs of a statement in one process. */
export interface SlowStatement {
  /** Without values. */
  text: string;
  /** The number of runs that took longer than `settings.slowLog.statementMs`. */
  calls: number;
  totalMs: number;
  maxMs: number;
  rows: number;
  /** ISO 8601. */
  lastAt: string;
}

/** The slow requests and statements of one process since its start. */
export interface SlowEntries {
  /** The newest requests, and the slowest ones. A request can be in both. */
  newest: readonly SlowRequest[];
  slowest: readonly SlowRequest[];
  statements: readonly SlowStatement[];
}

/** What a process says about itself. Another version of Belfry may have written it, so every part may be missing. */
export interface ProcessState extends Partial<Vitals> {
  roles?: readonly string[];
  host?: string;
  pid?: number;
  /** The versions of Belfry, of Node.js, and of the app if the environment names it. */
  version?: string;
  node?: string;
  appVersion?: string | undefined;
  /** ISO 8601. */
  startedAt?: string;
  facts?: Partial<ProcessFacts>;
}

/** A process of the app that runs now. */
export interface RunningProcess extends ProcessState {
  id: string;
  /** The time of its last heartbeat, ISO 8601. */
  seenAt: string;
  /** Only if they were asked for. */
  slow?: SlowEntries;
}

/** The processes that run, oldest first. `problem`: why only this process is known. */
export interface ProcessList {
  processes: RunningProcess[];
  queues: string[];
  /** The id of the process that reads the list. */
  own: string;
  problem: string | null;
}
