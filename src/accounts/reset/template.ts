import { escapeHtml, type MailContent } from '../../platform/mail/message.ts';
import type { PasswordResetMail } from '../../platform/mail/templates.ts';

function span(minutes: number): string {
  const whole = Math.max(1, Math.round(minutes));
  return whole === 1 ? '1 minute' : `${whole} minutes`;
}

/**
 * What the e-mail of a reset says unless the project says otherwise. Nothing of the account is in it: whoever registers with
 * somebody else's address could have such an e-mail sent there, with a name of their choice.
 */
export function passwordResetTemplate({ link, minutes }: PasswordResetMail): MailContent {
  const { host } = new URL(link);
  const asked = `Somebody asked for a new password for your account at ${host}.`;
  const how = `To choose one, open this link within ${span(minutes)}. It works once:`;
  const otherwise = 'If it was not you, do nothing: your password stays as it is.';
  return {
    subject: 'Choose a new password',
    text: `${asked}\n\n${how}\n\n${link}\n\n${otherwise}\n`,
    html: `<p>${escapeHtml(asked)}</p>
<p>${escapeHtml(how)}</p>
<p><a href="${escapeHtml(link)}">Choose a new password</a></p>
<p>${escapeHtml(otherwise)}</p>`,
  };
}
