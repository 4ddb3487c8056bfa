import { allowsNobody, type CompiledPolicy, compilePolicy, type Policy } from '../../../declare/policy.ts';

/** Says in words whom a policy lets in. */
export function describePolicy(policy: CompiledPolicy): string {
  if (policy.public) return 'everybody';
  if (policy.authenticated) return 'whoever is signed in';
  if (allowsNobody(policy)) return 'nobody';
  const words = [
    ...(policy.owner ? ['the owner'] : []),
    ...policy.roles.map((role) => `role ${role}`),
    ...(policy.functions.length === 0 ? [] : ['whom a function of the declaration lets in']),
  ];
  return words.join(', ');
}

/** The same for a policy as it is declared. */
export const describeDeclared = (policy: Policy): string => describePolicy(compilePolicy(policy, () => undefined));
