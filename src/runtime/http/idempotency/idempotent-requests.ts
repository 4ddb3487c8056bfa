import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Request, Response } from 'express';
import { isEmailVerified, ORGANISATION_CHOICE, READ_LIMIT } from '../../../declare/actor.ts';
import type { Host } from '../../../declare/host.ts';
import type { Viewer } from '../../../declare/policy.ts';
import type { Route } from '../../../declare/route.ts';
import { createKeyedHashes } from '../../../platform/crypto/keyring.ts';
import { ApiError } from '../../../platform/errors.ts';
import { addressOf, clientKeyOf } from '../../../platform/http/client-address.ts';
import { hasBody } from '../../../platform/http/json-body.ts';
import { identityOf } from '../../../platform/http/request-context.ts';
import type { SuccessResponse } from '../../../platform/http/response.ts';
import { newId } from '../../../platform/ids.ts';
import { toCanonicalJson } from '../../../platform/json/canonical-json.ts';
import type { ResponseRecord } from '../../../records/serialize/response-records.ts';
import { toPublicError } from '../public-error.ts';
import { createKeyLeases, type KeyLease, type StoredKey } from './key-leases.ts';
import { decryptResponse, encryptResponse, type Outcome } from './stored-response.ts';

/** A request with an `Idempotency-Key` that has been authorised. */
export interface Attempt {
  req: Request;
  res: Response;
  user: Viewer | undefined;
  key: string;
  body: unknown;
  /** Runs the handler; a record that it creates gets the id `recordId`. Undefined: the handler has sent the response itself. */
  run(recordId: string): Promise<SuccessResponse | undefined>;
  /** The records in the response of `run` or `rebuildCreateResponse` that the caller may read. */
  records(): Promise<readonly ResponseRecord[]>;
  /** Whether the caller may still read the records in an earlier response. */
  mayReadAgain(records: readonly ResponseRecord[], data: unknown): Promise<boolean>;
  /** Rebuilds the response of a create from the record with the reserved id; undefined while there is no such record. */
  rebuildCreateResponse(recordId: string): Promise<SuccessResponse | undefined>;
  /** Whether the record with the reserved id exists. */
  isCreated(recordId: string): Promise<boolean>;
}

/** Runs a request only once, even if the client repeats it. */
export interface IdempotentRequests {
  /** Returns the response of this request or of an earlier one with its key. Undefined if the handler has sent the response itself. */
  run(attempt: Attempt): Promise<SuccessResponse | undefined>;
  /** Whether the same user, or the same API key, has sent a request with the same key to the same route and path before. */
  isRepeated(attempt: Pick<Attempt, 'req' | 'user' | 'key'>): Promise<boolean>;
}

/** ms that a repeated request waits for the first request with its key, before it gets a 409. */
const WAIT_MS = 5000;
/** The `Retry-After` of that 409, in seconds. */
const RETRY_AFTER_SECONDS = 5;
const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 250;

// Statuses of requests that were refused for their content or an outdated version. They changed nothing, so the corrected request may
// use the same key.
const KEY_FREEING_STATUSES = new Set([400, 412, 422, 429]);

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
  const keyedHashes = createKeyedHashes(host.env.encryptionKeys);
  const shouldStoreError = ({ status, retryAfter }: ApiError) =>
    route.idempotent !== 'create' && status < 500 && !KEY_FREEING_STATUSES.has(status) && retryAfter === undefined;

  function computeKeyId({ req, user, key }: Pick<Attempt, 'req' | 'user' | 'key'>): string {
    const client = user === undefined ? `ip ${clientKeyOf(addressOf(req))}` : `user ${user.id}`;
    const parts: unknown[] = [client, route.method, route.path, req.params, key];
    // A key of one organisation must not replay a response of another.
    const choice = user?.[ORGANISATION_CHOICE];
    if (choice !== undefined) parts.push(choice.bound ?? null, choice.current ?? null);
    // An API key must not replay a response with related records that it may not read.
    if (user?.[READ_LIMIT] !== undefined) parts.push(`credential ${identityOf(req)?.id}`);
    return hash('sha256', JSON.stringify(parts));
  }

  /** Awaits the storing of a key's state. If it fails, a repetition loses its response, but this request must not fail. */
  async function warnIfNotStored(work: Promise<void>): Promise<void> {
    await work.catch((error) =>
      log.warn({ err: error }, 'the state of a request with an Idempotency-Key was not stored'),
    );
  }

  /** Ends a lease after an error. A key whose record was created stays bound to its request: another body must not get that record. */
  async function releaseKey(attempt: Attempt, lease: KeyLease, recordId: string, status: number): Promise<void> {
    await keys.releaseLease(lease, status < 500 && !(await attempt.isCreated(recordId)));
  }

  async function runUnderLease(
    attempt: Attempt,
    lease: KeyLease,
    recordId: string,
    isReclaimed: boolean,
  ): Promise<SuccessResponse | undefined> {
    keys.renewals.add(lease);
    const before = new Set(attempt.res.getHeaderNames());
    const storeOutcome = (status: number, outcome: Outcome) =>
      warnIfNotStored(
        (async () => {
          const records = 'answer' in outcome ? await attempt.records() : [];
          const response = encryptResponse(keyring, lease.id, outcome, attempt, before, records);
          await keys.storeResponse(lease, status, response);
        })(),
      );
    try {
      const recovered = isReclaimed ? await attempt.rebuildCreateResponse(recordId) : undefined;
      if (recovered !== undefined) markReplayed(attempt.res);
      const answer = recovered ?? (await attempt.run(recordId));
      if (answer === undefined) await warnIfNotStored(keys.releaseLease(lease, true));
      else await storeOutcome(answer.status, { answer });
      return answer;
    } catch (error) {
      const apiError = toPublicError(error);
      const { status, code, message, details } = apiError;
      if (shouldStoreError(apiError)) await storeOutcome(status, { error: { code, message, details } });
      else await warnIfNotStored(releaseKey(attempt, lease, recordId, status));
      throw error;
    } finally {
      keys.renewals.remove(lease);
    }
  }

  async function replayStoredResponse(
    { id }: KeyLease,
    { response }: StoredKey,
    { res, user, mayReadAgain }: Attempt,
  ): Promise<SuccessResponse> {
    if (response === null) {
      throw new ApiError('CONFLICT', 'This request was already processed, but its response was too large to be stored');
    }
    const stored = decryptResponse(keyring, id, response);
    const lostRole = stored.roles.find((role) => user?.roles?.includes(role) !== true);
    if (lostRole !== undefined) {
      throw new ApiError('FORBIDDEN', `The stored response requires the role "${lostRole}", which you no longer have`);
    }
    if (stored.verified === true && (user === undefined || !isEmailVerified(user)))
      throw new ApiError(
        'FORBIDDEN',
        'The stored response requires a verified e-mail address, which you no longer have',
      );
    // The user may have left an organisation, or lost the right to read the record in another way. Then a read responds with 404, too.
    if ('answer' in stored.outcome && stored.records !== undefined && stored.records.length > 0) {
      const { text } = stored.outcome.answer;
      const { data } = text === undefined ? {} : JSON.parse(text);
      if (!(await mayReadAgain(stored.records, data))) throw new ApiError('NOT_FOUND');
    }
    markReplayed(res);
    for (const [name, value] of Object.entries(stored.headers)) res.setHeader(name, value);
    if ('answer' in stored.outcome) return stored.outcome.answer;
    const { code, message, details } = stored.outcome.error;
    throw new ApiError(code, message, details === undefined ? {} : { details });
  }

  async function run(attempt: Attempt): Promise<SuccessResponse | undefined> {
    const lease = { id: computeKeyId(attempt), fence: newId() };
    const sent = canonicalizeRequest(attempt.req, attempt.body);
    const fingerprint = keyedHashes.hash(sent, lease.id);
    const recordId = newId();
    const deadline = performance.now() + WAIT_MS;
    let storedKey: StoredKey | undefined;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, MAX_PAUSE_MS)) {
      if (storedKey === undefined && (await keys.claimKey(lease, fingerprint, recordId))) {
        return runUnderLease(attempt, lease, recordId, false);
      }
      storedKey = await keys.readStoredKey(lease.id);
      // The stored key has just expired: try to claim it again.
      if (storedKey === undefined) continue;
      if (storedKey.fingerprint !== null && !keyedHashes.matches(storedKey.fingerprint, sent, lease.id)) {
        throw new ApiError('IDEMPOTENCY_KEY_REUSED', undefined, {
          details: { 'Idempotency-Key': 'Was used with a different request' },
        });
      }
      if (storedKey.status !== null) return replayStoredResponse(lease, storedKey, attempt);
      if (storedKey.expired && (await keys.reclaimKey(lease, fingerprint, storedKey.fingerprint))) {
        return runUnderLease(attempt, lease, storedKey.recordId, true);
      }
      if (performance.now() > deadline) return rebuildResponseOrThrowConflict(attempt, storedKey);
      await sleep(pause);
    }
  }

  return { run, isRepeated: async (attempt) => (await keys.readStoredKey(computeKeyId(attempt))) !== undefined };
}

/** Rebuilds the response to a create after a long wait: the process that ran it may have died before storing a response. */
async function rebuildResponseOrThrowConflict(attempt: Attempt, { recordId }: StoredKey): Promise<SuccessResponse> {
  const recovered = await attempt.rebuildCreateResponse(recordId);
  if (recovered === undefined) {
    throw new ApiError('CONFLICT', 'The first request with this Idempotency-Key is still in progress', {
      retryAfter: RETRY_AFTER_SECONDS,
    });
  }
  markReplayed(attempt.res);
  return recovered;
}

function markReplayed(res: Response): void {
  res.setHeader('Idempotency-Replayed', 'true');
}

const PLAIN_KEY = /^[\x21\x23-\x7e][\x21-\x7e]*$/;
// A string in the sense of RFC 9651 §3.3.3, as the draft requires.
const QUOTED_KEY = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;
const MAX_KEY_LENGTH = 255;

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
  const key = PLAIN_KEY.test(text) ? text : QUOTED_KEY.exec(text)?.[1]?.replace(/\\(.)/g, '$1');
  if (key === undefined || key === '' || key.length > MAX_KEY_LENGTH) {
    throw new ApiError(
      'BAD_REQUEST',
      `Idempotency-Key must be one key of 1 to ${MAX_KEY_LENGTH} visible ASCII characters`,
    );
  }
  return key;
}

/** Whether JSON can represent all of a value: a Map or URLSearchParams would become an empty object. */
function isJsonCompatible(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || 'toJSON' in value) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/**
 * The body of a route that leaves parsing to its middleware, as stored in `req.body`. Uploaded files are not part of it, because each
 * middleware stores them elsewhere.
 */
function readMiddlewareBody(req: Request): unknown {
  const parsed: unknown = req.body;
  const comparable =
    parsed !== undefined && isJsonCompatible(parsed) && !/^multipart\//i.test(req.headers['content-type'] ?? '');
  if (!comparable && hasBody(req)) {
    throw new ApiError(
      'BAD_REQUEST',
      'The server cannot recognize a repetition of this kind of body. Send the request without Idempotency-Key',
    );
  }
  return Buffer.isBuffer(parsed) ? { base64: parsed.toString('base64') } : parsed;
}

/**
 * Returns a canonical text for the query and body of a request: equal requests have the same text.
 *
 * @param body the parsed body; undefined if the route has not read it, or if there is none
 * @throws ApiError BAD_REQUEST if the request has a body that has not been parsed
 */
export function canonicalizeRequest(req: Request, body: unknown): string {
  // Convert through JSON, because middleware may have left values such as dates.
  const sent = body === undefined ? JSON.parse(JSON.stringify(readMiddlewareBody(req)) ?? 'null') : body;
  return toCanonicalJson([req.query, sent]);
}
