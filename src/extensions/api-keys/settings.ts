import { z } from 'zod';
import { durationSetting, isScope, policySettingSchema, SCOPE_FORMAT } from '../../extension/index.ts';

/** A century in days. A larger number is most likely a typo. */
const MAX_DAYS = 36_500;

const days = durationSetting('d', z.number().int().min(1).max(MAX_DAYS));

/** The settings of the extension. */
export const apiKeySettings = z
  .strictObject({
    /** Who may create keys. */
    policy: policySettingSchema.default('authenticated'),
    /** Whether creating a key requires a recent sign-in: a key outlives a stolen session. */
    recentSignIn: z.boolean().default(true),
    /** Maximum number of active keys per user. */
    maxKeysPerUser: z.number().int().positive().default(20),
    /** Maximum number of active keys that belong to an organisation. */
    maxKeysPerOrganisation: z.number().int().positive().default(20),
    /** Lifetime in days of a key that is created without `expiresInDays`. */
    defaultExpiryDays: days.default(90),
    maxLifetimeDays: days.default(365),
    /** Whether `expiresInDays: null` creates a key that never expires. */
    allowNoExpiry: z.boolean().default(false),
    /** Scopes of a key that is created without `scopes`. */
    defaultScopes: z.array(z.string()).min(1).default(['read']),
    /** Scopes of routes that the project did not write: `{ 'POST /webhooks': 'webhooks:create' }`, with paths as declared. */
    routeScopes: z
      .record(
        z.string(),
        z
          .string()
          .refine((scope) => scope === '*' || isScope(scope), { error: `a scope must be * or ${SCOPE_FORMAT}` }),
      )
      .default({}),
    /** Whether a password reset revokes all keys of the user. */
    revokeOnPasswordReset: z.boolean().default(true),
  })
  .refine((settings) => settings.defaultExpiryDays <= settings.maxLifetimeDays, {
    error: 'must not be more than maxLifetimeDays',
    path: ['defaultExpiryDays'],
  });

/** The settings of the extension as a project writes them. All are optional. */
export type ApiKeyOptions = z.input<typeof apiKeySettings> & {
  /** @deprecated Use `recentSignIn`. */
  requireRecentSignIn?: boolean;
};

/** The settings with all defaults filled. */
export type ApiKeySettings = z.output<typeof apiKeySettings>;
