// What the server sends to the pages of this tab. Times are ISO 8601.

/** A result of `belfry doctor`. */
export interface Finding {
  level: 'ok' | 'warning' | 'error';
  message: string;
  /** What to do about it. */
  fix?: string;
}

export interface Checks {
  at: string;
  findings: Finding[];
}

/** Something that needs attention, and the section that has the details. */
export interface Concern {
  level: 'error' | 'warning';
  message: string;
  section: 'overview' | 'processes' | 'queues' | 'slow';
}

/** Why a server is not usable, and what to do about it. */
export interface ServerProblem {
  problem: string;
  fix: string | null;
}

export interface PostgresState {
  latencyMs: number;
  version: string;
  uptimeSeconds: number;
  /** The connections of all programs to the server, and how many it allows. */
  connections: number;
  maxConnections: number;
  active: number;
  waitingForLock: number;
  idleInTransaction: number;
  /** The share of blocks that were found in memory. */
  cacheHits: number | null;
  deadlocks: number;
  bytes: number;
}

/** The state of a Redis server. Most values are null if the user may not run INFO. */
export interface RedisServer {
  address: string;
  latencyMs: number;
  version: string | null;
  uptimeSeconds: number | null;
  usedBytes: number | null;
  /** 0: no limit. */
  maxBytes: number | null;
  evictionPolicy: string | null;
  evictedKeys: number | null;
  clients: number | null;
  commandsPerSecond: number | null;
}

/** The requests that all processes served in the last minutes. */
export interface RequestSummary {
  seconds: number;
  count: number;
  failed: number;
  inFlight: number;
  meanMs: number | null;
  p95Ms: number | null;
  /** The oldest first, for each interval of `intervalSeconds`. */
  intervalSeconds: number;
  points: { count: number; failed: number }[];
}

/** The overview. What only Redis knows is left out while Redis is not usable. */
export interface Overview {
  concerns: Concern[];
  postgres: PostgresState | ServerProblem;
  redis: { servers: RedisServer[] } | ServerProblem;
  outbox?: { rows: number; isCapped: boolean; oldestSeconds: number | null };
  queues?: { waiting: number; active: number; delayed: number };
  requests?: RequestSummary;
  processes?: ProcessVersion[];
}

export interface ProcessVersion {
  /** Of Belfry. */
  version?: string;
  appVersion?: string;
}

interface StreamFacts {
  open: number;
  max: number;
  subscriptions: number;
  /** The changes that were read, and the streams that were ended because their clients read too slowly. */
  changes: number;
  cutOff: number;
  lagMs: number | null;
}

/** What features say about the process in which they run. */
export interface ProcessFacts {
  requests?: { inFlight: number };
  connections?: { max: number; open: number; idle: number; waiting: number };
  queues?: { running: number }[];
  streams?: StreamFacts;
}

/** A process that runs. Another version of Belfry may have described it, so that parts may be missing. */
export interface RunningProcess extends ProcessVersion {
  id: string;
  roles?: string[];
  host?: string;
  pid?: number;
  startedAt?: string;
  /** The time of its last heartbeat. */
  seenAt: string;
  memory?: { rss: number; heapUsed: number; heapLimit: number };
  cpu?: number;
  eventLoop?: { maxMs: number; busy: number };
  facts?: ProcessFacts;
}

export interface ProcessList {
  processes: RunningProcess[];
  /** The id of the process that served the request. */
  own: string;
  /** Why the processes are not known. */
  problem: string | null;
}

interface QueueFailure {
  id: string;
  /** The kind of work. */
  name: string;
  error: string;
  at: string;
}

/** A queue of entries, each of which points to a row in Postgres. */
export interface Queue {
  name: string;
  waiting: number;
  active: number;
  delayed: number;
  /** Entries that failed and were kept. */
  failed: number;
  oldestSeconds: number | null;
  workers: number;
  concurrency: number;
  /** The newest failures that the processes remember. */
  failures: QueueFailure[];
}

/** An entry of a queue that failed and was kept. */
export interface FailedEntry extends QueueFailure {
  /** The id of its row in Postgres. */
  row: string | null;
  attempts: number;
}

/** The rows of the outbox with the same event. */
export interface OutboxEvent {
  name: string;
  waiting: number;
  failing: number;
  attempts: number;
  oldestSeconds: number;
}

/** A row of the outbox that failed or waits for long. */
export interface StuckRow {
  id: string;
  name: string;
  resource: string | null;
  record: string | null;
  attempts: number;
  error: string | null;
  createdAt: string;
  availableAt: string;
}

export interface Outbox {
  rows: number;
  isCapped: boolean;
  events: OutboxEvent[];
  stuck: StuckRow[];
}

export interface JobKind {
  name: string;
  counts: Record<'waiting' | 'running' | 'succeeded' | 'failed', number>;
}

export interface SlowRequest {
  /** The id of the process that served it. */
  process: string;
  at: string;
  method: string;
  /** Null for an unknown path. */
  route: string | null;
  /** Null if the client left before the response was sent. */
  status: number | null;
  ms: number;
  requestId: string | null;
  statements: number;
  postgresMs: number;
}

/** A statement without values. */
export interface StatementRuns {
  text: string;
  calls: number;
  totalMs: number;
  maxMs: number;
  rows: number;
}

export interface SlowWork {
  thresholds: { requestMs: number; statementMs: number };
  newest: SlowRequest[];
  slowest: SlowRequest[];
  statements: StatementRuns[];
}

/** What the extension pg_stat_statements has recorded. */
export interface StatementStatistics {
  /** Left out if it can be read. */
  missing?: 'not installed' | 'not loaded' | 'not permitted';
  statements: StatementRuns[];
}

export interface LimitRule {
  limit: number;
  windowMs: number;
}

export interface LimitRules {
  isEnabled: boolean;
  areLoopbackClientsLimited: boolean;
  global: LimitRule | null;
  auth: LimitRule | null;
  /** The routes of the limit `auth`. */
  authRoutes: string[];
  routes: (LimitRule & { route: string })[];
  /** Of features. */
  others: (LimitRule & { name: string })[];
  lockout: { maxAttempts: number; windowMinutes: number; lockMinutes: number } | null;
}

/** The count of a client within a limit. */
export interface CountedClient extends LimitRule {
  name: string;
  /** The limit, for people. */
  label: string;
  client: string;
  count: number;
  /** ms until the end of the window. */
  leftMs: number;
  isLimited: boolean;
}

export interface CountedClients {
  clients: CountedClient[];
  counted: number;
  limited: number;
  isCut: boolean;
}

/** Failed attempts of an account. */
export interface LockoutEntry {
  /** The hash of the account. */
  id: string;
  failures: number;
  /** Null: not locked. */
  lockedUntil: string | null;
}

/** The accounts with failed attempts. `isCut`: there are more. */
export interface LockoutList {
  lockouts: LockoutEntry[];
  isCut: boolean;
}

/** What is counted for an IP address, an e-mail address or a user. */
export type FoundCounts = { counts: CountedClient[] } & (
  | { kind: 'address'; client: string }
  | ({ kind: 'account' } & FoundAccount)
);

export interface FoundAccount {
  /** The id of the user. */
  user: string | null;
  lockouts: (LockoutEntry & { kind: 'sign-in' | 'password' | 'code' })[];
}
