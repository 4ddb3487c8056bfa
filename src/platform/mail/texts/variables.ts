import type { PasswordResetMail } from '../message.ts';

/** The user of an e-mail. Treat the values as untrusted: anyone can register with the address of another person and a name of their choice. */
interface MailUser {
  id: string;
  [field: string]: unknown;
}

/** An e-mail with a link, a code, or both. */
interface ProofMail {
  user: MailUser;
  /** The link to the page on which the user confirms. */
  link: string;
  /** The code that the user can type instead of opening the link. */
  code: string;
  /** How long link and code work, in minutes. */
  minutes: number;
}

/** An e-mail about something that happened to an account. */
export interface SecurityNotice {
  user: MailUser;
  /** The host of `APP_URL`; undefined if it is not set. */
  appHost: string | undefined;
  /** When it happened, ISO 8601. */
  at: string;
  /** The address of the client; empty if it is not known. */
  ip: string;
}

/** A client that signed in. */
interface SignInNotice extends SecurityNotice {
  /** The browser and operating system, such as `Firefox on Windows`; empty if they are not known. */
  device: string;
  /** As in `session.method`. */
  method: string;
}

/** The endpoints in an e-mail about webhooks. They contain no text that their owner wrote. */
export interface MailWebhook {
  id: string;
  events: readonly string[];
  /** ISO 8601. */
  createdAt: string;
  /** The slug of the organisation that the endpoint belongs to; left out if it belongs to the recipient. */
  organisation?: string;
}

/**
 * The variables of every built-in e-mail, by kind. The texts of these e-mails can be replaced with the option `mailTexts` of `createApp`.
 */
export interface MailVariables {
  /** A link to choose a new password. */
  'password-reset': PasswordResetMail;
  /** A link and a code that confirm the address of an account. */
  'verify-email': ProofMail;
  /** A link and a code that confirm the new address of an account. Sent to the new address. */
  'change-email': ProofMail;
  /** The address of an account has been changed. Sent to the former address. */
  'email-changed': SecurityNotice & {
    /** The link that undoes the change; undefined if the former address was never verified. */
    undoLink: string | undefined;
    /** How long the link works, in minutes. */
    minutes: number;
  };
  /** The change of an address has been undone. Sent to the restored address. */
  'email-change-undone': SecurityNotice & { link: string; minutes: number };
  /** A link and a code to sign in. `isNewAccount`: there is no account yet; signing in creates one. */
  'sign-in': Omit<ProofMail, 'user'> & { isNewAccount: boolean };
  /** An invitation. `isNewAccount`: the address has no account whose address is verified. */
  invitation: { link: string; minutes: number; isNewAccount: boolean };
  /** An invitation to an organisation. It contains no text that a user wrote, such as the name of the organisation. */
  'organisation-invitation': { link: string; minutes: number };
  'new-device': SignInNotice;
  'password-changed': SecurityNotice;
  'two-factor-enabled': SecurityNotice;
  'two-factor-disabled': SecurityNotice & {
    /** Whether an admin turned it off. */
    byAdmin: boolean;
  };
  'recovery-code-used': SecurityNotice & { remaining: number };
  'identity-linked': SecurityNotice & { provider: string };
  'identity-removed': SecurityNotice & { provider: string };
  'passkey-added': SecurityNotice;
  'passkey-removed': SecurityNotice;
  'webhook-created': {
    webhook: MailWebhook & { scope: string };
    /** Whether an API key created the endpoint. */
    byKey: boolean;
    appHost: string | undefined;
  };
  'webhook-disabled': {
    webhook: MailWebhook & {
      disabledReason: string | null;
      consecutiveFailures: number;
      lastError: string | null;
    };
    appHost: string | undefined;
  };
  /** Deliveries to an endpoint fail. It is disabled after `failuresLeft` more failures in a row. */
  'webhook-failing': {
    webhook: MailWebhook;
    consecutiveFailures: number;
    failuresLeft: number;
    /** The name of the event of the last failed delivery. */
    event: string;
    /** The error of its last attempt, such as `status 500`. */
    lastError: string | null;
    appHost: string | undefined;
  };
  /** A delivery succeeded, after an e-mail said that the endpoint fails. */
  'webhook-recovered': { webhook: MailWebhook; appHost: string | undefined };
  /** All endpoints of a user have been disabled, because the user's credentials were revoked. */
  'webhooks-revoked': { webhooks: readonly MailWebhook[]; appHost: string | undefined };
  /** A data export is ready. `userId`: the user whose data it contains, if that is not the recipient. */
  'data-export': { link: string; appHost: string; expiresAt: string; userId: string | undefined };
  'account-erased': { kept: readonly { name: string; why: string }[]; appHost: string | undefined };
}

/** The kind of an e-mail. */
export type MailKind = keyof MailVariables;

/** The kind of an e-mail about an account and the ways to sign in. */
export type AccountMailKind = Exclude<
  MailKind,
  | 'webhook-created'
  | 'webhook-disabled'
  | 'webhook-failing'
  | 'webhook-recovered'
  | 'webhooks-revoked'
  | 'data-export'
  | 'account-erased'
>;
