import type { Accounts } from '../../declare/accounts.ts';
import { isEmailVerified } from '../../declare/actor.ts';
import type { Host } from '../../declare/host.ts';
import type { AnyResource } from '../../declare/resource.ts';
import { addressOf } from '../../platform/http/client-address.ts';
import { declaredUserRoles } from '../../records/configuration/roles.ts';
import { f } from '../../records/fields/f.ts';
import type { DerivedChanges } from '../../records/operations/context.ts';
import { createNoPassword } from '../passwords/password-hash.ts';
import type { Users } from './users.ts';

/**
 * Returns the fields that extensions add to the user resource if they find out that users own their e-mail addresses. Pass it as the
 * `userFields` of an extension. Policies can then use the word `verified`.
 *
 * @example defineExtension({ name: 'sms-codes', userFields: verifiedEmailFields, setup })
 */
export function verifiedEmailFields(user: AnyResource) {
  const roles = declaredUserRoles([user]);
  const viewers = roles?.includes('admin') ? 'owner | admin' : 'owner';
  const emailVerifiedAt = f
    .date()
    .readOnly()
    .visibleTo(viewers)
    .filterable()
    .describe('When the user proved that they own the e-mail address; not set if they have not');
  return { emailVerifiedAt };
}

/** The fields that `verifiedEmailFields` returns. */
export type VerifiedEmailFields = ReturnType<typeof verifiedEmailFields>;

/** A new address of a user is not verified, unless the same change says so. */
export const VERIFICATION_OF_ADDRESS: DerivedChanges = {
  field: 'email',
  derive: (changes, before) =>
    changes.email === before.email || 'emailVerifiedAt' in changes ? changes : { ...changes, emailVerifiedAt: null },
};

/** Creates the function that records that a user owns their address. See `Accounts`. */
export function createVerifyEmail(
  { host, users, revoke }: { host: Host; users: Users } & Pick<Accounts, 'revoke'>,
  lockUser: Accounts['lockUser'],
): Accounts['verifyEmail'] {
  return async (userId, email, tx, { claim, request, by }) => {
    const locked = await lockUser(userId, tx.database);
    if (locked === undefined || locked.user.email !== email.trim().toLowerCase()) return false;
    if (isEmailVerified(locked.user)) return true;
    const ip = addressOf(request);
    if (claim) {
      await users.overwritePasswordHash(userId, createNoPassword(), tx.database);
      await revoke({ cause: 'account_claimed', userIds: [userId], ip }, tx);
    }
    const changes = { emailVerifiedAt: new Date().toISOString() };
    const user = await tx.service('user').update(userId, changes, { as: 'system' });
    tx.afterCommit(() => host.events.emit('auth.email_verified', { user, ip, claimed: claim, by }));
    return true;
  };
}
