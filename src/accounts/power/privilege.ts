import type { Fields } from '../../declare/field.ts';
import type { ResourceGateway } from '../../declare/host.ts';
import { type CompiledPolicy, compilePolicy, type Policy, type Viewer } from '../../declare/policy.ts';
import type { Services } from '../../declare/service.ts';
import { allowsAction } from '../../rules/allows-action.ts';

/** The role of administrators. The last active user who has it keeps it. */
export const ADMIN = 'admin';

/** Tells whether an account is privileged. */
export type IsPrivileged = (user: Viewer, service: Services) => Promise<boolean>;

/** Compiles a policy, unless it is compiled already. */
export function toCompiledPolicy(policy: Policy | CompiledPolicy): CompiledPolicy {
  const isCompiled = typeof policy === 'object' && !Array.isArray(policy);
  return isCompiled ? (policy as CompiledPolicy) : compilePolicy(policy as Policy, () => undefined);
}

/** Whether a policy allows chosen users only. A policy that every user meets makes nobody privileged. */
function choosesUsers({ public: isPublic, authenticated, verified, owner }: CompiledPolicy): boolean {
  return !isPublic && !authenticated && !verified && !owner;
}

/**
 * Creates the only definition of privileged accounts: those with the role `admin`, those that may set the roles of users, and those that meet
 * a policy of a feature for administrators, such as the one of the console. Whether the account is active does not matter.
 *
 * @param policies returns the policies of features; complete only after all features are set up
 */
export function createPrivilegeCheck(
  { declaration }: ResourceGateway,
  policies: () => readonly CompiledPolicy[],
): IsPrivileged {
  const writableBy = (declaration.fields as Fields).roles?.spec.writableBy;
  const writers = writableBy === undefined ? [] : [compilePolicy(writableBy, () => undefined)];
  return async (user, service) => {
    if (user.roles?.includes(ADMIN)) return true;
    const args = { user, action: 'privileged', doc: undefined, req: undefined, service };
    for (const policy of [...writers, ...policies()].filter(choosesUsers))
      if (await allowsAction(policy, args, false, () => undefined)) return true;
    return false;
  };
}
