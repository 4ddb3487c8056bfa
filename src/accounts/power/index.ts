import type { AccountPower } from '../../declare/account-power.ts';
import type { Accounts, ConfirmStep } from '../../declare/accounts.ts';
import type { FeatureParts } from '../../declare/extension.ts';
import type { CompiledPolicy } from '../../declare/policy.ts';
import type { ChangeGuard } from '../../records/writes/guard.ts';
import { createPowerGuard } from './guard.ts';
import { type AccountPowerDependencies, createAccountPower, createAfterEmailChange } from './power.ts';
import { createPrivilegeCheck, toCompiledPolicy } from './privilege.ts';
import { createSecondFactors } from './second-factors.ts';

/** What extensions contribute to the rules for changes of the power of accounts. */
export type PowerExtensionParts = Pick<
  FeatureParts,
  'confirmStep' | 'secondFactors' | 'administratorPolicies' | 'emailChangeStep'
>;

/** The rules for changes of the power of accounts. */
export interface PowerRules extends Pick<Accounts, 'confirmNewCredential'> {
  power: AccountPower;
  /** The rules for the routes of records. */
  guard: ChangeGuard;
  /** Runs the check of codes, if the app has one. */
  confirmCode: ConfirmStep;
  /** Sets the parts of extensions, once all features are set up. */
  use(parts: PowerExtensionParts): void;
}

/** Creates the rules for changes of the power of accounts. */
export function createPowerRules(
  given: Omit<AccountPowerDependencies, 'factors' | 'isPrivileged' | 'confirmStep' | 'emailChangeStep'>,
): PowerRules {
  let parts: PowerExtensionParts = {};
  let policies: readonly CompiledPolicy[] = [];
  const factors = createSecondFactors(() => ({ secondFactors: [], confirmStep: undefined, ...parts }));
  const isPrivileged = createPrivilegeCheck(given.users, () => policies);
  const emailChangeStep = () => parts.emailChangeStep;
  const dependencies = { ...given, factors, isPrivileged, confirmStep: () => parts.confirmStep, emailChangeStep };
  const power = createAccountPower(dependencies);
  const afterEmailChange = createAfterEmailChange(dependencies);
  return {
    power,
    confirmNewCredential: factors.confirmNewCredential,
    guard: createPowerGuard({ host: given.host, power, factors, isPrivileged, afterEmailChange }),
    async confirmCode(ctx, code, field) {
      await parts.confirmStep?.(ctx, code, field);
    },
    use(given) {
      parts = given;
      policies = (given.administratorPolicies ?? []).map(toCompiledPolicy);
    },
  };
}
