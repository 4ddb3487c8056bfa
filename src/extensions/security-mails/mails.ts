import {
  appHostOf,
  DAY_MS,
  type Host,
  isAccountActive,
  localeOfUser,
  type MailComposer,
  type MailVariables,
  type ResourceGateway,
  type SecurityNotice,
} from '../../extension/index.ts';
import type { SecurityMailsSettings } from './settings.ts';

/** The setting that switches each e-mail on. */
const SETTING_OF = {
  'new-device': 'newDevice',
  'password-changed': 'passwordChanged',
  'two-factor-enabled': 'twoFactor',
  'two-factor-disabled': 'twoFactor',
  'recovery-code-used': 'recoveryCode',
  'identity-linked': 'identities',
  'identity-removed': 'identities',
  'passkey-added': 'passkeys',
  'passkey-removed': 'passkeys',
} as const satisfies Partial<Record<keyof MailVariables, keyof SecurityMailsSettings>>;

/** The kind of an e-mail of this extension. */
type SecurityMailKind = keyof typeof SETTING_OF;

/** The variables of an e-mail that come from the event; the others are read when the e-mail is sent. */
type EventVariables<K extends SecurityMailKind> = Omit<MailVariables[K], Exclude<keyof SecurityNotice, 'ip'>>;

/** Stores an e-mail to a user to be composed later, unless it is switched off. */
type QueueSecurityMail = <K extends SecurityMailKind>(
  kind: K,
  userId: string,
  about: EventVariables<K>,
) => Promise<void>;

/** Creates the function that queues e-mails. */
export function createSecurityMailQueue(
  { mail }: Pick<Host, 'mail'>,
  settings: SecurityMailsSettings,
): QueueSecurityMail {
  return async (kind, userId, about) => {
    if (settings[SETTING_OF[kind]]) await mail.sendComposed(kind, { userId, ...about });
  };
}

/**
 * Creates the composers of the e-mails. Address, status and locale of the user are read when an e-mail is sent; users who are deleted or
 * not active get none. Composers of e-mails that are switched off exist too, for e-mails that were queued before.
 */
export function createSecurityMailComposers(
  host: Pick<Host, 'limits' | 'settings' | 'env' | 'mailTexts'>,
  users: Pick<ResourceGateway, 'load'>,
  { maxPerDay }: SecurityMailsSettings,
): Record<SecurityMailKind, MailComposer> {
  const { enabled = host.env.nodeEnv !== 'test' } = host.settings.rateLimit;
  const limiter = enabled ? host.limits.limiter('security mails', { limit: maxPerDay, windowMs: DAY_MS }) : undefined;
  const createComposer =
    (kind: SecurityMailKind): MailComposer =>
    async ({ data, requestedAt, attempt }) => {
      const { userId, locale, ...about } = data;
      const [user] = await users.load([String(userId)]);
      if (typeof user?.email !== 'string' || !isAccountActive(user)) return undefined;
      // Counted by kind: an attacker could otherwise cause many e-mails of one kind so that a more important one is not sent.
      if (attempt === 1 && limiter !== undefined && !(await limiter.consume(`${kind}:${user.id}`)).allowed) {
        return undefined;
      }
      const variables = { ...about, user, appHost: appHostOf(host.env), at: requestedAt };
      const content = await host.mailTexts.render(kind, variables as never, localeOfUser(user, locale));
      return { ...content, to: user.email };
    };
  const kinds = Object.keys(SETTING_OF) as SecurityMailKind[];
  return Object.fromEntries(kinds.map((kind) => [kind, createComposer(kind)])) as Record<
    SecurityMailKind,
    MailComposer
  >;
}
