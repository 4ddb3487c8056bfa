import type { Accounts } from '../declare/accounts.ts';
import { getOrganisationRole } from '../declare/actor.ts';
import type { Host, ResourceGateway } from '../declare/host.ts';
import type { RevocationStep } from '../declare/revocation.ts';
import { quoteIdentifier } from '../platform/data/postgres/identifiers.ts';
import { ApiError, invalidSessionError } from '../platform/helpers/errors.ts';
import type { Entity } from '../records/store/entity.ts';
import { getAuthenticator, getCredentialWatch } from '../rules/credential.ts';
import { isPasswordHash, storedHashSql } from './passwords/password-hash.ts';
import { createProof } from './sign-in/finish-login.ts';
import { activeUserSql } from './users/user-state.ts';

type ProofRow = [passwordHash: string, ...columns: unknown[]];

/** Creates the functions that read a user with the proof of their password, with a lock and without. See `Accounts`. */
export function createUserReaders(
  { database }: Pick<Host, 'database'>,
  users: ResourceGateway,
  { resource }: Entity,
): Pick<Accounts, 'lockUser' | 'findUserWithProof'> {
  const hash = storedHashSql(resource.field.get('password')!.column);
  const text = `select ${hash}, ${users.columns('u')} from ${quoteIdentifier(users.table)} u where u."id" = $1`;
  const lockText = `${text} for no key update`;
  const toUser = (row: ProofRow | undefined) => {
    if (row === undefined) return undefined;
    const [passwordHash, ...columns] = row;
    const hasPassword = isPasswordHash(passwordHash);
    return { user: users.fromRow(columns), hasPassword, proof: createProof(passwordHash) };
  };
  return {
    async lockUser(userId, tx) {
      const [row] = await tx.write<ProofRow>({ text: lockText, values: [userId] });
      return toUser(row);
    },
    async findUserWithProof(userId, tx) {
      const statement = { name: 'user_with_proof', text, values: [userId] };
      const [row] = await (tx === undefined ? database.read<ProofRow>(statement) : tx.write<ProofRow>(statement));
      return toUser(row);
    },
  };
}

/** Creates the check that the caller has signed in recently. See `Accounts`. */
export function createRecentSignInCheck({ auth: { recentSignIn } }: Host['settings']): Accounts['assertRecentSignIn'] {
  return async ({ auth }) => {
    const isRecent = await getAuthenticator(auth)?.isSignInRecent?.(auth!.id, recentSignIn / 60_000);
    if (isRecent !== true) throw new ApiError('RECENT_SIGN_IN_REQUIRED');
  };
}

const LOCK_ADDRESSES = `
  select pg_advisory_xact_lock(key) from (
    select distinct hashtextextended('account_address:' || email, 0) as key from unnest($1::text[]) email order by key offset 0
  ) addresses`;

/** Creates the function that locks addresses and users in the order of all transactions. See `Accounts`. */
export function createAccountLocks(users: ResourceGateway): Accounts['lockInOrder'] {
  const lockUsers = `select from ${quoteIdentifier(users.table)} where "id" = any($1) order by "id" for no key update`;
  return async ({ emails = [], userIds = [] }, tx) => {
    if (emails.length > 0) await tx.write({ text: LOCK_ADDRESSES, values: [emails] });
    if (userIds.length > 0) await tx.write({ text: lockUsers, values: [userIds] });
  };
}

/**
 * Creates the only function that revokes credentials and the only one that protects a new credential from a concurrent
 * revocation. See `Accounts`.
 *
 * @param organisations the resource of organisations, which have credentials of their own; undefined in an app without them
 * @param steps returns the revocation steps of accounts and extensions; complete only after all features are set up
 */
export function createRevocation(
  users: ResourceGateway,
  organisations: ResourceGateway | undefined,
  lockInOrder: Accounts['lockInOrder'],
  steps: () => readonly RevocationStep[],
): Pick<Accounts, 'revoke' | 'holdCredential'> {
  const lockOrganisation =
    organisations && `select 1 from ${quoteIdentifier(organisations.table)} where "id" = $1 for no key update`;
  const lockActive = `select 1 from ${quoteIdentifier(users.table)} u where u."id" = $1 and ${activeUserSql(users, 'u')} for no key update`;

  return {
    async revoke(revocation, tx) {
      // `holdCredential` takes the same lock: a new credential is either stored already and revoked here, or its creation fails.
      await lockInOrder({ userIds: revocation.userIds }, tx.database);
      for (const step of steps()) await step(revocation, tx);
    },
    async holdCredential({ user, auth }, tx) {
      const text = (getOrganisationRole(user) !== undefined && lockOrganisation) || lockActive;
      const locked = await tx.write({ text, values: [user?.id] });
      if (locked.length === 0) throw invalidSessionError();
      // While the lock is held, every earlier revocation is committed and visible to the next statement.
      const watch = getCredentialWatch(auth);
      if (watch !== undefined && (await watch.ended([auth!.id], tx)).length > 0) throw invalidSessionError();
    },
  };
}
