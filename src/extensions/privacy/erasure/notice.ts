import type { MailMessage } from '../../../platform/mail/message.ts';
import type { Kept } from './erasure.ts';

/**
 * The e-mail that tells a user that their account is gone: the last thing that their address is used for.
 *
 * @param place the host of the app, where it is known
 */
export function erasedNotice(to: string, place: string | undefined, kept: readonly Kept[]): MailMessage {
  const at = place === undefined ? '' : ` at ${place}`;
  const stays = kept.map(({ name, why }) => `- ${name}: ${why}`);
  return {
    to,
    subject: 'Your account was erased',
    text: [
      `Your account${at} was erased, with what belonged to it. This cannot be taken back, and nobody can sign in to it any more.`,
      ...(stays.length === 0 ? [] : [`What stays, and why:\n${stays.join('\n')}`]),
      'This address is forgotten once this message is sent.',
    ].join('\n\n'),
  };
}
