// What the routes of the tab respond with. Times are ISO 8601.
import type { JobKind, JobOverview } from '../../../declare/job-record.ts';
import type { LockoutEntry } from '../../../declare/lockouts.ts';
import type { Finding } from '../../../platform/observability/finding.ts';
import type {
  ProcessFacts,
  ProcessList,
  QueueFailure,
  QueueState,
  RunningProcess,
  SlowRequest,
  SlowStatement,
} from '../../../platform/work/processes/facts.ts';

export type { Finding, JobKind, LockoutEntry, ProcessFacts, QueueState, RunningProcess };

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

/** The state of Postgres that the app's database user may see. */
export interface PostgresState {
  latencyMs: number;
  version: string;
  uptimeSeconds: number;
  /** The connections of all programs to the server, and how many it allows. */
  connections: number;
  maxConnections: number;
  /** Sessions in this database that run a statement, wait for a lock, or do nothing inside of a transaction. */
  active: number;
  waitingForLock: number;
  idleInTransaction: number;
  /** The share of blocks that were found in memory, since the statistics were reset. */
  cacheHits: number | null;
  deadlocks: number;
  bytes: number;
}

/** The state of one Redis server. The values of INFO are null if the user may not run it. */
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
  /** The seconds that the numbers are about. */
  seconds: number;
  count: number;
  /** Responses with a status of 500 or more. */
  failed: number;
  inFlight: number;
  meanMs: number | null;
  /** Upper bounds in ms of the duration of half, and of 95 %, of the requests; null if there were none, or if they took longer than the longest bound. */
  medianMs: number | null;
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
  outbox?: Backlog | undefined;
  queues?: { count: number; waiting: number; active: number; delayed: number; failed: number } | undefined;
  requests?: RequestSummary | undefined;
  processes?: (ProcessVersion & Pick<RunningProcess, 'id' | 'roles'>)[] | undefined;
}

export type ProcessVersion = Pick<RunningProcess, 'version' | 'appVersion'>;

export type Processes = ProcessList & { requests: RequestSummary };

/** The kinds of jobs with their numbers. */
export type JobCounts = Pick<JobOverview, 'kinds' | 'cappedStatuses'>;

/** An entry of a queue that failed and was kept. */
export interface FailedEntry extends Omit<QueueFailure, 'queue'> {
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
  eventId: string;
  name: string;
  resource: string | null;
  record: string | null;
  attempts: number;
  error: string | null;
  createdAt: string;
  availableAt: string;
}

/** The rows of the outbox, up to 100,000. `isCapped`: there may be more. */
interface Backlog {
  rows: number;
  isCapped: boolean;
  /** The age of the first row, and of the oldest snapshot of the database. */
  oldestSeconds: number | null;
  snapshotSeconds: number | null;
}

export interface Outbox extends Backlog {
  events: OutboxEvent[];
  stuck: StuckRow[];
}

/** A statement without values. */
export interface StatementRuns {
  text: string;
  calls: number;
  totalMs: number;
  maxMs: number;
  rows: number;
}

/** A slow request with the process that served it. */
export type ListedRequest = SlowRequest & { process: string };

export interface SlowWork {
  thresholds: { requestMs: number; statementMs: number };
  newest: ListedRequest[];
  slowest: ListedRequest[];
  statements: SlowStatement[];
}

/** What the extension pg_stat_statements has recorded for this database, of all programs. */
export interface StatementStatistics {
  /** Left out if it can be read. */
  missing?: 'not installed' | 'not loaded' | 'not permitted';
  statements: (StatementRuns & { meanMs: number })[];
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

/** The accounts with failed attempts. `isCut`: there are more. */
export interface LockoutList {
  lockouts: LockoutEntry[];
  isCut: boolean;
}

/** What is counted for an IP address, an e-mail address or a user. */
export type FoundCounts = { counts: CountedClient[] } & (
  | { kind: 'address'; client: string; user: null; lockouts: [] }
  | ({ kind: 'account'; client: null } & FoundAccount)
);

export interface FoundAccount {
  /** The id of the user. */
  user: string | null;
  lockouts: (LockoutEntry & { kind: 'sign-in' | 'password' | 'code' })[];
}
