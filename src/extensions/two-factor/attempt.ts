import type { Keyring } from '../../platform/crypto/keyring.ts';
import type { Executor } from '../../platform/postgres/database.ts';
import { lockMs } from './lock.ts';
import { hashRecoveryCode } from './recovery-codes.ts';
import { secretContext } from './secret.ts';
import type { TwoFactorSettings } from './settings.ts';
import { FAIL, SPEND } from './sql.ts';
import { stepOf } from './totp.ts';

/** The ways to show a second factor. */
export const METHODS = ['totp', 'recovery'] as const;

/** One of the ways to show a second factor. */
export type Method = (typeof METHODS)[number];

/** A code as somebody gave it. */
export interface GivenCode {
  method: Method;
  code: string;
}

/** The factor of a user, whose row is locked. */
export interface Factor {
  userId: string;
  /** Ciphertext. */
  secret: string;
  lastStep: number;
  /** Hashes. */
  recoveryCodes: readonly string[];
  confirmed: boolean;
  failures: number;
  /** ms that it stays locked. */
  lockedMs: number;
}

/** What a right code uses up. */
interface Spent {
  step: number | null;
  recoveryHash: string | null;
}

/** How an attempt ended. */
export type Attempt =
  | { kind: 'passed'; userId: string; method: Method; recoveryCodesLeft: number }
  /** `lockedUntil`: this one locked, until then (ISO 8601). */
  | { kind: 'failed'; userId: string; method: Method; lockedUntil: string | undefined }
  | { kind: 'locked'; userId: string; method: Method; leftMs: number };

type FactorRow = [string, string, number, string[], boolean, number, number];

/** Takes hold of a factor by a statement that locks its row, so that nobody else tries a code until the transaction ends. */
export async function lockFactor(tx: Executor, text: string, by: string): Promise<Factor | undefined> {
  const [row] = await tx.write<FactorRow>({ text, values: [by] });
  if (row === undefined) return undefined;
  const [userId, secret, lastStep, recoveryCodes, confirmed, failures, lockedMs] = row;
  return { userId, secret, lastStep, recoveryCodes, confirmed, failures, lockedMs };
}

/** The method that a code is of by its looks. */
export function methodOf(code: string): Method {
  return /^\s*\d[\d\s]*$/.test(code) ? 'totp' : 'recovery';
}

function find(keyring: Keyring, factor: Factor, { method, code }: GivenCode): Spent | undefined {
  if (method === 'recovery') {
    const recoveryHash = hashRecoveryCode(factor.userId, code);
    return factor.recoveryCodes.includes(recoveryHash) ? { step: null, recoveryHash } : undefined;
  }
  const secret = keyring.decrypt(factor.secret, secretContext(factor.userId));
  const step = stepOf(secret, code, Date.now());
  return step !== undefined && step > factor.lastStep ? { step, recoveryHash: null } : undefined;
}

/**
 * Tries a code in the transaction that holds the factor: a right one is spent, a wrong one counted. Nothing may be thrown on the
 * way to the commit, or wrong codes would cost nothing.
 *
 * @param admit asked once it is known whether the code is right; false: nothing is spent or counted
 * @returns undefined when it was not admitted
 */
export async function attempt(
  tx: Executor,
  { keyring, settings }: { keyring: Keyring; settings: TwoFactorSettings },
  factor: Factor,
  given: GivenCode,
  admit: (right: boolean) => Promise<boolean> = async () => true,
): Promise<Attempt | undefined> {
  const { userId, lockedMs, failures } = factor;
  const { method } = given;
  if (lockedMs > 0) return { kind: 'locked', userId, method, leftMs: lockedMs };
  const spent = find(keyring, factor, given);
  if (!(await admit(spent !== undefined))) return undefined;
  if (spent === undefined) {
    const lock = lockMs(failures + 1, settings.lockout);
    const [row] = await tx.write<[string | null]>({ text: FAIL, values: [userId, lock] });
    return { kind: 'failed', userId, method, lockedUntil: lock > 0 ? (row![0] ?? undefined) : undefined };
  }
  const [row] = await tx.write<[number]>({ text: SPEND, values: [userId, spent.step, spent.recoveryHash] });
  return { kind: 'passed', userId, method, recoveryCodesLeft: row![0] };
}
