import { z } from 'zod';
import type { EmailProofs } from '../../accounts/email-proofs/store.ts';
import type { Accounts } from '../../declare/accounts.ts';
import type { Host, ResourceGateway } from '../../declare/host.ts';
import { limitRule } from '../../platform/limits/rule.ts';

const MAX_MINUTES = 7 * 24 * 60;
const MAX_UNDO_DAYS = 30;

const pageUrl = (example: string) =>
  z.url({ protocol: /^https?$/, error: `must look like https://app.example.com/${example}` }).optional();

/** The settings of the extension. */
export const emailVerificationSettings = z.strictObject({
  /** Whether users get no session before they have confirmed their address. */
  required: z.boolean().default(false),
  /** Minutes for which a link and a code work. */
  expiresMinutes: z.number().positive().max(MAX_MINUTES).default(60),
  /** The page on which users confirm their address. Default `${APP_URL}/verify-email`. */
  verifyUrl: pageUrl('verify-email'),
  /** The page on which users confirm a new address. Default `${APP_URL}/change-email`. */
  changeUrl: pageUrl('change-email'),
  /** The page on which the owner of the former address undoes a change. Default `${APP_URL}/undo-email-change`. */
  undoUrl: pageUrl('undo-email-change'),
  /** Days for which a change can be undone. */
  undoDays: z.number().positive().max(MAX_UNDO_DAYS).default(7),
  /** The limit of e-mails to one account; further requests send none. */
  mailLimit: limitRule.default({ limit: 5, windowMs: 60 * 60_000 }),
});

/** The settings of the extension as a project writes them. All are optional. */
export type EmailVerificationOptions = z.input<typeof emailVerificationSettings>;

/** The dependencies of the extension's operations. */
export interface EmailVerificationContext {
  host: Host;
  accounts: Accounts;
  users: ResourceGateway;
  settings: z.output<typeof emailVerificationSettings>;
  proofs: {
    /** Prove the address of an account. */
    verify: EmailProofs;
    /** Prove the new address of an account. */
    change: EmailProofs;
    /** Undo the change of an address; sent to the former one. */
    undo: EmailProofs;
  };
}
