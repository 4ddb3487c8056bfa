import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Request, Response } from 'express';
import type { Host } from '../../../declare/host.ts';
import type { Viewer } from '../../../declare/policy.ts';
import type { Route } from '../../../declare/route.ts';
import { createMacs } from '../../../platform/crypto/mac.ts';
import { ApiError } from '../../../platform/errors.ts';
import type { Answer } from '../../../platform/http/answer.ts';
import { addressOf, clientKey } from '../../../platform/http/client-address.ts';
import { newId } from '../../../platform/ids.ts';
import { publicError } from '../public-error.ts';
import { canonicalRequest } from './canonical-request.ts';
import { type Claim, type Claimed, createClaims } from './claims.ts';
import { type Outcome, openAnswer, sealAnswer } from './stored-answer.ts';

/** A request with an `Idempotency-Key`, of somebody who may make it. */
export interface Attempt {
  req: Request;
  res: Response;
  user: Viewer | undefined;
  key: string;
  body: unknown;
  /** Does what is asked for. Undefined: the handler has answered by itself. */
  run(recordId: string): Promise<Answer | undefined>;
  /** The answer for the record with the reserved id; undefined while there is none. */
  recover(recordId: string): Promise<Answer | undefined>;
  /** Whether the record with the reserved id is there. */
  made(recordId: string): Promise<boolean>;
}

/** Carries requests out once. */
export interface IdempotentRequests {
  /** Gives the answer: of this run, or of an earlier one. Undefined when the handler has answered by itself. */
  carryOut(attempt: Attempt): Promise<Answer | undefined>;
  /** Whether a request came before: from the same user, with the same key, to the same route and path. */
  isRepeated(attempt: Pick<Attempt, 'req' | 'user' | 'key'>): Promise<boolean>;
}

/** How long a request waits for the first one with its key, and how long a client is asked to wait after that. */
const WAIT_MS = 5000;
const RETRY_AFTER_SECONDS = 5;
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 250;
// A try has a lease of 60 s.
const RENEW_MS = 20_000;

// What is refused for what was sent, or for a version that is over, has changed nothing: it may come again, put right.
const FREE = new Set([400, 412, 422, 429]);

/**
 * Carries out what is asked for once, however often a request is repeated, and answers all of them alike. Every answer below
 * 500 is kept, except `FREE` ones, those that say when to come back, and refused creates, which have made nothing.
 */
export function createIdempotentRequests(
  route: Route,
  host: Pick<Host, 'database' | 'keyring' | 'env' | 'log'>,
): IdempotentRequests {
  const { keyring, log } = host;
  const claims = createClaims(host.database);
  const macs = createMacs(host.env.encryptionKeys);
  const isKept = ({ status, retryAfter }: ApiError) =>
    route.idempotent !== 'create' && status < 500 && !FREE.has(status) && retryAfter === undefined;

  function idOf({ req, user, key }: Pick<Attempt, 'req' | 'user' | 'key'>): string {
    const who = user === undefined ? `ip ${clientKey(addressOf(req))}` : `user ${user.id}`;
    return hash('sha256', JSON.stringify([who, route.method, route.path, req.params, key]));
  }

  /** What cannot be noted costs a repetition its answer, not this request. */
  async function note(work: Promise<void>): Promise<void> {
    await work.catch((error) =>
      log.warn({ err: error }, 'the state of a request with an Idempotency-Key was not noted'),
    );
  }

  /** A record that was made keeps its key: another body would be answered with it. */
  async function giveUp(attempt: Attempt, claim: Claim, recordId: string, status: number): Promise<void> {
    await claims.release(claim, status < 500 && !(await attempt.made(recordId)));
  }

  async function tryIt(attempt: Attempt, claim: Claim, recordId: string, again: boolean): Promise<Answer | undefined> {
    const renewal = setInterval(() => note(claims.renew(claim)), RENEW_MS).unref();
    const before = new Set(attempt.res.getHeaderNames());
    const keep = (status: number, outcome: Outcome) =>
      note(claims.finish(claim, status, sealAnswer(keyring, claim.id, outcome, attempt, before)));
    try {
      const found = again ? await attempt.recover(recordId) : undefined;
      if (found !== undefined) markReplayed(attempt.res);
      const answer = found ?? (await attempt.run(recordId));
      if (answer === undefined) await note(claims.release(claim, true));
      else await keep(answer.status, { answer });
      return answer;
    } catch (error) {
      const told = publicError(error);
      const { status, code, message, details } = told;
      if (isKept(told)) await keep(status, { error: { code, message, details } });
      else await note(giveUp(attempt, claim, recordId, status));
      throw error;
    } finally {
      clearInterval(renewal);
    }
  }

  function replay({ id }: Claim, { answer }: Claimed, { res, user }: Attempt): Answer {
    if (answer === null) {
      throw new ApiError('CONFLICT', 'This was carried out before, and its answer was too large to be kept');
    }
    const kept = openAnswer(keyring, id, answer);
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

  async function carryOut(attempt: Attempt): Promise<Answer | undefined> {
    const claim = { id: idOf(attempt), claim: newId() };
    const sent = canonicalRequest(attempt.req, attempt.body);
    const fingerprint = macs.of(sent, claim.id);
    const recordId = newId();
    const until = performance.now() + WAIT_MS;
    let known: Claimed | undefined;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      if (known === undefined && (await claims.begin(claim, fingerprint, recordId))) {
        return tryIt(attempt, claim, recordId, false);
      }
      known = await claims.look(claim.id);
      // Its 24 hours ended in this moment.
      if (known === undefined) continue;
      if (known.fingerprint !== null && !macs.isOf(known.fingerprint, sent, claim.id)) {
        throw new ApiError('IDEMPOTENCY_KEY_REUSED', undefined, {
          details: { 'Idempotency-Key': 'Came with another request' },
        });
      }
      if (known.status !== null) return replay(claim, known, attempt);
      if (known.lapsed && (await claims.takeOver(claim, fingerprint, known.fingerprint))) {
        return tryIt(attempt, claim, known.recordId, true);
      }
      if (performance.now() > until) return late(attempt, known);
      await sleep(pause);
    }
  }

  return { carryOut, isRepeated: async (attempt) => (await claims.look(idOf(attempt))) !== undefined };
}

/** For those who have waited: the process that made the record may have died before it could answer. */
async function late(attempt: Attempt, { recordId }: Claimed): Promise<Answer> {
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
