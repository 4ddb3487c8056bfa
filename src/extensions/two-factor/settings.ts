import { z } from 'zod';

const DAY_MINUTES = 24 * 60;

/** The settings of the extension. */
export const twoFactorSettings = z.strictObject({
  /** The name that authenticator apps show. Default: the host of APP_URL, else the setting `openapi.title`. */
  issuer: z.string().trim().min(1).max(64).optional(),
  /** How long a login waits for its code. */
  challengeMinutes: z.number().positive().max(60).default(5),
  /** Wrong codes after which a login is void. */
  challengeAttempts: z.number().int().min(1).max(20).default(5),
  /** Of a user's codes, over all their logins. */
  lockout: z
    .strictObject({
      /** Wrong codes in a row that lock. */
      maxAttempts: z.number().int().min(1).max(20).default(5),
      /** The first lock; each further one in a row lasts twice as long, at most a day. */
      lockMinutes: z.number().positive().max(DAY_MINUTES).default(15),
    })
    .prefault({}),
  /** How many recovery codes a user gets. */
  recoveryCodes: z.number().int().min(1).max(50).default(10),
});

/** The settings of the extension as a project writes them: everything may be left out. */
export type TwoFactorOptions = z.input<typeof twoFactorSettings>;

/** The settings with all defaults filled. */
export interface TwoFactorSettings extends Omit<z.output<typeof twoFactorSettings>, 'issuer'> {
  issuer: string;
}
