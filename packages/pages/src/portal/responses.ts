import type { HeaderChanges } from '../kit/header-editor.tsx';

// What the routes of webhooks respond with, as far as the portal reads it.

import type { EndpointFilter, FilterFields } from '../kit/filter/rows.ts';
import type { EndpointRoles } from '../kit/role-field.tsx';

/** `GET /portal`: what the link allows. */
export interface PortalLink {
  expiresAt: string;
  /** The only endpoint that the link shows; null for all of the user. */
  endpointId: string | null;
  includeGlobal: boolean;
  /** The organisation whose endpoints the link reaches, and the role as which; null: those of a user. */
  organisation: { name: string; as: string; roles: EndpointRoles } | null;
  maxEndpoints: number;
  keepDeliveriesDays: number;
  secretGraceHours: number;
  /** For how long backfills can send events; 0: there are no backfills. */
  keepEventsDays: number;
}

interface RateLimit {
  limit: number;
  windowSeconds: number;
}

export interface Endpoint {
  id: string;
  /** Null if it is polled. */
  url: string | null;
  events: string[];
  description?: string;
  enabled: boolean;
  ordered: boolean;
  rateLimit: RateLimit | null;
  status: 'active' | 'failing' | 'disabled';
  lastSuccessAt: string | null;
  lastFailureAt: string | null;
  lastError: string | null;
  disabledReason: 'gone' | 'failing' | 'manual' | 'password_reset' | 'key_ended' | null;
  updatedAt: string;
  /** Set if messages also carry a signature with a private key. */
  publicKey?: string;
  /** The role as which the endpoint of an organisation reads. */
  as?: string;
  /** The custom headers, with masked values. */
  headers?: Record<string, string>;
  filter: EndpointFilter | null;
  /** The first condition of the filter that cannot be used any more. */
  filterError: string | null;
  delivery: 'push' | 'poll';
  /** The messages of a polled endpoint that are not acknowledged, and since when the first of them waits. Not in lists. */
  waiting?: number;
  oldestWaitingAt?: string | null;
}

/** The response to a create and a rotation. */
export interface EndpointWithSecret extends Endpoint {
  secret: string;
}

/** The body of a request that creates or changes an endpoint. Changes contain none of `signing`, `scope` and `delivery`. */
export interface EndpointInput {
  url?: string;
  description: string | null;
  events: string[];
  ordered?: boolean;
  rateLimit?: RateLimit | null;
  delivery?: 'poll';
  signing?: string;
  scope?: string;
  as?: string;
  headers?: HeaderChanges;
  /** Left out if it does not change. */
  filter?: EndpointFilter | null;
}

export interface CatalogueEvent {
  name: string;
  description: string;
}

export interface EventSchema extends CatalogueEvent, FilterFields {
  schema: unknown;
  sample: unknown;
}

export type DeliveryStatus = 'succeeded' | 'failed' | 'pending' | 'sending';

/** The result of an attempt; all null before the first one. */
export interface AttemptResult {
  statusCode: number | null;
  durationMs: number | null;
  error: string | null;
}

export interface Delivery extends AttemptResult {
  id: string;
  type: string;
  messageId: string;
  createdAt: string;
  status: DeliveryStatus;
  nextAttemptAt: string | null;
  response: string | null;
  /** Null if the user may no longer read the data. */
  payload: string | null;
  payloadTruncated: boolean;
  attemptLog: (AttemptResult & { at: string })[];
}

export interface Recovery {
  id: string;
  status: 'running' | 'finished' | 'stopped';
  total: number;
  resent: number;
}

interface PeriodStatistics {
  /** Deliveries that succeeded, or failed in all attempts. */
  deliveries: number;
  /** From 0 to 1; null without deliveries. */
  successRate: number | null;
  attempts: number;
  attemptsPerDelivery: number | null;
  durationMs: { p50: number | null; p95: number | null };
  /** By hour or day, the oldest first. */
  series: { at: string; succeeded: number; failed: number }[];
}

/** The periods for which there are statistics. */
export type Period = 'last24Hours' | 'last14Days';

export type Statistics = Record<Period, PeriodStatistics>;

/** The sending of events that an endpoint has missed. */
export interface Backfill {
  id: string;
  status: 'running' | 'paused' | 'finished' | 'cancelled' | 'stopped';
  sent: number;
  /** When the last handled event happened. */
  reachedAt: string;
}

/** Why an event was or was not delivered to an endpoint. */
export interface Explanation {
  reason: string;
  message: string;
  /** The event's name, if the user may read it. */
  name?: string;
  delivery?: { status: DeliveryStatus; attempts: number };
  /** The condition of the filter that the event does not meet. */
  filter?: { event: string; condition: string; error: string | null };
}
