import type { Request } from 'express';
import { ApiError, addressOf, type Events, type Executor, type Keyring, MINUTE_MS } from '../../extension/index.ts';
import { findTimeStep, hashRecoveryCode, secretEncryptionContext } from './codes.ts';
import type { TwoFactorSettings } from './context.ts';
import { COUNT_WRONG_CODE, USE_CODE } from './sql.ts';

const MAX_LOCK_MS = 24 * 60 * MINUTE_MS;

/**
 * Returns how long a wrong code locks the factor, in ms; 0 means no lock. Locks grow because codes are short: an attacker who knows
 * the password gets about 2000 guesses a year, each with a chance of 3 in a million.
 *
 * @param failures wrong codes in a row, including this one
 */
export function lockDurationMs(failures: number, { maxAttempts, lockMinutes }: TwoFactorSettings['lockout']): number {
  if (failures % maxAttempts !== 0) return 0;
  return Math.min(lockMinutes * MINUTE_MS * 2 ** (failures / maxAttempts - 1), MAX_LOCK_MS);
}

/** Returns the error (status 429) for a factor that wrong codes have locked. @param leftMs ms until the lock ends */
function codesLockedError(leftMs: number): ApiError {
  const minutes = Math.ceil(leftMs / MINUTE_MS);
  const text = `Too many wrong codes, try again in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`;
  return new ApiError('RATE_LIMITED', text, { retryAfter: Math.max(1, Math.ceil(leftMs / 1000)) });
}

/** The kinds of code: from the authenticator app, or a recovery code. */
export const CODE_METHODS = ['totp', 'recovery'] as const;

/** One of these kinds of code. */
type CodeMethod = (typeof CODE_METHODS)[number];

/** A code from a request. */
interface GivenCode {
  method: CodeMethod;
  code: string;
}

/** The second factor of a user. Its row is locked until the transaction ends. */
interface SecondFactor {
  userId: string;
  /** Ciphertext of the TOTP secret. */
  secret: string;
  /** The time step of the last accepted code; codes of this and earlier steps are refused. */
  lastStep: number;
  /** Hashes of the unused recovery codes. */
  recoveryCodes: readonly string[];
  confirmed: boolean;
  failures: number;
  /** Remaining ms of the lock; 0 if there is none. */
  lockedMs: number;
}

/** What a right code uses up: a time step or a recovery code. */
interface UsedCode {
  step: number | null;
  recoveryHash: string | null;
}

/** The outcome of checking a TOTP or recovery code. */
export type CodeAttemptResult =
  | { kind: 'passed'; userId: string; method: CodeMethod; recoveryCodesLeft: number }
  /** `lockedUntil` (ISO 8601): set when this attempt locked the factor. */
  | { kind: 'failed'; userId: string; method: CodeMethod; lockedUntil: string | undefined }
  | { kind: 'locked'; userId: string; method: CodeMethod; leftMs: number };

type FactorRow = [string, string, number, string[], boolean, number, number];

/**
 * Reads a factor with a statement that locks its row, so that attempts of one user run one after the other.
 *
 * @param text the statement
 * @param by the parameter of the statement: the id of a user or the hash of a challenge's token
 */
export async function readFactorForUpdate(tx: Executor, text: string, by: string): Promise<SecondFactor | undefined> {
  const [row] = await tx.write<FactorRow>({ text, values: [by] });
  if (row === undefined) return undefined;
  const [userId, secret, lastStep, recoveryCodes, confirmed, failures, lockedMs] = row;
  return { userId, secret, lastStep, recoveryCodes, confirmed, failures, lockedMs };
}

/** Detects the method of a code by its format. */
export function detectCodeMethod(code: string): CodeMethod {
  return /^\s*\d[\d\s]*$/.test(code) ? 'totp' : 'recovery';
}

function matchCode(keyring: Keyring, factor: SecondFactor, { method, code }: GivenCode): UsedCode | undefined {
  if (method === 'recovery') {
    const recoveryHash = hashRecoveryCode(factor.userId, code);
    return factor.recoveryCodes.includes(recoveryHash) ? { step: null, recoveryHash } : undefined;
  }
  const secret = keyring.decrypt(factor.secret, secretEncryptionContext(factor.userId));
  const step = findTimeStep(secret, code, Date.now());
  return step !== undefined && step > factor.lastStep ? { step, recoveryHash: null } : undefined;
}

/**
 * Tries a code in the transaction that locks the factor: a right code is used up, a wrong one is counted. The caller must not throw
 * before the commit; otherwise a wrong code would not count.
 *
 * @param admit called with whether the code is right; if it returns false, nothing is used up or counted
 * @returns undefined if `admit` returned false
 */
export async function tryCode(
  tx: Executor,
  { keyring, settings }: { keyring: Keyring; settings: TwoFactorSettings },
  factor: SecondFactor,
  given: GivenCode,
  admit: (right: boolean) => Promise<boolean> = async () => true,
): Promise<CodeAttemptResult | undefined> {
  const { userId, lockedMs, failures } = factor;
  const { method } = given;
  if (lockedMs > 0) return { kind: 'locked', userId, method, leftMs: lockedMs };
  const usedCode = matchCode(keyring, factor, given);
  if (!(await admit(usedCode !== undefined))) return undefined;
  if (usedCode === undefined) {
    const lock = lockDurationMs(failures + 1, settings.lockout);
    const [row] = await tx.write<[string | null]>({ text: COUNT_WRONG_CODE, values: [userId, lock] });
    return { kind: 'failed', userId, method, lockedUntil: lock > 0 ? (row![0] ?? undefined) : undefined };
  }
  const [row] = await tx.write<[number]>({ text: USE_CODE, values: [userId, usedCode.step, usedCode.recoveryHash] });
  return { kind: 'passed', userId, method, recoveryCodesLeft: row![0] };
}

/** The error text for a wrong code. It does not reveal whether the code was right at an earlier time. */
export const WRONG_CODE = 'Must be a current code that has not been used';

/**
 * Emits the events of a committed attempt and throws unless it passed.
 *
 * @param wrong creates the error of a wrong code
 * @throws ApiError from `wrong`; RATE_LIMITED while the factor is locked
 */
export function reportAndAssertPassed(
  events: Events,
  req: Request,
  attempt: CodeAttemptResult,
  wrong: () => ApiError,
): asserts attempt is Extract<CodeAttemptResult, { kind: 'passed' }> {
  const { userId, method } = attempt;
  const client = { userId, ip: addressOf(req) };
  if (attempt.kind === 'locked') {
    events.emit('security.two_factor_failed', { ...client, method, reason: 'locked' });
    throw codesLockedError(attempt.leftMs);
  }
  if (attempt.kind === 'failed') {
    const { lockedUntil } = attempt;
    events.emit('security.two_factor_failed', { ...client, method, reason: 'wrong' });
    if (lockedUntil !== undefined) events.emit('security.two_factor_locked', { ...client, lockedUntil });
    throw wrong();
  }
  if (method === 'recovery') {
    events.emit('security.recovery_code_used', { ...client, remaining: attempt.recoveryCodesLeft });
  }
}
