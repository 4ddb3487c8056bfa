import { z } from 'zod';
import {
  type CompiledPolicy,
  colorSettings,
  compilePolicy,
  type Policy,
  pathSettingSchema,
  policySettingSchema,
  titleSettingSchema,
} from '../../extension/index.ts';

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
  /** The name in the header and in the titles of pages. Default: `Console`, and the name of the app in titles. */
  title: titleSettingSchema.optional(),
  /** An image of this server, before the title. */
  logo: pathSettingSchema('/brand/logo.svg').optional(),
  /** The colours of the page, in light and in dark mode. */
  colors: z.strictObject({ ...colorSettings, dark: z.strictObject(colorSettings).optional() }).optional(),
});

/** The settings of the extension with all defaults filled. */
export type ConsoleSettings = z.output<typeof consoleSettings>;

/** The settings of the extension as a project writes them. All are optional. */
export type ConsoleOptions = z.input<typeof consoleSettings>;

/** The policy of the console in production; undefined if it is closed there. */
export function productionPolicyOf({ production }: ConsoleSettings): Policy | undefined {
  if (production === false) return undefined;
  return production === true ? 'admin' : production.policy;
}
