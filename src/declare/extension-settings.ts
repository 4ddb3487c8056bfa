import { z } from 'zod';
import { compilePolicy, type Policy } from './policy.ts';

/** A setting of an extension that is a policy. */
export const policySetting = z.custom<Policy>().superRefine((value, context) => {
  const wrong = (message: string) => context.addIssue({ code: 'custom', message });
  if (typeof value === 'string' || typeof value === 'function' || Array.isArray(value)) compilePolicy(value, wrong);
  else wrong('must be a policy: words joined by |, a function, or an array of them');
});

/** A setting of an extension that is a whole number of something. */
export const wholeSetting = (most: number) => {
  const error = `must be a whole number from 1 to ${most}`;
  return z.number({ error }).int({ error }).min(1, { error }).max(most, { error });
};

/**
 * Every setting of an extension that is unknown or malformed, a line each: `webhooks.timeoutMs: …`.
 *
 * @param name the extension's
 * @param schema a strict object, so that a setting that is written wrong does not pass for its default
 */
export function settingMistakes(name: string, schema: z.ZodType, options: unknown): string[] {
  const issues = schema.safeParse(options).error?.issues ?? [];
  return issues.map(({ path, message }) => `${[name, ...path].join('.')}: ${message}`);
}
