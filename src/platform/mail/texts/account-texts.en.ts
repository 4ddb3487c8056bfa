import type { MailContent, MailTemplate } from '../message.ts';
import { formatMinutes, layOutMail, type MailBlock } from './layout.ts';
import type { AccountMailKind, MailVariables, SecurityNotice } from './variables.ts';

const layOut = (subject: string, blocks: readonly MailBlock[]): MailContent => layOutMail('en', subject, blocks);

const at = (appHost: string | undefined) => (appHost === undefined ? '' : ` at ${appHost}`);

/** Returns when and from where something happened: `on 2026-11-24 at 10:15 UTC from 203.0.113.7`. */
function whenAndWhere({ at: time, ip }: SecurityNotice): string {
  const [day, clock] = [time.slice(0, 10), time.slice(11, 16)];
  return `on ${day} at ${clock} UTC${ip === '' ? '' : ` from ${ip}`}`;
}

const IF_NOT_YOU =
  'If it was not you, choose a new password and end your other sessions now: someone else may have access to your account.';

/** Creates the text of an e-mail about a change of an account. `what` continues the sentence “In your account at app.example.com, …”. */
const createNoticeText =
  <About extends SecurityNotice>(subject: string, what: (about: About) => string): MailTemplate<About> =>
  (about) =>
    layOut(subject, [
      `In your account${at(about.appHost)}, ${what(about)} ${whenAndWhere(about)}.`,
      'If it was you, there is nothing to do.',
      IF_NOT_YOU,
    ]);

/**
 * The e-mails of accounts. None contains a text that the user chose: otherwise a person could register with the address of another person
 * and have a text of their choice sent there as the name.
 */
export const ACCOUNT_TEXTS: { readonly [K in AccountMailKind]: MailTemplate<MailVariables[K]> } = {
  'password-reset': ({ link, minutes }) =>
    layOut('Choose a new password', [
      `Someone requested a new password for your account at ${new URL(link).host}.`,
      `To choose one, open this link within ${formatMinutes(minutes)}. It works once:`,
      { link, label: 'Choose a new password' },
      'If this was not you, ignore this e-mail: your password will not change.',
    ]),
  'verify-email': ({ link, code, minutes }) =>
    layOut('Verify your e-mail address', [
      `An account at ${new URL(link).host} was created with this e-mail address. To verify that the address is yours, open this link within ${formatMinutes(minutes)}:`,
      { link, label: 'Verify the address' },
      'Or enter this code:',
      { code },
      'If you have not created an account, ignore this e-mail, and do not pass the code on.',
    ]),
  'change-email': ({ link, code, minutes }) =>
    layOut('Confirm your new e-mail address', [
      `The owner of an account at ${new URL(link).host} wants to use this e-mail address. To confirm it, open this link within ${formatMinutes(minutes)}:`,
      { link, label: 'Confirm the new address' },
      'Or enter this code:',
      { code },
      'If this was not you, ignore this e-mail, and do not pass the code on.',
    ]),
  'email-changed': (about) =>
    layOut('Your e-mail address was changed', [
      `The e-mail address of your account${at(about.appHost)} was changed ${whenAndWhere(about)}. From now on, e-mails about the account are sent to the new address.`,
      'If it was you, there is nothing to do.',
      ...(about.undoLink === undefined
        ? ['If it was not you, contact the operator of the service.']
        : [
            `If it was not you, open this link within ${formatMinutes(about.minutes)}. It restores this address, ends every session, and lets you choose a new password:`,
            { link: about.undoLink, label: 'Undo the change' },
          ]),
    ]),
  'email-change-undone': (about) =>
    layOut('Your e-mail address was restored', [
      `The change of the e-mail address of your account${at(about.appHost)} was undone ${whenAndWhere(about)}. Every session has ended, and the password no longer works.`,
      `To choose a new password, open this link within ${formatMinutes(about.minutes)}. It works once:`,
      { link: about.link, label: 'Choose a new password' },
      'After it has expired, request a new one as if you had forgotten your password.',
    ]),
  'sign-in': ({ link, code, minutes, isNewAccount }) =>
    layOut(isNewAccount ? 'Create your account' : 'Sign in', [
      `To ${isNewAccount ? 'create your account and sign in' : 'sign in'} at ${new URL(link).host}, open this link within ${formatMinutes(minutes)}, on the device where you requested it. It works once:`,
      { link, label: isNewAccount ? 'Create the account' : 'Sign in' },
      'Or enter this code:',
      { code },
      'If you have not requested it, ignore this e-mail, and do not pass the code on.',
    ]),
  invitation: ({ link, minutes, isNewAccount }) =>
    layOut('You are invited', [
      `You are invited to ${isNewAccount ? 'create an account at' : 'accept a role at'} ${new URL(link).host}. Open this link within ${formatMinutes(minutes)}:`,
      { link, label: 'Accept the invitation' },
      'If you do not expect an invitation, ignore this e-mail.',
    ]),
  'organisation-invitation': ({ link, minutes }) =>
    layOut('You are invited to an organisation', [
      `You are invited to join an organisation at ${new URL(link).host}. To see which one, open this link within ${formatMinutes(minutes)}:`,
      { link, label: 'See the invitation' },
      'If you do not expect an invitation, ignore this e-mail.',
    ]),
  'new-device': (about) =>
    layOut('New sign-in to your account', [
      `There was a sign-in to your account${at(about.appHost)}${about.device === '' ? '' : ` with ${about.device}`}, ${whenAndWhere(about)}.`,
      'If it was you, there is nothing to do.',
      IF_NOT_YOU,
    ]),
  'password-changed': createNoticeText('Your password was changed', () => 'the password was changed'),
  'two-factor-enabled': createNoticeText('Two-factor login is on', () => 'two-factor login was turned on'),
  'two-factor-disabled': createNoticeText(
    'Two-factor login is off',
    ({ byAdmin }) => `two-factor login was turned off${byAdmin ? ' by an administrator' : ''}`,
  ),
  'recovery-code-used': createNoticeText(
    'A recovery code was used',
    ({ remaining }) => `a recovery code was used (${remaining} left)`,
  ),
  'identity-linked': createNoticeText(
    'A new way to sign in to your account',
    ({ provider }) => `signing in with ${provider} was added`,
  ),
  'identity-removed': createNoticeText(
    'A way to sign in to your account was removed',
    ({ provider }) => `signing in with ${provider} was removed`,
  ),
  'passkey-added': createNoticeText('A passkey was added to your account', () => 'a passkey was added'),
  'passkey-removed': createNoticeText('A passkey was removed from your account', () => 'a passkey was removed'),
};
