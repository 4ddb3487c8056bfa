import { describePolicyFunction } from '../../../declare/policy.ts';
import {
  type ConfigErrors,
  Field,
  type Fields,
  getOrganisationRole,
  type Policy,
  type PolicyFunction,
  suggestKnownNames,
} from '../../../extension/index.ts';
import type { OrganisationRoles } from './settings.ts';

/** A policy word that means a role in the organisation of the record. */
const ROLE_WORD = /^org:(.*)$/;

/** A policy, split into the roles in the record's organisation that it names, and everything else. */
interface SplitPolicy {
  roles: string[];
  rest: (string | PolicyFunction)[];
}

/**
 * Splits a policy. Reports unknown roles, and returns them like others: no member has them. Malformed policies stay as they are, because a later
 * check reports them.
 */
export function splitPolicy(policy: Policy, roles: Pick<OrganisationRoles, 'all'>, errors: ConfigErrors): SplitPolicy {
  const split: SplitPolicy = { roles: [], rest: [] };
  for (const part of (Array.isArray(policy) ? policy : [policy]) as readonly (string | PolicyFunction)[]) {
    if (typeof part !== 'string') {
      split.rest.push(part);
      continue;
    }
    for (const word of part.split('|')) {
      const role = ROLE_WORD.exec(word.trim())?.[1];
      if (role === undefined) {
        split.rest.push(word);
        continue;
      }
      split.roles.push(role);
      if (!roles.all.includes(role))
        errors.report(`"org:${role}" is not a role of organisations${suggestKnownNames(role, 'roles', roles.all)}`);
    }
  }
  return split;
}

/**
 * Creates the policy function of a role in the organisation of a record.
 *
 * @param field the record's reference to its organisation; undefined for organisations themselves
 */
export function createRolePolicy(
  role: string,
  field: string | undefined,
  roles: Pick<OrganisationRoles, 'including'>,
): PolicyFunction {
  const path = field === undefined ? 'members' : `${field}.members`;
  const allowed = roles.including(role);
  return describePolicyFunction(({ user }) => {
    const own = getOrganisationRole(user);
    if (own !== undefined) return allowed.includes(own) && { [field ?? 'id']: user!.id };
    return user !== undefined && { [`${path}.user`]: user.id, [`${path}.role`]: { in: allowed } };
  }, `org:${role}`);
}

/** Like `createRolePolicy`, for the rules of a field. The creator of an organisation becomes its owner, and has every role. */
function createRoleRule(
  role: string,
  field: string | undefined,
  roles: Pick<OrganisationRoles, 'including'>,
): PolicyFunction {
  const policy = createRolePolicy(role, field, roles);
  if (field !== undefined) return policy;
  return describePolicyFunction(
    (args) => (args.action === 'create' ? args.user !== undefined : policy(args)),
    `org:${role}`,
  );
}

/**
 * Returns the fields with the words `org:<role>` in `visibleTo` and `writableBy` replaced by functions that look up the role.
 *
 * @param field the field that holds the organisation; undefined for organisations themselves
 */
export function withRoleRules(
  fields: Fields,
  field: string | undefined,
  roles: OrganisationRoles,
  errors: ConfigErrors,
): Fields {
  const convert = ([name, one]: [string, Fields[string]]): [string, Fields[string]] => {
    if (!(one instanceof Field)) return [name, one];
    const rules = (['visibleTo', 'writableBy'] as const).flatMap((rule) => {
      const policy = one.spec[rule];
      if (policy === undefined) return [];
      const { roles: named, rest } = splitPolicy(policy, roles, errors.at(`field "${name}": ${rule}`));
      if (named.length === 0) return [];
      return [[rule, [...rest, ...named.map((role) => createRoleRule(role, field, roles))]] as const];
    });
    return rules.length === 0 ? [name, one] : [name, new Field({ ...one.spec, ...Object.fromEntries(rules) })];
  };
  return Object.fromEntries(Object.entries(fields).map(convert));
}
