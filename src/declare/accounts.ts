import type { Request } from 'express';
import type { z } from 'zod';
import type { Executor } from '../platform/postgres/queryable.ts';
import type { StoredRecord } from './host.ts';
import type { RouteContext } from './route.ts';
import type { CallerTransaction } from './transaction.ts';

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

/** Credentials that end together, and why. */
export interface Revocation {
  /**
   * - `password_reset`, `password_change`: the user has a new password.
   * - `logout_all`: all sessions of the user end.
   * - `user_deleted`: the record of the user is deleted, by whatever path. It may be restored later; its credentials are not.
   * - `key_revoked`: only the API keys in `keyIds` end. The other causes do not announce keys one by one.
   */
  cause: 'password_reset' | 'password_change' | 'logout_all' | 'user_deleted' | 'key_revoked';
  /** The owners of the credentials. */
  userIds: readonly string[];
  /** The session that stays: the one that made the change. */
  exceptSession?: string | undefined;
  /** Of `logout_all`: whether the user asked for their webhook endpoints to be disabled too. */
  disableWebhooks?: boolean | undefined;
  /** Of `key_revoked`: the keys. */
  keyIds?: readonly string[] | undefined;
  /** The client's address; undefined when no request caused it. */
  ip?: string | undefined;
}

/**
 * Ends the credentials of one feature: sessions, keys, endpoints or links. It runs in the transaction of the change that
 * causes the revocation, while the rows of the users are locked, so that both are committed or neither. A step ignores the causes
 * that do not concern it. It must take its own row locks in the order of ids.
 */
export type RevocationStep = (revocation: Revocation, tx: CallerTransaction) => Promise<void>;

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
   * Runs the revocation steps of all features in the caller's transaction. It locks the rows of the users first; a caller that locks
   * other rows does so after theirs.
   */
  revoke: RevocationStep;
  /**
   * Delays revocations of the signed-in user's credentials until the caller's transaction ends, and makes sure that the session
   * or key of the request has not been revoked. Call it first in every transaction that stores a new credential: otherwise the
   * credential would outlive a revocation that runs at the same time. Transactions of one user that call it run one after the other.
   *
   * @throws ApiError UNAUTHORIZED when the session, key or user no longer exists
   */
  holdCredential(ctx: Pick<RouteContext, 'user' | 'auth'>, tx: Executor): Promise<void>;
  /**
   * Starts the session of a login that waited for a step. Emits `auth.login`. Returns the value of the login route, for the handler to return:
   * the endpoint serializes the user in it.
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
