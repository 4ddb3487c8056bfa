import { z } from 'zod';
import { type CompiledPolicy, compilePolicy, type Policy, policySettingSchema } from '../../extension/index.ts';

const PRODUCTION_FORM = "must be true, false or { policy: 'admin' }";

/** Whether a policy limits the console to chosen users. Anything else would open all data to every user of the app. */
function limitsToChosenUsers({ public: isPublic, authenticated, verified, owner }: CompiledPolicy): boolean {
  return !isPublic && !authenticated && !verified && !owner;
}

const productionPolicy = policySettingSchema.superRefine((policy: Policy, context) => {
  const compiled = compilePolicy(policy, () => undefined);
  if (limitsToChosenUsers(compiled)) return;
  const message = 'must name roles or be a function: the console shows all data of all users';
  context.addIssue({ code: 'custom', message });
});

/** The settings of the extension. */
export const consoleSettings = z.strictObject({
  /** Opens the console in production, for administrators who have signed in recently. It needs the extension `audit()`. */
  production: z
    .union([z.boolean(), z.strictObject({ policy: productionPolicy.default('admin') })], { error: PRODUCTION_FORM })
    .default(false),
});

/** The settings of the extension as a project writes them. All are optional. */
export type ConsoleOptions = z.input<typeof consoleSettings>;

/** The policy of the console in production; undefined if it is closed there. */
export function productionPolicyOf({ production }: z.output<typeof consoleSettings>): Policy | undefined {
  if (production === false) return undefined;
  return production === true ? 'admin' : production.policy;
}
