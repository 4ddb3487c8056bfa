import { z } from 'zod';
import {
  type Accounts,
  type EmailProofs,
  type Host,
  lifetimeSetting,
  limitSetting,
  type ResourceGateway,
  RULE_FORM,
} from '../../extension/index.ts';

/** The URL of a page to which an e-mail links. The link adds the token as the fragment, so the URL must have none. */
function pageUrl(path: string) {
  const error = `must look like https://app.example.com/${path}, without a fragment`;
  return z
    .url({ protocol: /^https?$/, error })
    .refine((url) => !url.includes('#'), { error })
    .optional();
}

/** The settings of the extension. */
export const emailVerificationSettings = z.strictObject({
  /** Whether users get no session before their address is verified. */
  required: z.boolean().default(false),
  /** How long a link and a code work. */
  ttl: lifetimeSetting('7d').prefault('1h'),
  /** The page that verifies an address. Default `${APP_URL}/verify-email`. */
  verifyUrl: pageUrl('verify-email'),
  /** The page on which users confirm a new address. Default `${APP_URL}/change-email`. */
  changeUrl: pageUrl('change-email'),
  /** The page on which the owner of the former address undoes a change. Default `${APP_URL}/undo-email-change`. */
  undoUrl: pageUrl('undo-email-change'),
  /** How long a change can be undone. */
  undoTtl: lifetimeSetting('30d').prefault('7d'),
  /** The limit of e-mails to one account; requests above it send none. False: no limit. */
  mailLimit: z
    .union([limitSetting, z.literal(false)], { error: `must be false or ${RULE_FORM}` })
    .default({ limit: 5, windowMs: 60 * 60_000 }),
});

/** The settings of the extension as a project writes them. All are optional. */
export type EmailVerificationOptions = z.input<typeof emailVerificationSettings> & {
  /** @deprecated Use `ttl`. */
  expiresMinutes?: number;
  /** @deprecated Use `undoTtl`. */
  undoDays?: number;
};

/** The dependencies of the extension's operations. */
export interface EmailVerificationContext {
  host: Host;
  accounts: Accounts;
  users: ResourceGateway;
  settings: z.output<typeof emailVerificationSettings>;
  /** Counts an e-mail, and returns whether it is within the limit of the key. */
  mayMail(key: string): Promise<boolean>;
  proofs: {
    /** Verify the address of an account. */
    verify: EmailProofs;
    /** Prove the new address of an account. */
    change: EmailProofs;
    /** Undo the change of an address; sent to the former one. */
    undo: EmailProofs;
  };
}
