import { z } from 'zod';
import {
  type Accounts,
  durationSetting,
  type Host,
  lifetimeSetting,
  type ResourceGateway,
} from '../../extension/index.ts';

const DAY_MINUTES = 24 * 60;

/** The settings of the extension. */
export const twoFactorSettings = z.strictObject({
  /** The name that authenticator apps show. Default: the host of APP_URL, else the setting `openapi.title`. */
  issuer: z.string().trim().min(1).max(64).optional(),
  /** How long a login waits for its code. */
  challengeTtl: lifetimeSetting('1h').prefault('5m'),
  /** Number of wrong codes that end a login. */
  challengeAttempts: z.number().int().min(1).max(20).default(5),
  /** The lockout for a user's codes, over all their logins. */
  lockout: z
    .strictObject({
      /** Consecutive wrong codes that lock the factor. */
      maxAttempts: z.number().int().min(1).max(20).default(5),
      /** Minutes of the first lock. Each further consecutive lock lasts twice as long, up to a day. */
      lockMinutes: durationSetting('m', z.number().positive().max(DAY_MINUTES)).default(15),
    })
    .prefault({}),
  /** Number of recovery codes of a user. */
  recoveryCodes: z.number().int().min(1).max(50).default(10),
});

/** The settings of the extension as a project writes them. All are optional. */
export type TwoFactorOptions = z.input<typeof twoFactorSettings> & {
  /** @deprecated Use `challengeTtl`. */
  challengeMinutes?: number;
};

/** The settings with all defaults filled. */
export interface TwoFactorSettings extends Omit<z.output<typeof twoFactorSettings>, 'issuer'> {
  issuer: string;
}

/** The dependencies of the extension's operations. */
export interface TwoFactorContext {
  host: Pick<Host, 'database' | 'keyring' | 'events'>;
  accounts: Accounts;
  users: ResourceGateway;
  settings: TwoFactorSettings;
}
