import type { Request } from 'express';
import type { z } from 'zod';
import type { Executor } from '../platform/data/postgres/queryable.ts';
import type { ApiError } from '../platform/helpers/errors.ts';
import type { AccountPower } from './account-power.ts';
import type { StoredRecord } from './host.ts';
import type { Lockouts } from './lockouts.ts';
import type { RevocationStep } from './revocation.ts';
import type { RouteContext } from './route.ts';
import type { CallerTransaction, Transaction } from './service.ts';

/** A login whose credential was correct, such as a password or a one-time link, and whose session has not started yet. */
export interface CheckedLogin {
  user: StoredRecord;
  /** How the user proved their identity: `password`, `email_link`, `passkey`. */
  method: string;
  /** Whether the credential counts as two factors, such as a passkey with user verification. Then no second factor is needed. */
  multiFactor: boolean;
  /** Whether the user has just registered. */
  isRegistration: boolean;
  /** The number of sign-in steps that the login has passed, in the order of the extensions. */
  passedSteps: number;
  /**
   * An opaque value that proves that the credential was correct. It becomes invalid when the user's password changes or is removed. A step
   * may store it, and passes it to `resumeLogin`.
   */
  passwordProof: string;
  req: Request;
}

/** An additional login step, such as a second factor. */
export interface SignInStep {
  /** The schema of the login response that asks for this step, for the OpenAPI document. */
  output: z.ZodType;
  /**
   * The schema of the registration response that asks for this step, for the OpenAPI document. Left out: the step is skipped when a user
   * registers, as for a second factor, which a new user cannot have.
   */
  registrationOutput?: z.ZodType;
  /** Returns the login response to send instead of a session; undefined if this user needs no further step. */
  ask(login: CheckedLogin): Promise<object | undefined>;
}

/**
 * Checks an additional proof, besides the password, before the user does something irreversible.
 *
 * @param code the code that the user sent along with the password; undefined if none
 * @param field the field of the body to name in the error
 * @throws ApiError VALIDATION_ERROR naming the field if the code is required and missing or wrong; RATE_LIMITED after too many attempts
 */
export type ConfirmStep = (ctx: RouteContext, code: string | undefined, field: string) => Promise<void>;

/** A way to sign in that an extension offers, besides the password and the identities of providers. */
export interface SignInMethod {
  /** As in `session.method`: `email_link`, `passkey`. */
  name: string;
  /** Whether the user can sign in this way. Before another way is removed, `on` is the removing transaction, which has locked the user's row. */
  isUsableBy(user: StoredRecord, on: Executor): Promise<boolean>;
}

/** How a user signs in. */
export interface SignIn {
  /** The name of the way to sign in, up to 64 letters, digits and `_ : . -`: `email_link`, `oidc:google`. Stored with the session. */
  method: string;
  request: Request;
  /** Whether the credential counts as two factors. Then no second factor is asked for. Default false. */
  multiFactor?: boolean | undefined;
  /**
   * The proof that `lockUser` returned in the transaction that used up the credential. If the user's password has been changed or removed
   * since then, no session starts.
   */
  proof?: string | undefined;
}

/** A user whose row is locked until the caller's transaction ends. */
export interface LockedUser {
  user: StoredRecord;
  /** Whether the user has a password. */
  hasPassword: boolean;
  /** See `SignIn`. */
  proof: string;
}

/** A user's account at an identity provider. */
export interface Identity {
  /** The provider's name in this app: `google`. */
  provider: string;
  /** The provider's id of the account, up to 255 characters. It never changes, unlike the address. */
  subject: string;
  /** The e-mail address at the provider; undefined if the provider does not tell it. */
  email?: string | undefined;
}

/** An identity that a user signs in with. */
export interface IdentitySignIn extends Identity {
  /** Whether the provider has verified that the user owns the address. */
  emailVerified: boolean;
  /** Further fields of a user that has to be created, such as `name`. They are validated like the fields of a registration. */
  profile?: Readonly<Record<string, unknown>>;
}

/** How `Accounts.createUser` creates a user. */
export interface CreateUserOptions {
  /** Whether the user is also created if the setting `auth.register` is false. Default false. */
  invited?: boolean;
  /**
   * Valid values that are stored in addition, such as roles. If set, the other values come from a client: they are validated like a
   * registration, so fields that clients cannot set are refused.
   */
  trusted?: Readonly<Record<string, unknown>>;
  /** The caller's transaction. */
  tx?: Transaction;
}

/** The account functions that extensions can call. */
export interface Accounts {
  /**
   * Starts a session for a user who proved their identity other than with the password. The rules of a login apply: the account must be
   * active, the second factor is asked for, and `auth.login` is emitted. Returns the value that the login route returns: a session, or the
   * response of a further step. The endpoint serializes the user in it.
   *
   * A lock of the address after failed sign-ins does not apply: check a secret that can be guessed with `checkSecret` first. A session that
   * starts clears the failed sign-ins, but not a lock.
   *
   * @throws ApiError FORBIDDEN if the account is not active; UNAUTHORIZED if the account no longer exists or `proof` is no longer valid
   * @example handler: async (ctx) => host.accounts.startSession(await redeem(ctx.input.ticket), { method: 'ticket', request: ctx.req })
   */
  startSession(userId: string, signIn: SignIn): Promise<object>;
  /**
   * The schema of the values that `startSession` and `resumeLogin` return, for the OpenAPI document. Read it once all features are set up,
   * because it depends on the sign-in steps of the app: in a route, write a getter.
   *
   * @example get output() { return accounts.loginOutput(); }
   */
  loginOutput(): z.ZodType;
  /**
   * Checks a secret that a client could guess, such as a code, under the lockout of the address: wrong secrets count as failed sign-ins,
   * and a locked address gets the 429 of a login without a check. It works the same whether or not the address has an account.
   *
   * @param attempt `userId` for a signed-in caller: wrong secrets then count for that user, and not as sign-ins. An attacker with a stolen
   *   session cannot lock the user out of signing in
   * @param check returns undefined if the secret is wrong. It must not call `startSession`: start the session afterwards
   * @param wrong creates the error of a wrong secret
   */
  checkSecret<T>(
    attempt: { email: string; request: Request } | { userId: string },
    check: () => Promise<T | undefined>,
    wrong: () => ApiError,
  ): Promise<T>;
  /**
   * Locks e-mail addresses and the rows of users until the caller's transaction ends. Addresses come first, then users, each in the same
   * order in every transaction. Call it first in a transaction that gives an address to a user or changes the accounts of several users:
   * concurrent transactions then wait instead of deadlocking. No other transaction that locks an address can give it to another user in the
   * meantime.
   */
  lockInOrder(locked: { emails?: readonly string[]; userIds?: readonly string[] }, tx: Executor): Promise<void>;
  /**
   * Locks a user's row until the caller's transaction ends. In the meantime, no credential of the user can be revoked. Call it before
   * locking other rows. Returns undefined if there is no such user.
   */
  lockUser(userId: string, tx: Executor): Promise<LockedUser | undefined>;
  /**
   * Returns a user and the proof of their current password, without a lock. The proof changes with the password, so a credential that
   * stores the proof ends with it. Undefined if there is no such user.
   *
   * @param tx the caller's transaction, to read what is committed once the user is locked
   */
  findUserWithProof(userId: string, tx?: Executor): Promise<Pick<LockedUser, 'user' | 'proof'> | undefined>;
  /** Removes a user's password in the caller's transaction: no password works until the user sets a new one. */
  removePassword(userId: string, tx: Executor): Promise<void>;
  /** Returns the user with this e-mail address; case and surrounding space do not matter. Undefined if there is none. */
  findUserByEmail(email: string): Promise<StoredRecord | undefined>;
  /**
   * Creates a user; without a `password` in the values, the user has none. Emits `auth.registered` after the commit.
   *
   * @param values validated with system privilege, unless the option `trusted` is set
   * @throws ApiError FORBIDDEN if registration is closed; VALIDATION_ERROR; CONFLICT if the address is taken
   */
  createUser(
    values: Readonly<Record<string, unknown>>,
    request: Request,
    options?: CreateUserOptions,
  ): Promise<StoredRecord>;
  /**
   * Records in the caller's transaction that a user owns their e-mail address, and emits `auth.email_verified` after the commit. Call it
   * only for an address to which the user has proved access. The app's user resource needs the fields of `verifiedEmailFields`.
   *
   * @param email the proved address; nothing happens if it is not the user's address
   * @param claim whether the user who proved access may not be the person who created the account. Then the first proof removes the password and all
   *   other ways into the account: its creator may have registered the address of another person in advance
   * @param by the id of the administrator who vouches for the address; null for the system. Left out: the user has proved it themself
   * @returns whether the address is the user's
   */
  verifyEmail(
    userId: string,
    email: string,
    tx: Transaction,
    options: { claim: boolean; request: Request; by?: string | null },
  ): Promise<boolean>;
  /**
   * Finds the user with this identity, or creates one. An existing account with the same address is linked only if both the provider and
   * Belfry have verified the address, or if the provider has and Belfry has not: then the account is claimed, see `verifyEmail`.
   *
   * @throws ApiError CONFLICT if the user must sign in first, and then link the identity; FORBIDDEN if the account is not active, or if
   *   registration is closed and there is no account that the identity may be linked to;
   *   VALIDATION_ERROR if a required field of the new user is missing
   */
  findOrCreateByIdentity(identity: IdentitySignIn, request: Request): Promise<{ userId: string; created: boolean }>;
  /**
   * Links an identity to a user in the caller's transaction.
   *
   * @throws ApiError CONFLICT if the identity belongs to another user
   */
  linkIdentity(userId: string, identity: Identity, tx: CallerTransaction, request: Request): Promise<void>;
  /**
   * Checks that the user could still sign in if `removed` were gone: by password, identity, or a sign-in method of an extension. Call it
   * after the removal, in its transaction, with the user's row locked.
   *
   * @throws ApiError CONFLICT
   */
  assertCanStillSignIn(userId: string, tx: Executor): Promise<void>;
  /**
   * Checks that the caller has signed in recently, within the setting `auth.recentSignIn`. Routes declare it with `recentSignIn`.
   *
   * @throws ApiError RECENT_SIGN_IN_REQUIRED
   */
  assertRecentSignIn(ctx: Pick<RouteContext, 'auth'>): Promise<void>;
  /** Records that the caller has just proved who they are. The session of the request then counts as recent. */
  renewRecentSignIn(ctx: Pick<RouteContext, 'auth'>): Promise<void>;
  /** The failed attempts and locks of accounts. */
  lockouts: Lockouts;
  /** Sets the organisation that the session of the request works in by default; undefined: none. Takes effect with the next request. */
  chooseOrganisation(ctx: Pick<RouteContext, 'auth'>, organisation: string | undefined): Promise<void>;
  /**
   * Runs the revocation steps of all features in the caller's transaction. Locks the users' rows first, so a caller that also locks other
   * rows must lock them afterwards.
   */
  revoke: RevocationStep;
  /**
   * Delays revocations of the signed-in user's credentials until the caller's transaction ends, and checks that the session or key of the
   * request has not been revoked. Call it first in every transaction that stores a new credential; otherwise the credential would survive a
   * concurrent revocation. Transactions of the same user that call it run sequentially.
   *
   * @throws ApiError UNAUTHORIZED if the session, key or user no longer exists
   */
  holdCredential(ctx: Pick<RouteContext, 'user' | 'auth'>, tx: Executor): Promise<void>;
  /**
   * Continues a login that waited for an additional step, such as a second factor: asks for the next step, or starts the session and emits
   * `auth.login`. Returns the value that the login route returns; the endpoint serializes the user in it.
   *
   * @param login `multiFactor`: whether the step was a second factor; then no further step asks for one
   * @throws ApiError FORBIDDEN if the account is not active; UNAUTHORIZED if the account no longer exists or its password has changed since
   */
  resumeLogin(
    login: Pick<CheckedLogin, 'passwordProof'> & { userId: string; multiFactor?: boolean },
    ctx: RouteContext,
  ): Promise<object>;
  /**
   * Checks the signed-in user's password. Wrong attempts are counted per user, across all processes.
   *
   * @param field the field of the body to name in the error
   * @throws ApiError VALIDATION_ERROR naming the field; RATE_LIMITED after too many attempts
   */
  confirmPassword(userId: string, password: string, field: string): Promise<void>;
  /**
   * Confirms that the caller is the user, before a sensitive action: by the user's password, or by a recent sign-in if the user has no
   * password. Wrong passwords are counted per user, across all processes.
   *
   * @param password undefined if the body has none
   * @param field the field of the body to name in the error
   * @throws ApiError VALIDATION_ERROR naming the field; RATE_LIMITED after too many attempts; RECENT_SIGN_IN_REQUIRED
   */
  confirmCaller(ctx: RouteContext, password: string | undefined, field: string): Promise<void>;
  /**
   * Checks the code of the caller's second factor, if they have one, before they add a way to sign in that needs no second factor.
   *
   * @param code undefined if the body has none
   * @param field the field of the body to name in the error
   * @throws ApiError VALIDATION_ERROR naming the field; RATE_LIMITED after too many attempts
   */
  confirmSecondFactor(ctx: RouteContext, code: string | undefined, field: string): Promise<void>;
  /**
   * Checks the second factor of the caller, if they have one: by a code, or because it was confirmed on the session within the last 10
   * minutes. Call it first in every route whose response contains a credential that outlives the session, such as an API key. Requests of
   * API keys and of portal links are not checked: what they create is limited to what they may do.
   *
   * @param code undefined if the body has none
   * @param field the field of the body with the code. Default `code`
   * @throws ApiError VALIDATION_ERROR naming the field; RATE_LIMITED after too many attempts; RECENT_SIGN_IN_REQUIRED
   */
  confirmNewCredential(
    ctx: Pick<RouteContext, 'user' | 'auth' | 'req'>,
    code: string | undefined,
    field?: string,
  ): Promise<void>;
  /** Changes of the power of accounts. */
  power: AccountPower;
  /**
   * Confirms the caller as `confirmCaller` does and, if the user has one, by their second factor.
   *
   * @param fields the fields of the body to name in errors
   * @throws ApiError VALIDATION_ERROR naming a field; RATE_LIMITED after too many attempts; RECENT_SIGN_IN_REQUIRED
   */
  confirmIdentity(
    ctx: RouteContext,
    given: { password?: string | undefined; code?: string | undefined },
    fields: { password: string; code: string },
  ): Promise<void>;
}
