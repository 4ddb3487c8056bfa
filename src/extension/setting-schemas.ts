import { z } from 'zod';
import { compilePolicy, type Policy } from '../declare/policy.ts';

/** An extension setting that is a policy. */
export const policySettingSchema = z.custom<Policy>().superRefine((value, context) => {
  const report = (message: string) => context.addIssue({ code: 'custom', message });
  if (typeof value === 'string' || typeof value === 'function' || Array.isArray(value)) compilePolicy(value, report);
  else report('must be a policy: words joined by |, a function, or an array of them');
});

/** A policy setting, compiled. */
export const compiledPolicySettingSchema = policySettingSchema.transform((policy) =>
  compilePolicy(policy, () => undefined),
);

/** An extension setting that is an integer from 1 to `max`. */
export const wholeNumberSettingSchema = (max: number) => {
  const error = `must be a whole number from 1 to ${max}`;
  return z.number({ error }).int({ error }).min(1, { error }).max(max, { error });
};
