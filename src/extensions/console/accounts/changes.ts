import { z } from 'zod';
import {
  type AccountChange,
  ApiError,
  boundedArraySchema,
  isAccountActive,
  isStorable,
  type RouteContext,
  type StoredRecord,
  validationError,
} from '../../../extension/index.ts';
import { secondFactorCode } from '../access/second-factor.ts';
import { withClientInput } from '../data/context.ts';
import { type AccountsTabContext, loadAccount } from './context.ts';
import { toAccountInfo } from './list.ts';
import type { AccountInfo } from './responses.ts';

const MAX_ROLES = 100;
const MAX_ROLE = 100;
const MAX_EMAIL = 320;
const roleError = { error: 'Must be a role' };
// The audit trail records the roles before the change is checked, so they must be storable.
const role = z.string(roleError).max(MAX_ROLE, roleError).refine(isStorable, roleError);
const roleList = () => boundedArraySchema(role, { min: 0, max: MAX_ROLES, error: 'Must be a list of roles' });

/** The body of a change of roles. `from`: the roles that the administrator saw, so that no change of another administrator is lost. */
export const rolesBody = z.strictObject({ from: roleList(), to: roleList(), code: secondFactorCode });

/** The optional body of a change of the status. */
export const statusBody = z.strictObject({ code: secondFactorCode });

/** The body of a change of the e-mail address. */
export const emailBody = z.strictObject({
  email: z
    .string({ error: (issue) => (issue.input === undefined ? 'Is required' : 'Must be a string') })
    .max(MAX_EMAIL, { error: `Must be at most ${MAX_EMAIL} characters` }),
  code: secondFactorCode,
});

const isSame = (a: readonly string[], b: readonly string[]) => a.toSorted().join('\n') === b.toSorted().join('\n');

const rolesOf = ({ roles }: StoredRecord): readonly string[] => (Array.isArray(roles) ? (roles as string[]) : []);

/** Confirms a change of an account, before it is recorded. @throws ApiError NOT_FOUND, and those of `AccountPower.confirm` */
export async function confirmChange(context: AccountsTabContext, ctx: RouteContext): Promise<void> {
  const target = await loadAccount(context, ctx.params.id!);
  await context.host.accounts!.power.confirm(ctx, target, ctx.input.code);
}

/**
 * Confirms a change of roles, if it raises the power of the account, or if the account is a privileged one of another user.
 *
 * @throws ApiError as `confirmChange`
 */
export async function confirmRoles(context: AccountsTabContext, ctx: RouteContext): Promise<void> {
  const { power } = context.host.accounts!;
  const target = await loadAccount(context, ctx.params.id!);
  const { from, to } = ctx.input as z.output<typeof rolesBody>;
  const isOther = ctx.user?.id !== target.id && (await power.isPrivileged(target));
  if (isOther || (await power.raisesPower({ ...target, roles: from }, { ...target, roles: to })))
    await power.confirm(ctx, target, ctx.input.code);
}

/** Changes the account that the path names. */
async function changeAccount(
  { host, fields }: AccountsTabContext,
  ctx: RouteContext,
  decide: (user: StoredRecord) => AccountChange['values'],
): Promise<AccountInfo> {
  const { power } = host.accounts!;
  const changed = await withClientInput(() => power.change(ctx, ctx.params.id!, (user) => ({ values: decide(user) })));
  return toAccountInfo(fields, changed);
}

/** Handles `POST /users/:id/roles`. Administrators can give roles to themselves but not take any away. */
export async function changeRoles(context: AccountsTabContext, ctx: RouteContext): Promise<AccountInfo> {
  const { from, to } = ctx.input as z.output<typeof rolesBody>;
  const declared = context.fields.roles;
  if (declared === undefined) throw new ApiError('NOT_FOUND', 'The users of this app have no roles');
  const unknown = to.filter((role) => !declared.includes(role));
  if (unknown.length > 0) throw validationError({ to: `Must be some of: ${declared.join(', ')}` });
  return changeAccount(context, ctx, (user) => {
    const roles = rolesOf(user);
    if (!isSame(roles, from))
      throw new ApiError('CONFLICT', 'The roles of this user have changed meanwhile; reload the page and try again');
    if (ctx.user?.id === user.id && roles.some((role) => !to.includes(role)))
      throw new ApiError('CONFLICT', 'You cannot remove your own roles; ask another administrator');
    return isSame(roles, to) ? {} : { roles: [...new Set(to)] };
  });
}

/** Handles `POST /users/:id/email`: links to the former address end, and it gets an e-mail. The new address is not verified. */
export async function changeEmail(context: AccountsTabContext, ctx: RouteContext): Promise<AccountInfo> {
  const email = (ctx.input as z.output<typeof emailBody>).email.trim().toLowerCase();
  if (ctx.user?.id === ctx.params.id)
    throw new ApiError('CONFLICT', 'Change your own e-mail address on your account page, or ask another administrator');
  return changeAccount(context, ctx, (user) => {
    if (user.email === email) throw validationError({ email: 'Is already the e-mail address of this user' });
    return { email };
  });
}

/** @throws ApiError NOT_FOUND if accounts have no status */
function assertHasStatus({ fields }: AccountsTabContext): void {
  if (!fields.hasStatus) throw new ApiError('NOT_FOUND', 'The accounts of this app cannot be disabled');
}

/** Handles `POST /users/:id/disable`: sessions end as with `belfry admin disable`; keys and webhooks are refused while the account is disabled. */
export async function disableAccount(context: AccountsTabContext, ctx: RouteContext): Promise<AccountInfo> {
  assertHasStatus(context);
  if (ctx.user?.id === ctx.params.id)
    throw new ApiError('CONFLICT', 'You cannot disable your own account; ask another administrator');
  return changeAccount(context, ctx, (user) => {
    if (!isAccountActive(user)) throw new ApiError('CONFLICT', 'This account is already disabled');
    return { status: 'disabled' };
  });
}

/** Handles `POST /users/:id/enable`. */
export async function enableAccount(context: AccountsTabContext, ctx: RouteContext): Promise<AccountInfo> {
  assertHasStatus(context);
  return changeAccount(context, ctx, (user) => {
    if (isAccountActive(user)) throw new ApiError('CONFLICT', 'This account is already active');
    return { status: 'active' };
  });
}
