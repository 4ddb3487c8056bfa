import type { Request } from 'express';
import type { z } from 'zod';
import type { Executor } from '../platform/postgres/queryable.ts';
import type { StoredRecord } from './host.ts';
import type { RouteContext } from './route.ts';
import type { CallerTransaction } from './service.ts';

/** A login with a correct password whose session has not started yet. */
export interface CheckedLogin {
  user: StoredRecord;
  /** A value that proves that the password was correct. It becomes invalid when the password changes. A step may store it. */
  passwordProof: string;
  req: Request;
}

/** An additional login step, such as a second factor. */
export interface SignInStep {
  /** The schema of the login response that asks for this step, for the OpenAPI document. */
  output: z.ZodType;
  /** Returns the login response to send instead of a session; undefined if this user needs no further step. */
  ask(login: CheckedLogin): Promise<object | undefined>;
}

/** Credentials that are revoked together, and the cause. */
export interface Revocation {
  /**
   * - `password_reset`, `password_change`: the user has a new password.
   * - `logout_all`: all sessions of the user end.
   * - `user_deleted`: the user's record is deleted, by any route or job. Restoring the record later does not restore the credentials.
   * - `key_revoked`: only the API keys in `keyIds` end. The other causes do not list individual keys.
   */
  cause: 'password_reset' | 'password_change' | 'logout_all' | 'user_deleted' | 'key_revoked';
  /** The owners of the credentials. */
  userIds: readonly string[];
  /** The id of the session that is kept, because it made the change. */
  exceptSession?: string | undefined;
  /** With `logout_all`: whether the user also asked to disable their webhook endpoints. */
  disableWebhooks?: boolean | undefined;
  /** With `key_revoked`: the ids of the keys. */
  keyIds?: readonly string[] | undefined;
  /** The client's address; undefined if no request caused the revocation. */
  ip?: string | undefined;
}

/**
 * Revokes the credentials of one feature: sessions, keys, endpoints or links. It runs in the transaction of the change that causes the
 * revocation, while the rows of the users are locked, so the change and the revocation are committed together or not at all. A step ignores
 * causes that do not concern its feature, and locks its own rows in id order.
 */
export type RevocationStep = (revocation: Revocation, tx: CallerTransaction) => Promise<void>;

/**
 * Checks an additional proof, besides the password, before the user does something irreversible.
 *
 * @param code the code that the user sent along with the password; undefined if none
 * @param field the field of the body to name in the error
 * @throws ApiError VALIDATION_ERROR naming the field if the code is required and missing or wrong; RATE_LIMITED after too many attempts
 */
export type ConfirmStep = (ctx: RouteContext, code: string | undefined, field: string) => Promise<void>;

/** The account functions that extensions can call. */
export interface Accounts {
  /**
   * Runs the revocation steps of all features in the caller's transaction. Locks the users' rows first, so a caller that also locks other
   * rows must lock them afterwards.
   */
  revoke: RevocationStep;
  /**
   * Delays revocations of the signed-in user's credentials until the caller's transaction ends, and checks that the session or key of the
   * request has not been revoked. Call it first in every transaction that stores a new credential; otherwise the credential would survive a
   * concurrent revocation. Transactions of the same user that call it run one after the other.
   *
   * @throws ApiError UNAUTHORIZED if the session, key or user no longer exists
   */
  holdCredential(ctx: Pick<RouteContext, 'user' | 'auth'>, tx: Executor): Promise<void>;
  /**
   * Starts the session of a login that waited for an additional step, such as a second factor. Emits `auth.login`. Returns the value that
   * the login route returns; the endpoint serializes the user in it.
   *
   * @throws ApiError FORBIDDEN if the account is not active; UNAUTHORIZED if the account no longer exists or its password has changed since
   */
  resumeLogin(login: Pick<CheckedLogin, 'passwordProof'> & { userId: string }, ctx: RouteContext): Promise<object>;
  /**
   * Checks the signed-in user's password. Wrong attempts are counted per user, across all processes.
   *
   * @param field the field of the body to name in the error
   * @throws ApiError VALIDATION_ERROR naming the field; RATE_LIMITED after too many attempts
   */
  confirmPassword(userId: string, password: string, field: string): Promise<void>;
  /**
   * Confirms the signed-in user's identity by their password and, if they have one, their second factor.
   *
   * @param fields the fields of the body to name in errors
   * @throws ApiError VALIDATION_ERROR naming a field; RATE_LIMITED after too many attempts
   */
  confirmIdentity(
    ctx: RouteContext,
    given: { password: string; code?: string | undefined },
    fields: { password: string; code: string },
  ): Promise<void>;
}
