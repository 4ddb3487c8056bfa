import type { MailTemplate } from '../message.ts';
import { formatMinutes, layOutMail } from './layout.ts';
import type { MailKind, MailVariables, SecurityNotice } from './variables.ts';

/** The built-in text of an e-mail, and values with which it can be previewed. */
interface MailText<About> {
  /** When the e-mail is sent, as a sentence for the list of e-mails. */
  description: string;
  template: MailTemplate<About>;
  example: About;
}

/** The texts of some e-mails, by kind. */
export type MailTexts<Kind extends MailKind> = { readonly [K in Kind]: MailText<MailVariables[K]> };

const EXAMPLE_TOKEN = '4f0c9d';
/** The links of Belfry's e-mails have the token in the fragment, except that for a new password. */
const exampleLinkTo = (page: string) => `https://app.example.com/${page}#token=${EXAMPLE_TOKEN}`;
const EXAMPLE_RESET_LINK = `https://app.example.com/reset-password?token=${EXAMPLE_TOKEN}`;

const EXAMPLE_PROOF = {
  user: { id: '665f1c0a9b1e8a0012345678', name: 'Ada', email: 'ada@example.com' },
  link: exampleLinkTo('verify-email'),
  code: '482913',
  minutes: 30,
};

const EXAMPLE_NOTICE: SecurityNotice = {
  user: EXAMPLE_PROOF.user,
  appHost: 'app.example.com',
  at: '2026-11-24T10:15:00.000Z',
  ip: '203.0.113.7',
};

const at = (appHost: string | undefined) => (appHost === undefined ? '' : ` at ${appHost}`);

/** Returns when and from where something happened: `on 2026-11-24 at 10:15 UTC from 203.0.113.7`. */
function whenAndWhere({ at: time, ip }: SecurityNotice): string {
  const [day, clock] = [time.slice(0, 10), time.slice(11, 16)];
  return `on ${day} at ${clock} UTC${ip === '' ? '' : ` from ${ip}`}`;
}

const IF_NOT_YOU =
  'If it was not you, choose a new password and end your other sessions now: someone else may have access to your account.';

/** Creates the text of an e-mail about a change of an account. `what` continues the sentence “In your account at app.example.com, …”. */
function createNoticeText<About extends SecurityNotice>(
  description: string,
  subject: string,
  what: (about: About) => string,
  example: Omit<About, keyof SecurityNotice>,
): MailText<About> {
  return {
    description,
    template: (about) =>
      layOutMail(subject, [
        `In your account${at(about.appHost)}, ${what(about)} ${whenAndWhere(about)}.`,
        'If it was you, there is nothing to do.',
        IF_NOT_YOU,
      ]),
    example: { ...EXAMPLE_NOTICE, ...example } as About,
  };
}

/**
 * The e-mails of accounts. None contains a text that the user chose: otherwise a person could register with the address of another person
 * and have a text of their choice sent there as the name.
 */
export const ACCOUNT_TEXTS: MailTexts<
  Exclude<MailKind, 'webhook-created' | 'webhook-disabled' | 'webhooks-revoked' | 'data-export' | 'account-erased'>
> = {
  'password-reset': {
    description: 'Sent when the user has forgotten the password',
    template: ({ link, minutes }) =>
      layOutMail('Choose a new password', [
        `Someone requested a new password for your account at ${new URL(link).host}.`,
        `To choose one, open this link within ${formatMinutes(minutes)}. It works once:`,
        { link, label: 'Choose a new password' },
        'If this was not you, ignore this e-mail: your password will not change.',
      ]),
    example: { user: EXAMPLE_PROOF.user, link: EXAMPLE_RESET_LINK, minutes: 30 },
  },
  'verify-email': {
    description: 'Sent after a registration, and when the user requests it',
    template: ({ link, code, minutes }) =>
      layOutMail('Verify your e-mail address', [
        `An account at ${new URL(link).host} was created with this e-mail address. To verify that the address is yours, open this link within ${formatMinutes(minutes)}:`,
        { link, label: 'Verify the address' },
        'Or enter this code:',
        { code },
        'If you have not created an account, ignore this e-mail, and do not pass the code on.',
      ]),
    example: EXAMPLE_PROOF,
  },
  'change-email': {
    description: 'Sent to the new address when the user wants to change the address',
    template: ({ link, code, minutes }) =>
      layOutMail('Confirm your new e-mail address', [
        `The owner of an account at ${new URL(link).host} wants to use this e-mail address. To confirm it, open this link within ${formatMinutes(minutes)}:`,
        { link, label: 'Confirm the new address' },
        'Or enter this code:',
        { code },
        'If this was not you, ignore this e-mail, and do not pass the code on.',
      ]),
    example: { ...EXAMPLE_PROOF, link: exampleLinkTo('change-email') },
  },
  'email-changed': {
    description: 'Sent to the former address after the address was changed',
    template: (about) =>
      layOutMail('Your e-mail address was changed', [
        `The e-mail address of your account${at(about.appHost)} was changed ${whenAndWhere(about)}. From now on, e-mails about the account are sent to the new address.`,
        'If it was you, there is nothing to do.',
        ...(about.undoLink === undefined
          ? ['If it was not you, contact the operator of the service.']
          : [
              `If it was not you, open this link within ${formatMinutes(about.minutes)}. It restores this address, ends every session, and lets you choose a new password:`,
              { link: about.undoLink, label: 'Undo the change' },
            ]),
      ]),
    example: { ...EXAMPLE_NOTICE, undoLink: exampleLinkTo('undo-email-change'), minutes: 7 * 1440 },
  },
  'email-change-undone': {
    description: 'Sent to the restored address after the change of an address was undone',
    template: (about) =>
      layOutMail('Your e-mail address was restored', [
        `The change of the e-mail address of your account${at(about.appHost)} was undone ${whenAndWhere(about)}. Every session has ended, and the password no longer works.`,
        `To choose a new password, open this link within ${formatMinutes(about.minutes)}. It works once:`,
        { link: about.link, label: 'Choose a new password' },
        'After it has expired, request a new one as if you had forgotten your password.',
      ]),
    example: { ...EXAMPLE_NOTICE, link: EXAMPLE_RESET_LINK, minutes: 30 },
  },
  'sign-in': {
    description: 'Sent when the user wants to sign in with a link or a code',
    template: ({ link, code, minutes, isNewAccount }) =>
      layOutMail(isNewAccount ? 'Create your account' : 'Sign in', [
        `To ${isNewAccount ? 'create your account and sign in' : 'sign in'} at ${new URL(link).host}, open this link within ${formatMinutes(minutes)}, on the device where you requested it. It works once:`,
        { link, label: isNewAccount ? 'Create the account' : 'Sign in' },
        'Or enter this code:',
        { code },
        'If you have not requested it, ignore this e-mail, and do not pass the code on.',
      ]),
    example: { link: exampleLinkTo('sign-in'), code: EXAMPLE_PROOF.code, minutes: 10, isNewAccount: false },
  },
  invitation: {
    description: 'Sent when a user invites an address',
    template: ({ link, minutes, isNewAccount }) =>
      layOutMail('You are invited', [
        `You are invited to ${isNewAccount ? 'create an account at' : 'accept a role at'} ${new URL(link).host}. Open this link within ${formatMinutes(minutes)}:`,
        { link, label: 'Accept the invitation' },
        'If you do not expect an invitation, ignore this e-mail.',
      ]),
    example: { link: exampleLinkTo('invitation'), minutes: 7 * 1440, isNewAccount: true },
  },
  'organisation-invitation': {
    description: 'Sent when a member invites an address to an organisation',
    template: ({ link, minutes }) =>
      layOutMail('You are invited to an organisation', [
        `You are invited to join an organisation at ${new URL(link).host}. To see which one, open this link within ${formatMinutes(minutes)}:`,
        { link, label: 'See the invitation' },
        'If you do not expect an invitation, ignore this e-mail.',
      ]),
    example: { link: exampleLinkTo('organisation-invitation'), minutes: 7 * 1440 },
  },
  'new-device': {
    description: 'Sent after a sign-in from a device that the account has not used before',
    template: (about) =>
      layOutMail('New sign-in to your account', [
        `There was a sign-in to your account${at(about.appHost)}${about.device === '' ? '' : ` with ${about.device}`}, ${whenAndWhere(about)}.`,
        'If it was you, there is nothing to do.',
        IF_NOT_YOU,
      ]),
    example: { ...EXAMPLE_NOTICE, device: 'Firefox on Windows', method: 'password' },
  },
  'password-changed': createNoticeText(
    'Sent after the password was changed or reset',
    'Your password was changed',
    () => 'the password was changed',
    {},
  ),
  'two-factor-enabled': createNoticeText(
    'Sent after two-factor login was turned on',
    'Two-factor login is on',
    () => 'two-factor login was turned on',
    {},
  ),
  'two-factor-disabled': createNoticeText(
    'Sent after two-factor login was turned off',
    'Two-factor login is off',
    ({ byAdmin }) => `two-factor login was turned off${byAdmin ? ' by an administrator' : ''}`,
    { byAdmin: false },
  ),
  'recovery-code-used': createNoticeText(
    'Sent after a sign-in or a change with a recovery code',
    'A recovery code was used',
    ({ remaining }) => `a recovery code was used (${remaining} left)`,
    { remaining: 9 },
  ),
  'identity-linked': createNoticeText(
    'Sent after an account at a provider was linked',
    'A new way to sign in to your account',
    ({ provider }) => `signing in with ${provider} was added`,
    { provider: 'google' },
  ),
  'identity-removed': createNoticeText(
    'Sent after the link to an account at a provider was removed',
    'A way to sign in to your account was removed',
    ({ provider }) => `signing in with ${provider} was removed`,
    { provider: 'google' },
  ),
  'passkey-added': createNoticeText(
    'Sent after a passkey was added',
    'A passkey was added to your account',
    () => 'a passkey was added',
    {},
  ),
  'passkey-removed': createNoticeText(
    'Sent after a passkey was removed',
    'A passkey was removed from your account',
    () => 'a passkey was removed',
    {},
  ),
};
