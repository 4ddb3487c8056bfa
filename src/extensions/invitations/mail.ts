import { createProofLink } from '../../accounts/email-proofs/link.ts';
import { isEmailVerified } from '../../declare/actor.ts';
import { generateToken } from '../../platform/data/crypto/token.ts';
import { localeOfUser } from '../../platform/helpers/locale.ts';
import type { MailComposer } from '../../platform/mail/worker.ts';
import type { InvitationContext } from './context.ts';
import { isInviterEntitled } from './rights.ts';

/** The kind of the e-mail with the link. Its data: `{ invitation, locale? }`. */
export const INVITATION_MAIL = 'invitation';

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
