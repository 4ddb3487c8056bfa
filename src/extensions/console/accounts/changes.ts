import { z } from 'zod';
import { activeUserSql } from '../../../accounts/users/user-state.ts';
import { isAccountActive } from '../../../declare/actor.ts';
import type { StoredRecord } from '../../../declare/host.ts';
import type { RouteContext } from '../../../declare/route.ts';
import type { Transaction } from '../../../declare/service.ts';
import { ApiError, validationError } from '../../../platform/errors.ts';
import { addressOf } from '../../../platform/http/client-address.ts';
import { boundedArraySchema } from '../../../platform/json/bounded-array.ts';
import { quoteIdentifier } from '../../../platform/postgres/identifiers.ts';
import { isStorable } from '../../../platform/postgres/values.ts';
import { withClientInput } from '../data/context.ts';
import { type AccountsTabContext, ADMIN, accountGoneError } from './context.ts';
import { type AccountInfo, toAccountInfo } from './list.ts';
import { secondFactorCode } from './second-factor.ts';

const MAX_ROLES = 100;
const MAX_ROLE = 100;
const roleError = { error: 'Must be a role' };
// The audit trail records the roles before the change is checked, so they must be storable.
const role = z.string(roleError).max(MAX_ROLE, roleError).refine(isStorable, roleError);
const roleList = () => boundedArraySchema(role, { min: 0, max: MAX_ROLES, error: 'Must be a list of roles' });

/** The body of a change of roles. `from`: the roles that the administrator saw, so that no change of another administrator is lost. */
export const rolesBody = z.strictObject({ from: roleList(), to: roleList(), code: secondFactorCode });

// Changes of the roles and the status of users run one after the other: otherwise two administrators could demote each other at the same time.
const LOCK_CHANGES = `select pg_advisory_xact_lock(hashtextextended('console: roles and status of users', 0))`;

const isSame = (a: readonly string[], b: readonly string[]) => a.toSorted().join('\n') === b.toSorted().join('\n');

const rolesOf = ({ roles }: StoredRecord): readonly string[] => (Array.isArray(roles) ? (roles as string[]) : []);

/** @throws ApiError CONFLICT if no other active user has the role `admin` */
async function assertOtherAdmin({ users }: AccountsTabContext, userId: string, tx: Transaction): Promise<void> {
  const text = `
    select 1 from ${quoteIdentifier(users.table)} u
    where u."id" <> $1 and $2 = any(u."roles") and ${activeUserSql(users, 'u')} limit 1`;
  if ((await tx.database.write({ text, values: [userId, ADMIN] })).length > 0) return;
  throw new ApiError(
    'CONFLICT',
    'This is the last active administrator; make another active user an administrator first',
  );
}

const isLastAdminPossible = ({ fields }: AccountsTabContext, user: StoredRecord) =>
  fields.roles?.includes(ADMIN) === true && rolesOf(user).includes(ADMIN) && isAccountActive(user);

/** Runs a change of a user whose row is locked, after all earlier changes of roles and statuses. @throws ApiError NOT_FOUND */
function changeUser<T>(
  { host, users, fields }: AccountsTabContext,
  userId: string,
  change: (
    user: StoredRecord,
    update: (values: Record<string, unknown>) => Promise<void>,
    tx: Transaction,
  ) => Promise<T>,
): Promise<AccountInfo> {
  return host.transaction(async (tx) => {
    await tx.database.write({ text: LOCK_CHANGES, values: [] });
    const locked = await host.accounts!.lockUser(userId, tx.database);
    if (locked === undefined) throw accountGoneError();
    let current = locked.user;
    const update = async (values: Record<string, unknown>) => {
      current = await withClientInput(() => tx.service(users.name).update(userId, values, { as: 'system' }));
    };
    await change(locked.user, update, tx);
    return toAccountInfo(fields, current);
  });
}

/** Handles `POST /users/:id/roles`. Administrators can give roles to themselves, as in the data browser, but not take any away. */
export function changeRoles(context: AccountsTabContext, ctx: RouteContext): Promise<AccountInfo> {
  const { from, to } = ctx.input as z.output<typeof rolesBody>;
  const declared = context.fields.roles;
  if (declared === undefined) throw new ApiError('NOT_FOUND', 'The users of this app have no roles');
  const unknown = to.filter((role) => !declared.includes(role));
  if (unknown.length > 0) throw validationError({ to: `Must be some of: ${declared.join(', ')}` });
  const userId = ctx.params.id!;
  return changeUser(context, userId, async (user, update, tx) => {
    const roles = rolesOf(user);
    if (!isSame(roles, from))
      throw new ApiError('CONFLICT', 'The roles of this user have changed meanwhile; reload the page and try again');
    const lost = roles.filter((role) => !to.includes(role));
    if (ctx.user?.id === userId && lost.length > 0)
      throw new ApiError('CONFLICT', 'You cannot remove your own roles; ask another administrator');
    if (lost.includes(ADMIN) && isLastAdminPossible(context, user)) await assertOtherAdmin(context, userId, tx);
    if (!isSame(roles, to)) await update({ roles: [...new Set(to)] });
  });
}

/** @throws ApiError NOT_FOUND if accounts have no status */
function assertHasStatus({ fields }: AccountsTabContext): void {
  if (!fields.hasStatus) throw new ApiError('NOT_FOUND', 'The accounts of this app cannot be disabled');
}

/** Handles `POST /users/:id/disable`: sessions end as with `belfry admin disable`; keys and webhooks are refused while the account is disabled. */
export function disableAccount(context: AccountsTabContext, ctx: RouteContext): Promise<AccountInfo> {
  assertHasStatus(context);
  const userId = ctx.params.id!;
  if (ctx.user?.id === userId)
    throw new ApiError('CONFLICT', 'You cannot disable your own account; ask another administrator');
  return changeUser(context, userId, async (user, update, tx) => {
    if (!isAccountActive(user)) throw new ApiError('CONFLICT', 'This account is already disabled');
    if (isLastAdminPossible(context, user)) await assertOtherAdmin(context, userId, tx);
    await update({ status: 'disabled' });
    await context.host.accounts!.revoke({ cause: 'logout_all', userIds: [userId], ip: addressOf(ctx.req) }, tx);
  });
}

/** Handles `POST /users/:id/enable`. */
export function enableAccount(context: AccountsTabContext, ctx: RouteContext): Promise<AccountInfo> {
  assertHasStatus(context);
  return changeUser(context, ctx.params.id!, async (user, update) => {
    if (isAccountActive(user)) throw new ApiError('CONFLICT', 'This account is already active');
    await update({ status: 'active' });
  });
}
