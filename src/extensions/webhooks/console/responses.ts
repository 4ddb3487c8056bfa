// What the routes of the tab respond with. Times are ISO 8601, durations are in ms.

/** Facts about the app's webhooks. */
export interface WebhookFacts {
  keepDays: number;
  /** The names of the resources whose changes are sent. */
  resources: string[];
  hasReceiver: boolean;
  /** For how long backfills can send events; 0: there are no backfills. */
  keepEventsDays: number;
  /** The roles as which endpoints of organisations can read; null: the app has no organisations. */
  organisationRoles: { all: string[]; default: string } | null;
  /** The names of the events that endpoints of organisations can receive. */
  organisationEvents: string[];
}

/** `retrying`: the last attempt failed; `failing`: the last delivery failed in all attempts. */
export type EndpointStatus = 'active' | 'retrying' | 'failing' | 'disabled';

/** Whether an endpoint gets the records that its owner may read, or those of all users. */
export type EndpointScope = 'own' | 'global';

/** An endpoint as administrators see it. */
export interface AdministeredEndpoint {
  id: string;
  /** Null if it is polled. */
  url: string | null;
  /** The id of a user, or of an organisation. */
  owner: string;
  /** The organisation, if it is the owner, and its role: `org:admin`. */
  organisation?: string;
  as?: string;
  events: string[];
  description?: string;
  scope: EndpointScope;
  enabled: boolean;
  ordered: boolean;
  rateLimit: RateLimit | null;
  /** In the API, which has no `retrying`. */
  status: Exclude<EndpointStatus, 'retrying'>;
  lastSuccessAt: string | null;
  lastFailureAt: string | null;
  lastError: string | null;
  consecutiveFailures: number;
  disabledReason: string | null;
  createdAt: string;
  updatedAt: string;
  signing?: 'v1a';
  publicKey?: string;
  apiKeyId?: string;
  /** Of the API key. */
  scopes?: string[];
  /** The custom headers, with masked values. */
  headers?: Record<string, string>;
  filter: EndpointFilter | null;
  delivery: 'push' | 'poll';
}

/** Conditions by the name or the pattern of events. */
export type EndpointFilter = Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;

export interface RateLimit {
  limit: number;
  windowSeconds: number;
}

/** An endpoint in the list. */
export interface ListedEndpoint extends AdministeredEndpoint {
  state: EndpointStatus;
  lastDay: Chart;
}

/** An endpoint on its own page. */
export interface Endpoint extends AdministeredEndpoint {
  state: EndpointStatus;
  isOwnerActive: boolean;
  /** Whether it is in the slow queue. */
  slow: boolean;
  oldSecretUntil: string | null;
  /** The number of deliveries that wait, up to 10,000. */
  waiting: number;
  nextAttemptAt: string | null;
  /** The id of the recovery that runs. */
  recovery: string | null;
  /** The first condition of the filter that cannot be used any more; null if there is none. */
  filterError: string | null;
}

/** An endpoint with a new secret, which is returned only once. */
export interface NewSecret {
  id: string;
  secret: string;
  publicKey?: string;
}

export type DeliveryStatus = 'pending' | 'sending' | 'succeeded' | 'failed';

/** The outcome of an attempt. */
export interface Outcome {
  statusCode: number | null;
  durationMs: number | null;
  error: string | null;
}

/** A delivery in a list, with the outcome of its last attempt. */
export interface Delivery extends Outcome {
  id: string;
  /** The name of the event. */
  type: string;
  createdAt: string;
  status: DeliveryStatus;
  attempts: number;
  nextAttemptAt: string | null;
  /** Left out in the list of one endpoint. */
  endpoint?: Pick<AdministeredEndpoint, 'id' | 'url' | 'owner' | 'as'>;
}

/** An attempt to send a delivery. */
export interface Attempt extends Outcome {
  at: string;
}

/** The request and the response of a delivery, which may contain values of its record. */
export interface DeliveryContent {
  /** The start of the body. */
  body: string;
  isBodyCut: boolean;
  /** The headers of the last attempt, with the secrets and the masked custom headers of now; null if no attempt was made, or the secrets cannot be decrypted. */
  headers: Record<string, string> | null;
  response: string | null;
}

/** A delivery on its own page. */
export interface DeliveryDetails extends Delivery {
  messageId: string;
  eventId: string;
  /** The size of the body. */
  bytes: number;
  endpoint: AdministeredEndpoint;
  attemptLog: Attempt[];
  /** Whether a backfill created the delivery. */
  backfill?: boolean;
  isEncrypted: boolean;
  /** Null if it is encrypted, or if the owner of the endpoint may no longer read it. */
  content: DeliveryContent | null;
}

export type ChartRange = 'day' | 'twoWeeks';

/** Deliveries by result. */
export type DeliveryCounts = Record<'succeeded' | 'failed', number>;

/** A chart of deliveries by the hour or day in which they succeeded, or failed in all attempts. */
export interface Chart {
  range: ChartRange;
  /** `at`: when the bar begins. */
  bars: ({ at: string } & DeliveryCounts)[];
}

/** Statistics of an endpoint in a period. */
interface PeriodStatistics extends DeliveryCounts {
  deliveries: number;
  /** From 0 to 1; null without deliveries. */
  successRate: number | null;
  attempts: number;
  attemptsPerDelivery: number | null;
  durationMs: { p50: number | null; p95: number | null };
  /** `at`: when the hour or day began. */
  series: ({ at: string } & DeliveryCounts)[];
}

export type EndpointStatistics = Record<'last24Hours' | 'last14Days', PeriodStatistics>;

/** An endpoint in a ranking. */
export interface RankedEndpoint extends DeliveryCounts {
  id: string;
  /** Null if it is polled. */
  url: string | null;
  owner: string;
  /** The role of the organisation, if that is the owner. */
  as?: string;
  /** The 95th percentile of its attempts. */
  durationMs: number | null;
}

export interface Overview {
  /** The numbers of endpoints; the disabled ones by reason. */
  endpoints: Record<Exclude<EndpointStatus, 'disabled'>, number> & { disabled: Record<string, number> };
  queue: {
    due: number;
    retrying: number;
    held: number;
    inFlight: number;
    /** By which the earliest due delivery is overdue. */
    oldestMs: number | null;
    events: number;
  };
  /** Failed deliveries in the log. */
  failed: number;
  chart: Chart;
  failing: RankedEndpoint[];
  slow: RankedEndpoint[];
}

/** An event to which endpoints can subscribe. */
export interface EventSummary {
  name: string;
  description: string;
}

export interface EventDetails extends EventSummary {
  /** JSON Schema. */
  schema: unknown;
  sample: unknown;
}

/** A rule that decides whether an endpoint gets an event. */
export interface Rule {
  rule: string;
  /** `unknown`: nothing is stored from which it follows. */
  result: 'pass' | 'fail' | 'unknown';
  text: string;
}

/** A delivery of an event that is explained. */
export type ExplainedDelivery = Pick<Delivery, 'id' | 'status' | 'attempts' | 'error'>;

/** Why an endpoint did or did not get an event. */
export interface Explanation {
  /** The id of the event; null if it was asked for by its record. */
  event: string | null;
  name: string | null;
  /** The result in one sentence. */
  verdict: string;
  isDelivered: boolean;
  /** In the order in which they apply. Rules are evaluated as they are now. */
  rules: Rule[];
  /** The deliveries of the event, or of the last events of the record with this name, newest first. */
  deliveries: ExplainedDelivery[];
}

/** The sending of failed deliveries again. */
export interface RecoveryProgress {
  id: string;
  status: 'running' | 'finished' | 'stopped';
  since: string;
  total: number;
  resent: number;
}

/** The sending of events that an endpoint has missed. */
export interface Backfill {
  id: string;
  status: 'running' | 'paused' | 'finished' | 'cancelled' | 'stopped';
  since: string;
  until: string;
  sent: number;
  /** When the last handled event happened. */
  reachedAt: string;
}

/** How the receiver responds. */
export type Answer = 'accept' | 'fail' | 'slow' | 'gone';

interface CommonReceivedRequest {
  id: string;
  /** The end of the URL. */
  name: string;
  endpoint: string;
  at: string;
  verification: { isValid: boolean; code: string; message: string };
  answer: Answer;
  /** Of the response. */
  status: number;
}

/** A request that arrived at the receiver. */
export interface ReceivedRequest extends CommonReceivedRequest {
  /** The name of the event. */
  type: string | null;
  bytes: number;
}

export interface ReceivedContent extends CommonReceivedRequest {
  headers: Record<string, string>;
  body: string;
}

/** The receiver of development. */
export interface Receiver {
  /** Why no endpoint can lead to it. */
  obstacle: string | null;
  requests: ReceivedRequest[];
  /** By the end of the URL. */
  answers: Record<string, Answer>;
}
