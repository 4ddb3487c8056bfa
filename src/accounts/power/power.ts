import type { AccountPower, EmailChangeStep } from '../../declare/account-power.ts';
import type { Accounts, ConfirmStep } from '../../declare/accounts.ts';
import { isAccountActive, type Viewer } from '../../declare/actor.ts';
import type { Fields } from '../../declare/field.ts';
import type { Host, ResourceGateway, StoredRecord } from '../../declare/host.ts';
import type { RouteContext } from '../../declare/route.ts';
import type { CallerTransaction } from '../../declare/service.ts';
import type { Executor } from '../../platform/data/postgres/database.ts';
import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { addressOf } from '../../platform/http/client-address.ts';
import { activeUserSql } from '../users/user-state.ts';
import { ADMIN, type IsPrivileged } from './privilege.ts';
import type { SecondFactors } from './second-factors.ts';

// Changes of the power of accounts run one after the other: otherwise two administrators could demote each other at the same time.
const LOCK = `select pg_advisory_xact_lock(hashtextextended('accounts: power', 0))`;

const LAST_ADMINISTRATOR = 'This is the last active administrator; make another active user an administrator first';

/** The roles of a user or of values of a user. */
const rolesOf = ({ roles }: Readonly<Record<string, unknown>>): readonly string[] =>
  Array.isArray(roles) ? (roles as string[]) : [];

/** Whether a user counts as an active administrator. */
export const isActiveAdministrator = (user: Readonly<Record<string, unknown>>): boolean =>
  rolesOf(user).includes(ADMIN) && isAccountActive(user);

/** What the changes of the power of accounts need. */
export interface AccountPowerDependencies extends Pick<Accounts, 'revoke' | 'assertRecentSignIn'> {
  host: Host;
  users: ResourceGateway;
  lockUser(userId: string, tx: Executor): Promise<{ user: StoredRecord } | undefined>;
  factors: SecondFactors;
  isPrivileged: IsPrivileged;
  /** Complete only after all features are set up, as the next one. */
  confirmStep(): ConfirmStep | undefined;
  emailChangeStep(): EmailChangeStep | undefined;
}

/** What follows the change of a user's address that was not confirmed by e-mail. */
export type AfterEmailChange = (
  change: { before: StoredRecord; after: StoredRecord },
  caller: { by: string | null; ip: string | undefined; exceptSession: string | undefined },
  tx: CallerTransaction,
) => Promise<void>;

/** Ends the links that were sent to the former address and the other sessions, and tells the former address. */
export function createAfterEmailChange({
  host,
  revoke,
  emailChangeStep,
}: Pick<AccountPowerDependencies, 'host' | 'revoke' | 'emailChangeStep'>): AfterEmailChange {
  return async ({ before, after }, { by, ip, exceptSession }, tx) => {
    await revoke({ cause: 'email_change', userIds: [before.id], exceptSession, ip }, tx);
    await emailChangeStep()?.({ user: before, ip }, tx);
    const payload = { user: after, ip, undone: false, ...(by !== before.id && { by }) };
    tx.afterCommit(() => host.events.emit('auth.email_changed', payload));
  };
}

/** Creates the check that an active administrator is left. */
function createLastAdministratorCheck(users: ResourceGateway): AccountPower['assertNotLastAdministrator'] {
  const roles: unknown = (users.declaration.fields as Fields).roles?.spec.inner?.spec.values;
  const hasAdministrators = Array.isArray(roles) && roles.includes(ADMIN);
  const findOther = `
    select 1 from ${quoteIdentifier(users.table)} u
    where u."id" <> $1 and $2 = any(u."roles") and ${activeUserSql(users, 'u')} limit 1`;
  return async (user, tx, message = LAST_ADMINISTRATOR) => {
    if (!hasAdministrators || !isActiveAdministrator(user)) return;
    if ((await tx.write({ text: findOther, values: [user.id, ADMIN] })).length === 0)
      throw new ApiError('CONFLICT', message);
  };
}

/** Creates the functions that give and take rights of accounts, and confirm that the caller may. `AccountPower` describes each. */
export function createAccountPower(dependencies: AccountPowerDependencies): AccountPower {
  const { host, users, revoke, assertRecentSignIn, lockUser, factors, isPrivileged, confirmStep } = dependencies;
  const recentMinutes = host.settings.auth.recentSignIn / 60_000;
  const afterEmailChange = createAfterEmailChange(dependencies);
  const assertNotLastAdministrator = createLastAdministratorCheck(users);
  const isPrivilegedNow = (user: Viewer) => isPrivileged(user, host.service);

  const assertMayTouch: AccountPower['assertMayTouch'] = async ({ user: caller, auth }, target) => {
    if (caller === undefined || target.id === caller.id || !factors.areOffered()) return;
    if (!(await isPrivilegedNow(target))) return;
    const own = await factors.of(caller.id);
    // A code is checked by `confirm`.
    if (own.some(({ hasCodes }) => hasCodes)) return;
    if (own.length > 0) return factors.assertConfirmed({ user: caller, auth }, recentMinutes);
    throw new ApiError(
      'FORBIDDEN',
      'This user is an administrator. Turn on two-factor login for your own account first, and confirm this with a code',
    );
  };

  async function afterChange(
    { user: caller, auth, req }: Pick<RouteContext, 'user' | 'auth' | 'req'>,
    { before, after }: { before: StoredRecord; after: StoredRecord },
    tx: CallerTransaction,
  ): Promise<void> {
    const ip = addressOf(req);
    if (isAccountActive(before) && !isAccountActive(after))
      await revoke({ cause: 'logout_all', userIds: [before.id], ip }, tx);
    if (after.email === before.email) return;
    const exceptSession = caller?.id === before.id ? auth?.id : undefined;
    await afterEmailChange({ before, after }, { by: caller?.id ?? null, ip, exceptSession }, tx);
  }

  return {
    isPrivileged: isPrivilegedNow,
    assertMayTouch,
    raisesPower: (before, after) => raisesPower(isPrivilegedNow, before, after),
    async confirm(ctx, target, code) {
      if (ctx.user === undefined) return;
      if (ctx.auth?.via !== 'session')
        throw new ApiError('FORBIDDEN', 'Only a session can do this; an API key cannot be used here');
      await assertRecentSignIn(ctx);
      if (target !== undefined) await assertMayTouch(ctx, target);
      await confirmStep()?.(ctx, code, 'code');
    },
    change: (ctx, userId, decide, versions) =>
      host.transaction(async (tx) => {
        await tx.database.write({ text: LOCK, values: [] });
        const locked = await lockUser(userId, tx.database);
        if (locked === undefined) throw new ApiError('NOT_FOUND', 'There is no such account; it may have been deleted');
        const before = locked.user;
        const { values } = decide(before);
        if (values === undefined || !isActiveAdministrator({ ...before, ...values }))
          await assertNotLastAdministrator(before, tx.database);
        const as = { as: 'system', versions } as const;
        if (values === undefined) {
          await tx.service(users.name).delete(userId, as);
          return before;
        }
        if (Object.keys(values).length === 0) return before;
        const after = (await tx.service(users.name).update(userId, values, as)) as StoredRecord;
        await afterChange(ctx, { before, after }, tx);
        return after;
      }),
    async lock(tx) {
      await tx.write({ text: LOCK, values: [] });
    },
    assertNotLastAdministrator,
  };
}

/** Whether a change raises the power of an account. See `AccountPower`. */
export async function raisesPower(
  isPrivileged: (user: Viewer) => Promise<boolean>,
  before: StoredRecord | undefined,
  after: Viewer,
): Promise<boolean> {
  if (!(await isPrivileged(after))) return false;
  if (before === undefined || (!isAccountActive(before) && isAccountActive(after))) return true;
  if (rolesOf(after).some((role) => !rolesOf(before).includes(role))) return true;
  return !(await isPrivileged(before as Viewer));
}
