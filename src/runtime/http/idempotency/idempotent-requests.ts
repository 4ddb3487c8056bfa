import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Request, Response } from 'express';
import type { Host } from '../../../declare/host.ts';
import type { Viewer } from '../../../declare/policy.ts';
import type { Route } from '../../../declare/route.ts';
import { createMacs } from '../../../platform/crypto/keyring.ts';
import { ApiError } from '../../../platform/errors.ts';
import { addressOf, clientKey } from '../../../platform/http/client-address.ts';
import { hasBody } from '../../../platform/http/json-body.ts';
import type { SuccessResponse } from '../../../platform/http/response.ts';
import { newId } from '../../../platform/ids.ts';
import { canonicalJson } from '../../../platform/json/canonical-json.ts';
import { publicError } from '../public-error.ts';
import { createKeyLeases, type KeyLease, type StoredKey } from './key-leases.ts';
import { type Outcome, openResponse, sealResponse } from './stored-response.ts';

/** A request with an `Idempotency-Key` that has been authorised. */
interface Attempt {
  req: Request;
  res: Response;
  user: Viewer | undefined;
  key: string;
  body: unknown;
  /** Runs the handler. Undefined: the handler has sent the response itself. */
  run(recordId: string): Promise<SuccessResponse | undefined>;
  /** The response for the record with the reserved id; undefined while there is no such record. */
  recover(recordId: string): Promise<SuccessResponse | undefined>;
  /** Whether the record with the reserved id exists. */
  isCreated(recordId: string): Promise<boolean>;
}

/** Runs each request only once. */
interface IdempotentRequests {
  /** Returns the response of this run or of an earlier one. Undefined if the handler has sent the response itself. */
  run(attempt: Attempt): Promise<SuccessResponse | undefined>;
  /** Whether the same user has sent a request with the same key to the same route and path before. */
  isRepeated(attempt: Pick<Attempt, 'req' | 'user' | 'key'>): Promise<boolean>;
}

/** How long a request waits for the first one with its key, and the `Retry-After` of the response after that. */
const WAIT_MS = 5000;
const RETRY_AFTER_SECONDS = 5;
const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 250;

// Statuses of requests that were refused for their content or an outdated version. They changed nothing, so the corrected request may
// use the same key.
const FREES_KEY = new Set([400, 412, 422, 429]);

/**
 * Runs a request once, however often it is repeated, and sends each repetition the same response. Every response below 500 is stored,
 * except those that free the key, those with `Retry-After`, and errors of creates, which have created nothing.
 */
export function createIdempotentRequests(
  route: Route,
  host: Pick<Host, 'database' | 'keyring' | 'env' | 'log'>,
): IdempotentRequests {
  const { keyring, log } = host;
  const keys = createKeyLeases(host);
  const macs = createMacs(host.env.encryptionKeys);
  const isKept = ({ status, retryAfter }: ApiError) =>
    route.idempotent !== 'create' && status < 500 && !FREES_KEY.has(status) && retryAfter === undefined;

  function idOf({ req, user, key }: Pick<Attempt, 'req' | 'user' | 'key'>): string {
    const client = user === undefined ? `ip ${clientKey(addressOf(req))}` : `user ${user.id}`;
    return hash('sha256', JSON.stringify([client, route.method, route.path, req.params, key]));
  }

  /** If storing the state fails, a repetition loses its response, but this request must not fail. */
  async function tryToStore(work: Promise<void>): Promise<void> {
    await work.catch((error) =>
      log.warn({ err: error }, 'the state of a request with an Idempotency-Key was not stored'),
    );
  }

  /** A key whose record was created stays bound to its request; otherwise a request with another body would get that record. */
  async function release(attempt: Attempt, lease: KeyLease, recordId: string, status: number): Promise<void> {
    await keys.release(lease, status < 500 && !(await attempt.isCreated(recordId)));
  }

  async function runUnderLease(
    attempt: Attempt,
    lease: KeyLease,
    recordId: string,
    isReclaimed: boolean,
  ): Promise<SuccessResponse | undefined> {
    keys.renewals.add(lease);
    const before = new Set(attempt.res.getHeaderNames());
    const keep = (status: number, outcome: Outcome) =>
      tryToStore(keys.finish(lease, status, sealResponse(keyring, lease.id, outcome, attempt, before)));
    try {
      const found = isReclaimed ? await attempt.recover(recordId) : undefined;
      if (found !== undefined) markReplayed(attempt.res);
      const answer = found ?? (await attempt.run(recordId));
      if (answer === undefined) await tryToStore(keys.release(lease, true));
      else await keep(answer.status, { answer });
      return answer;
    } catch (error) {
      const shown = publicError(error);
      const { status, code, message, details } = shown;
      if (isKept(shown)) await keep(status, { error: { code, message, details } });
      else await tryToStore(release(attempt, lease, recordId, status));
      throw error;
    } finally {
      keys.renewals.remove(lease);
    }
  }

  function replay({ id }: KeyLease, { response }: StoredKey, { res, user }: Attempt): SuccessResponse {
    if (response === null) {
      throw new ApiError('CONFLICT', 'This was carried out before, and its answer was too large to be kept');
    }
    const kept = openResponse(keyring, id, response);
    const lost = kept.roles.find((role) => user?.roles?.includes(role) !== true);
    if (lost !== undefined) {
      throw new ApiError('FORBIDDEN', `This was answered to you as "${lost}", which you no longer are`);
    }
    markReplayed(res);
    for (const [name, value] of Object.entries(kept.headers)) res.setHeader(name, value);
    if ('answer' in kept.outcome) return kept.outcome.answer;
    const { code, message, details } = kept.outcome.error;
    throw new ApiError(code, message, details === undefined ? {} : { details });
  }

  async function run(attempt: Attempt): Promise<SuccessResponse | undefined> {
    const lease = { id: idOf(attempt), fence: newId() };
    const sent = canonicalRequest(attempt.req, attempt.body);
    const fingerprint = macs.of(sent, lease.id);
    const recordId = newId();
    const until = performance.now() + WAIT_MS;
    let known: StoredKey | undefined;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, MAX_PAUSE_MS)) {
      if (known === undefined && (await keys.claim(lease, fingerprint, recordId))) {
        return runUnderLease(attempt, lease, recordId, false);
      }
      known = await keys.read(lease.id);
      // The key has just expired.
      if (known === undefined) continue;
      if (known.fingerprint !== null && !macs.isOf(known.fingerprint, sent, lease.id)) {
        throw new ApiError('IDEMPOTENCY_KEY_REUSED', undefined, {
          details: { 'Idempotency-Key': 'Came with another request' },
        });
      }
      if (known.status !== null) return replay(lease, known, attempt);
      if (known.expired && (await keys.reclaim(lease, fingerprint, known.fingerprint))) {
        return runUnderLease(attempt, lease, known.recordId, true);
      }
      if (performance.now() > until) return late(attempt, known);
      await sleep(pause);
    }
  }

  return { run, isRepeated: async (attempt) => (await keys.read(idOf(attempt))) !== undefined };
}

/** Rebuilds the response after a long wait: the process that created the record may have died before it stored one. */
async function late(attempt: Attempt, { recordId }: StoredKey): Promise<SuccessResponse> {
  const found = await attempt.recover(recordId);
  if (found === undefined) {
    throw new ApiError('CONFLICT', 'The first request with this Idempotency-Key is still being worked on', {
      retryAfter: RETRY_AFTER_SECONDS,
    });
  }
  markReplayed(attempt.res);
  return found;
}

function markReplayed(res: Response): void {
  res.setHeader('Idempotency-Replayed', 'true');
}

const PLAIN = /^[\x21\x23-\x7e][\x21-\x7e]*$/;
// A string in the sense of RFC 9651 §3.3.3, as the draft requires.
const QUOTED = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;
const LONGEST = 255;

/**
 * Reads `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header). The value may be in double quotes; with and without quotes it is
 * the same key.
 *
 * @returns undefined if there is none
 * @throws ApiError BAD_REQUEST if it is malformed, empty, too long, or repeated
 */
export function readIdempotencyKey({ headers }: Request): string | undefined {
  const header = headers['idempotency-key'];
  if (header === undefined) return undefined;
  const text = String(header);
  const key = PLAIN.test(text) ? text : QUOTED.exec(text)?.[1]?.replace(/\\(.)/g, '$1');
  if (key === undefined || key === '' || key.length > LONGEST) {
    throw new ApiError('BAD_REQUEST', `Idempotency-Key must be one key of 1 to ${LONGEST} visible ASCII characters`);
  }
  return key;
}

/** Whether JSON can represent all of a value: a Map or URLSearchParams would become an empty object. */
function isJson(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || 'toJSON' in value) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/**
 * The body of a route that leaves parsing to its middleware, as stored in `req.body`. Uploaded files are not part of it, because each
 * middleware stores them elsewhere.
 */
function parsedElsewhere(req: Request): unknown {
  const parsed: unknown = req.body;
  const comparable = parsed !== undefined && isJson(parsed) && !/^multipart\//i.test(req.headers['content-type'] ?? '');
  if (!comparable && hasBody(req)) {
    throw new ApiError('BAD_REQUEST', 'This body cannot be compared with another: send it without Idempotency-Key');
  }
  return Buffer.isBuffer(parsed) ? { base64: parsed.toString('base64') } : parsed;
}

/**
 * Returns a canonical text for the query and body of a request: equal requests have the same text.
 *
 * @param body the parsed body; undefined if the route has not read it, or if there is none
 * @throws ApiError BAD_REQUEST if the request has a body that has not been parsed
 */
export function canonicalRequest(req: Request, body: unknown): string {
  // Convert through JSON, because middleware may have left values such as dates.
  const sent = body === undefined ? JSON.parse(JSON.stringify(parsedElsewhere(req)) ?? 'null') : body;
  return canonicalJson([req.query, sent]);
}
