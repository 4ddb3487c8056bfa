import type { Request } from 'express';
import type { z } from 'zod';
import type { Executor } from '../platform/postgres/queryable.ts';
import type { StoredRecord } from './host.ts';
import type { RouteContext } from './route.ts';

/** A login whose password is right and whose session has not started. */
export interface CheckedLogin {
  user: StoredRecord;
  /** Stands for the password that was right, and is worth nothing once another is set. It may be stored. */
  passwordProof: string;
  req: Request;
}

/** A further step of logins. */
export interface SignInStep {
  /** The shape of the answer that asks for the step, for the OpenAPI document. */
  output: z.ZodType;
  /** What the login answers with instead of a session; undefined when nothing more is asked of this user. */
  ask(login: CheckedLogin): Promise<object | undefined>;
}

/**
 * What else a reset of a password does. It is done in the transaction of the reset, after the new password is written: both
 * happen or none.
 *
 * @returns what is done once it is committed; undefined for nothing
 */
export type PasswordResetStep = (
  reset: { userId: string; ip: string },
  tx: Executor,
) => Promise<(() => void) | undefined>;

/**
 * What else than the password a user shows before they do what cannot be taken back.
 *
 * @param code what they gave beside the password; undefined: nothing
 * @param field of the body, for the error
 * @throws ApiError VALIDATION_ERROR naming the field when it is asked of them and missing or wrong; RATE_LIMITED after too many
 */
export type ConfirmStep = (ctx: RouteContext, code: string | undefined, field: string) => Promise<void>;

/** What accounts offer to extensions. */
export interface Accounts {
  /**
   * Starts the session of a login that was held up by a step, and gives the answer of the login. Emits `auth.login`.
   *
   * @throws ApiError FORBIDDEN when the account is not active; UNAUTHORIZED when it is gone or its password was changed since
   */
  resumeLogin(login: Pick<CheckedLogin, 'passwordProof'> & { userId: string }, ctx: RouteContext): Promise<object>;
  /**
   * Makes sure that the signed-in user knows their password. Wrong ones are counted for each user, in all processes together.
   *
   * @param field of the body, for the error
   * @throws ApiError VALIDATION_ERROR naming the field; RATE_LIMITED after too many
   */
  confirmPassword(userId: string, password: string, field: string): Promise<void>;
  /**
   * Makes sure that it is the signed-in user: by their password and, where they have one, their second factor.
   *
   * @param fields of the body, for errors
   * @throws ApiError VALIDATION_ERROR naming a field; RATE_LIMITED after too many
   */
  confirmIdentity(
    ctx: RouteContext,
    given: { password: string; code?: string | undefined },
    fields: { password: string; code: string },
  ): Promise<void>;
}
