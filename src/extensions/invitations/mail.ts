import { createProofLink } from '../../accounts/email-proofs/link.ts';
import { isEmailVerified } from '../../declare/actor.ts';
import { generateToken } from '../../platform/crypto/token.ts';
import { ApiError } from '../../platform/errors.ts';
import { localeOfUser } from '../../platform/mail/texts/locale.ts';
import type { MailComposer } from '../../platform/mail/worker.ts';
import type { InvitationContext } from './context.ts';
import { isInviterEntitled } from './rights.ts';

/** The kind of the e-mail with the link. Its data: `{ invitation, locale? }`. */
export const INVITATION_MAIL = 'invitation';

/**
 * Counts an e-mail to an address against the setting `mailLimit`.
 *
 * @throws ApiError RATE_LIMITED if the address has received too many
 */
export type CountMail = (email: string) => Promise<void>;

/** Creates the function that counts e-mails per address: many inviters together must not flood one mailbox. */
export function createMailCounter({ host, settings }: Pick<InvitationContext, 'host' | 'settings'>): CountMail {
  const { enabled = host.env.nodeEnv !== 'test' } = host.settings.rateLimit;
  const { mailLimit } = settings;
  const limiter = enabled && mailLimit !== false ? host.limits.limiter('invitation mails', mailLimit) : undefined;
  return async (email) => {
    const verdict = await limiter?.consume(email);
    if (verdict === undefined || verdict.allowed) return;
    const retryAfter = Math.max(1, Math.ceil(verdict.leftMs / 1000));
    const message = 'This address has received too many invitations; try again later';
    throw new ApiError('RATE_LIMITED', message, { retryAfter });
  };
}

/**
 * Creates the composer of the e-mail with the link. It creates the token while composing, so that only its hash is stored. A former link
 * ends only once the e-mail with the new one is complete.
 */
export function createInvitationComposer(context: InvitationContext): MailComposer {
  const { host, accounts, settings, store } = context;
  return async ({ data }) => {
    const id = String(data.invitation);
    const invitation = await store.find(id, undefined);
    if (invitation?.status !== 'pending' || !(await isInviterEntitled(context, invitation))) return undefined;
    const { email } = invitation;
    const token = generateToken();
    const user = await accounts.findUserByEmail(email);
    const about = {
      link: createProofLink(host, settings.url, '/invitation', token),
      minutes: settings.expiresDays * 1440,
      isNewAccount: user === undefined || !isEmailVerified(user),
    };
    const text = await host.mailTexts.render(INVITATION_MAIL, about, localeOfUser(user ?? {}, data.locale));
    return (await store.issue(id, token)) === undefined ? undefined : { to: email, ...text };
  };
}
