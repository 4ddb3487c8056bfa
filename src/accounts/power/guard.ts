import { isDeepStrictEqual } from 'node:util';
import type { AccountPower } from '../../declare/account-power.ts';
import type { Viewer } from '../../declare/actor.ts';
import type { Host, StoredRecord } from '../../declare/host.ts';
import { addressOf } from '../../platform/http/client-address.ts';
import { identityOfOperation } from '../../records/access/operation-context.ts';
import type { ChangeGuard, GuardedChange } from '../../records/writes/guard.ts';
import { getAuth } from '../../rules/credential.ts';
import { type AfterEmailChange, isActiveAdministrator, raisesPower } from './power.ts';
import type { IsPrivileged } from './privilege.ts';
import type { SecondFactors } from './second-factors.ts';

/** The fields of a user that decide what the account can do, and who can sign in to it. */
const POWER_FIELDS = ['roles', 'status', 'email', 'emailVerifiedAt'];

interface PowerGuardDependencies {
  host: Pick<Host, 'settings' | 'events'>;
  power: Pick<AccountPower, 'lock' | 'assertNotLastAdministrator'>;
  factors: Pick<SecondFactors, 'assertConfirmed'>;
  isPrivileged: IsPrivileged;
  afterEmailChange: AfterEmailChange;
}

const isUnchanged = ({ before, after }: GuardedChange) =>
  before !== undefined &&
  after !== undefined &&
  POWER_FIELDS.every((name) => isDeepStrictEqual(before[name] ?? null, after[name] ?? null));

/** Describes a change without personal values. */
function describeChange(before: StoredRecord, after: GuardedChange['after']) {
  if (after === undefined) return { deleted: true };
  const changed = POWER_FIELDS.filter((name) => !isDeepStrictEqual(before[name] ?? null, after[name] ?? null));
  const isOpen = (name: string) => name === 'roles' || name === 'status';
  const values = changed.filter(isOpen).map((name) => [name, { from: before[name] ?? null, to: after[name] ?? null }]);
  return { fields: changed, ...Object.fromEntries(values) };
}

/**
 * Creates the rules for changes of users by the routes of records, and by code that acts for a user: an active administrator is left; and a
 * caller with a second factor has confirmed it on the session recently, if the change raises the power of an account or concerns a privileged
 * account of another user.
 */
export function createPowerGuard(dependencies: PowerGuardDependencies): ChangeGuard {
  const { host, power, factors, isPrivileged, afterEmailChange } = dependencies;
  return {
    errors: ['CONFLICT', 'FORBIDDEN', 'RECENT_SIGN_IN_REQUIRED'],
    fields: new Set(POWER_FIELDS),
    lock: power.lock,
    async check(change, operation, tx) {
      if (isUnchanged(change)) return;
      const { before, after } = change;
      const { user, req, service } = operation;
      const isPrivilegedNow = (account: Viewer) => isPrivileged(account, service);
      if (before !== undefined && tx !== undefined && (after === undefined || !isActiveAdministrator(after)))
        await power.assertNotLastAdministrator(before, tx.database);
      // Code that acts for a user outside of their request has no session that could confirm anything.
      const isOwnRequest = user !== undefined && req !== undefined && identityOfOperation(operation) !== undefined;
      if (isOwnRequest) {
        const isSensitive =
          (before !== undefined && before.id !== user.id && (await isPrivilegedNow(before))) ||
          (after !== undefined && (await raisesPower(isPrivilegedNow, before, after as Viewer)));
        if (isSensitive)
          await factors.assertConfirmed({ user, auth: getAuth(req) }, host.settings.auth.recentSignIn / 60_000);
      }
      if (tx === undefined || before === undefined) return;
      const by = user?.id ?? null;
      const ip = req && addressOf(req);
      const payload = { userId: before.id, by, ip, ...describeChange(before, after) };
      tx.afterCommit(() => host.events.emit('security.account_changed', payload));
      if (after === undefined || after.email === before.email) return;
      const exceptSession = isOwnRequest && user.id === before.id ? getAuth(req)?.id : undefined;
      await afterEmailChange({ before, after: after as StoredRecord }, { by, ip, exceptSession }, tx);
    },
  };
}
