import { z } from 'zod';
import { durationSetting, lifetimeSetting } from '../helpers/duration-setting.ts';
import { functionSetting, MAX_DAYS, MAX_MINUTES } from '../helpers/setting-limits.ts';

const MAX_HASH_BYTES = 256 * 2 ** 20;

/** Checks passwords against hashes imported from another system. */
export type LegacyPassword = (hash: string, password: string) => boolean | Promise<boolean>;

/** The section `auth` of the settings. */
export const accountSettings = z
  .strictObject({
    enabled: z.boolean().default(true),
    register: z.boolean().default(true),
    sessionTtlDays: durationSetting('d', z.number().positive().max(MAX_DAYS)).default(30),
    devicesFollowSessions: z.boolean().default(true),
    /** How long after a sign-in routes with `recentSignIn` accept the session without another sign-in. */
    recentSignIn: lifetimeSetting('365d').prefault('1h'),
    /** The page on which users set a new password; e-mails link to it with `token` in the query. Default `${APP_URL}/reset-password`. */
    resetUrl: z
      .url({ protocol: /^https?$/, error: 'must look like https://app.example.com/reset-password' })
      .optional(),
    resetTokenTtlMinutes: durationSetting('m', z.number().positive().max(MAX_MINUTES)).default(30),
    /** Checks a password against a hash imported from another system; the first login replaces the hash. */
    legacyPassword: functionSetting<LegacyPassword>().optional(),
    /** Locks sign-in for an e-mail address after repeated failures. */
    lockout: z
      .strictObject({
        /** The number of failed sign-ins that locks the address; 0: never lock. */
        maxAttempts: z.number().int().min(0).max(1000).default(5),
        /** The period in which the failed sign-ins are counted. */
        windowMinutes: durationSetting('m', z.number().positive().max(MAX_MINUTES)).default(15),
        lockMinutes: durationSetting('m', z.number().positive().max(MAX_MINUTES)).default(15),
      })
      .prefault({}),
    password: z
      .strictObject({
        logN: z.number().int().min(1).max(20),
        r: z.number().int().min(1).max(32),
        p: z.number().int().min(1).max(16),
      })
      .refine(({ logN, r }) => 128 * 2 ** logN * r <= MAX_HASH_BYTES, {
        error: 'one hash would need more than 256 MiB (128·2^logN·r)',
      })
      .default({ logN: 15, r: 8, p: 3 }),
  })
  .prefault({});
