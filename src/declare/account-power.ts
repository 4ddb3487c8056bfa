import type { Executor } from '../platform/data/postgres/queryable.ts';
import type { Viewer } from './actor.ts';
import type { StoredRecord } from './host.ts';
import type { RouteContext } from './route.ts';
import type { CallerTransaction } from './service.ts';

/** A second factor that users can turn on. A sign-in of a user who has it asks for it: see `SignInStep`. */
export interface SecondFactor {
  /**
   * Whether users prove it by a code, which the `confirmStep` of the extension checks. Every confirmation of their password then asks for it,
   * too.
   */
  hasCodes: boolean;
  /** Returns when the user turned the factor on, ISO 8601; undefined if the user does not have it. */
  since(userId: string): Promise<string | undefined>;
  /** For a factor without codes: whether a user has confirmed it on a session within `minutes`, apart from the sign-in. */
  isConfirmed?(userId: string, sessionId: string, minutes: number): Promise<boolean>;
}

/** A change of the e-mail address of a user that was not confirmed by the link or code of an e-mail. */
interface EmailChange {
  /** The user before the change. */
  user: StoredRecord;
  /** The client's address; undefined if no request caused the change. */
  ip: string | undefined;
}

/** Informs the previous address of a user about a change, in the transaction of the change. */
export type EmailChangeStep = (change: EmailChange, tx: CallerTransaction) => Promise<void>;

/** What an administrator does to an account. */
export interface AccountChange {
  /** The new values; undefined: the account is deleted. */
  values: Readonly<Record<string, unknown>> | undefined;
}

/**
 * What changes the power of accounts: their roles, status, e-mail address, second factors and deletion. The routes of records apply the same
 * rules to requests of users by themselves; doors of their own call `confirm` and then `change`.
 */
export interface AccountPower {
  /**
   * Whether an account is privileged: it has the role `admin`, may set the roles of users, or meets the policy of a feature for
   * administrators, such as the console. Whether it is active does not matter.
   */
  isPrivileged(user: Viewer): Promise<boolean>;
  /**
   * Confirms that the caller may administer an account, before `change`. It needs a session with a recent sign-in; a code, if the caller has a
   * second factor with codes; and a second factor of the caller, if the account is a privileged one of another user and the app offers second
   * factors. A second factor without codes must have been confirmed on the session then.
   * Without a caller, in the console of a development machine, nothing is checked.
   *
   * @param target undefined: the action is about no account, or about a new one
   * @param code undefined if the body has none. Errors name the field `code`
   * @throws ApiError FORBIDDEN; RECENT_SIGN_IN_REQUIRED; VALIDATION_ERROR naming `code`; RATE_LIMITED after too many attempts
   */
  confirm(ctx: RouteContext, target: StoredRecord | undefined, code: string | undefined): Promise<void>;
  /**
   * Checks that the caller has a second factor if the account needs one, as `confirm` does, but asks for no code.
   *
   * @throws ApiError FORBIDDEN; RECENT_SIGN_IN_REQUIRED
   */
  assertMayTouch(ctx: Pick<RouteContext, 'user' | 'auth'>, target: StoredRecord): Promise<void>;
  /** Whether a change of an account raises its power: a privileged account gains roles or becomes active, or an account becomes privileged. */
  raisesPower(before: StoredRecord | undefined, after: Viewer): Promise<boolean>;
  /**
   * Changes or deletes an account with system privilege, after all earlier changes of this kind. A disabled account is signed out
   * everywhere. If the address changes, the previous address gets an e-mail.
   *
   * @param decide gets the account, whose row is locked; it may throw
   * @param versions the versions that the record must have; left out: any
   * @returns the account after the change; of a deletion, before it
   * @throws ApiError NOT_FOUND; CONFLICT if no active administrator would be left
   */
  change(
    ctx: Pick<RouteContext, 'user' | 'auth' | 'req'>,
    userId: string,
    decide: (user: StoredRecord) => AccountChange,
    versions?: '*' | readonly string[],
  ): Promise<StoredRecord>;
  /** Delays other changes of the power of accounts until the caller's transaction ends. Call it before any row is locked. */
  lock(tx: Executor): Promise<void>;
  /**
   * Checks that an active administrator is left without this user. Needs `lock`.
   *
   * @param message of the error; left out: one that says what to do
   * @throws ApiError CONFLICT
   */
  assertNotLastAdministrator(user: StoredRecord, tx: Executor, message?: string): Promise<void>;
}
