import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { LogFields } from '../observability/tracing.ts';
import { createPerRequestStore } from './per-request.ts';

const ids = createPerRequestStore<string>('id');
const PLAIN = /^[A-Za-z0-9._-]{1,128}$/;

/** Assigns a request its id: its `X-Request-Id` header if that is short and plain, otherwise a new id. */
export function assignRequestId(req: IncomingMessage): string {
  const given = req.headers['x-request-id'];
  const id = typeof given === 'string' && PLAIN.test(given) ? given : randomUUID();
  ids.set(req, id);
  return id;
}

/** Returns the id assigned to a request; undefined if the request did not pass through the app. */
export function getRequestId(req: IncomingMessage): string | undefined {
  return ids.get(req);
}

/** How a request is signed in. `id`: the id of the session, API key or portal link. `console`: a session that uses the console. */
interface Identity {
  via: 'session' | 'api-key' | 'console' | 'portal';
  id: string;
  /** The id of the user; with `isOrganisation`, of the organisation that acts itself. */
  userId: string;
  isOrganisation?: boolean;
}

const identities = createPerRequestStore<Identity>('identity');

/** Stores who sent a request, for its log line and for the origin of the changes it makes. */
export function setIdentity(req: IncomingMessage, identity: Identity | undefined): void {
  if (identity !== undefined) identities.set(req, identity);
}

/** Returns the identity of a request; undefined if the request is not signed in. */
export function getIdentity(req: IncomingMessage): Identity | undefined {
  return identities.get(req);
}

/** Returns who sent a request, for log lines and security events. */
export function describeIdentity(req: IncomingMessage): {
  userId: string | undefined;
  organisation: string | undefined;
  via: string | undefined;
  credential: string | undefined;
} {
  const { userId, via, id: credential, isOrganisation } = identities.get(req) ?? {};
  const [user, organisation] = isOrganisation ? [undefined, userId] : [userId, undefined];
  return { userId: user, organisation, via, credential };
}

const waited = createPerRequestStore<boolean>('waited');

/** Notes that a request waits because its client asked for that, so that its duration says nothing about the server. */
export function noteWait(req: IncomingMessage): void {
  waited.set(req, true);
}

/** Whether a request has waited because its client asked for that. */
export function hasWaited(req: IncomingMessage): boolean {
  return waited.get(req) === true;
}

const statementCounts = createPerRequestStore<number>('statements');
const postgresMicros = createPerRequestStore<number>('microseconds in Postgres');

/** Counts a statement that ran for a request. @param ms from sending it until its result */
export function countStatement(req: IncomingMessage, ms: number): void {
  statementCounts.set(req, (statementCounts.get(req) ?? 0) + 1);
  // Whole numbers need no memory of their own.
  postgresMicros.set(req, (postgresMicros.get(req) ?? 0) + Math.round(ms * 1000));
}

/** Returns the number of statements that ran for a request so far, and their time. A statement that requests share counts for one of them. */
export function getStatementStats(req: IncomingMessage): { statements: number; postgresMs: number } {
  return { statements: statementCounts.get(req) ?? 0, postgresMs: Math.round((postgresMicros.get(req) ?? 0) / 1000) };
}

const traceIds = createPerRequestStore<LogFields>('trace ids');

/** Stores the ids of a request's span, for its log line. */
export function setTraceIds(req: IncomingMessage, ids: LogFields): void {
  traceIds.set(req, ids);
}

/** Returns the ids of a request's span; undefined if the process does not trace. */
export function getTraceIds(req: IncomingMessage): LogFields | undefined {
  return traceIds.get(req);
}
