import type { CallerTransaction } from './service.ts';

/** Credentials that are revoked together, and the cause. */
export interface Revocation {
  /**
   * - `password_reset`, `password_change`: the user has a new password.
   * - `logout_all`: all sessions of the user end.
   * - `user_deleted`: the user's record is deleted, by any route or job. Restoring the record later does not restore the credentials.
   * - `key_revoked`: only the API keys in `keyIds` end. The other causes do not list individual keys.
   * - `email_change`: the user has proved a new e-mail address. Links that were sent to the previous address end.
   * - `email_change_undone`: the owner of the previous address has undone the change. Every credential that an attacker may have created
   *   ends. Sign-in methods that are older than the change stay: see `since`.
   * - `account_claimed`: the owner of the e-mail address has proved their ownership; another person may have created the account.
   *   Everything that gives access ends: sessions, keys, endpoints, devices, second factors and identities.
   * - `organisation_deleted`: the organisations in `organisationIds` are deleted, with the keys and endpoints that belong to them. It concerns
   *   no users.
   */
  cause:
    | 'password_reset'
    | 'password_change'
    | 'logout_all'
    | 'user_deleted'
    | 'key_revoked'
    | 'email_change'
    | 'email_change_undone'
    | 'account_claimed'
    | 'organisation_deleted';
  /** The owners of the credentials. */
  userIds: readonly string[];
  /** With `organisation_deleted`: the ids of the organisations. */
  organisationIds?: readonly string[] | undefined;
  /** The id of the session that is kept, because it made the change. */
  exceptSession?: string | undefined;
  /** With `logout_all`: whether the user also asked to disable their webhook endpoints. */
  disableWebhooks?: boolean | undefined;
  /** With `key_revoked`: the ids of the keys. */
  keyIds?: readonly string[] | undefined;
  /**
   * With `password_reset`: whether the reset is the first proof that the user owns the e-mail address. Then identities and passkeys end as
   * well: a person who registered the address of another person may have added them.
   */
  firstProof?: boolean | undefined;
  /** With `email_change_undone`: when the address was changed, ISO 8601. Sign-in methods that were added since then end. */
  since?: string | undefined;
  /** The client's address; undefined if no request caused the revocation. */
  ip?: string | undefined;
}

/**
 * Revokes the credentials of one feature: sessions, keys, endpoints or links. It runs in the transaction of the change that causes the
 * revocation, while the rows of the users are locked, so the change and the revocation are committed together or not at all. A step ignores
 * causes that do not concern its feature, and locks its own rows in id order.
 */
export type RevocationStep = (revocation: Revocation, tx: CallerTransaction) => Promise<void>;
