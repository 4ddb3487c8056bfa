import type { Accounts, RevocationStep } from '../declare/accounts.ts';
import { watchOf } from '../declare/authenticator.ts';
import type { ResourceGateway } from '../declare/host.ts';
import { invalidSession } from '../platform/errors.ts';
import { quoteIdentifier } from '../platform/postgres/identifiers.ts';
import { activeUserSql } from './users/active-user.ts';

/**
 * Creates the only function that revokes credentials and the only one that protects a new credential from a concurrent
 * revocation. See `Accounts`.
 *
 * @param steps returns the steps of accounts and extensions; complete only after all features are set up
 */
export function createRevocation(
  users: ResourceGateway,
  steps: () => readonly RevocationStep[],
): Pick<Accounts, 'revoke' | 'holdCredential'> {
  const table = quoteIdentifier(users.table);
  const lock = `select from ${table} where "id" = any($1) order by "id" for no key update`;
  const lockActive = `select 1 from ${table} u where u."id" = $1 and ${activeUserSql(users, 'u')} for no key update`;

  return {
    async revoke(revocation, tx) {
      // `holdCredential` takes the same lock: a new credential is either stored already and revoked here, or its creation fails.
      await tx.database.write({ text: lock, values: [revocation.userIds] });
      for (const step of steps()) await step(revocation, tx);
    },
    async holdCredential({ user, auth }, tx) {
      const locked = await tx.write({ text: lockActive, values: [user?.id] });
      if (locked.length === 0) throw invalidSession();
      // `ended` reads on another connection. While the lock is held, every earlier revocation is committed and visible there.
      const watch = watchOf(auth);
      if (watch !== undefined && (await watch.ended([auth!.id])).length > 0) throw invalidSession();
    },
  };
}
