import { setTimeout as sleep } from 'node:timers/promises';
import type { Host } from '../../../declare/host.ts';
import type { Route } from '../../../declare/route.ts';
import { createKeyedHashes } from '../../../platform/data/crypto/keyring.ts';
import { ApiError } from '../../../platform/helpers/errors.ts';
import { newId } from '../../../platform/helpers/ids.ts';
import type { SuccessResponse } from '../../../platform/http/response.ts';
import type { Attempt } from './attempt.ts';
import { createKeyLeases, type StoredKey } from './key-leases.ts';
import { createLeasedRun } from './leased-run.ts';
import { rebuildResponseOrThrowConflict, replayStoredResponse } from './replay.ts';
import { canonicalizeRequest, computeKeyId } from './request-identity.ts';

/** Runs a request only once, even if the client repeats it. */
export interface IdempotentRequests {
  /** Returns the response of this request or of an earlier one with its key. Undefined if the handler has sent the response itself. */
  run(attempt: Attempt): Promise<SuccessResponse | undefined>;
  /** Whether the same user, or the same API key, has sent a request with the same key to the same route and path before. */
  isRepeated(attempt: Pick<Attempt, 'req' | 'user' | 'key'>): Promise<boolean>;
}

/** ms that a repeated request waits for the first request with its key, before it gets a 409. */
const WAIT_MS = 5000;
const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 250;

/**
 * Runs a request once, however often it is repeated, and sends each repetition the same response. Every response below 500 is stored, with
 * three exceptions: responses that free the key, responses with `Retry-After`, and errors of creates, which have created nothing.
 */
export function createIdempotentRequests(
  route: Route,
  host: Pick<Host, 'database' | 'keyring' | 'env' | 'log'>,
): IdempotentRequests {
  const keys = createKeyLeases(host);
  const keyedHashes = createKeyedHashes(host.env.encryptionKeys);
  const runUnderLease = createLeasedRun(route, host, keys);

  async function run(attempt: Attempt): Promise<SuccessResponse | undefined> {
    const lease = { id: computeKeyId(route, attempt), fence: newId() };
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
      if (storedKey.status !== null) return replayStoredResponse(host.keyring, lease, storedKey, attempt);
      if (storedKey.expired && (await keys.reclaimKey(lease, fingerprint, storedKey.fingerprint))) {
        return runUnderLease(attempt, lease, storedKey.recordId, true);
      }
      if (performance.now() > deadline) return rebuildResponseOrThrowConflict(attempt, storedKey);
      await sleep(pause);
    }
  }

  const isRepeated: IdempotentRequests['isRepeated'] = async (attempt) =>
    (await keys.readStoredKey(computeKeyId(route, attempt))) !== undefined;
  return { run, isRepeated };
}
