import type { MailVariables, SecurityNotice } from './variables.ts';

const TOKEN = '4f0c9d';
/** The links of Belfry's e-mails have the token in the fragment, except that for a new password. */
const linkTo = (page: string) => `https://app.example.com/${page}#token=${TOKEN}`;
const RESET_LINK = `https://app.example.com/reset-password?token=${TOKEN}`;

const WEEK_MINUTES = 7 * 1440;

const PROOF = {
  user: { id: '665f1c0a9b1e8a0012345678', name: 'Ada', email: 'ada@example.com' },
  link: linkTo('verify-email'),
  code: '482913',
  minutes: 30,
};

const NOTICE: SecurityNotice = {
  user: PROOF.user,
  appHost: 'app.example.com',
  at: '2026-11-24T10:15:00.000Z',
  ip: '203.0.113.7',
};

const WEBHOOK = {
  id: '665f1c0a9b1e8a0012345678',
  events: ['post.created'],
  createdAt: '2026-11-24T10:15:00.000Z',
};

/** Values with which the built-in e-mails can be previewed. */
export const EXAMPLES: MailVariables = {
  'password-reset': { user: PROOF.user, link: RESET_LINK, minutes: 30 },
  'verify-email': PROOF,
  'change-email': { ...PROOF, link: linkTo('change-email') },
  'email-changed': { ...NOTICE, undoLink: linkTo('undo-email-change'), minutes: WEEK_MINUTES },
  'email-change-undone': { ...NOTICE, link: RESET_LINK, minutes: 30 },
  'sign-in': { link: linkTo('sign-in'), code: PROOF.code, minutes: 10, isNewAccount: false },
  invitation: { link: linkTo('invitation'), minutes: WEEK_MINUTES, isNewAccount: true },
  'organisation-invitation': { link: linkTo('organisation-invitation'), minutes: WEEK_MINUTES },
  'new-device': { ...NOTICE, device: 'Firefox on Windows', method: 'password' },
  'password-changed': NOTICE,
  'two-factor-enabled': NOTICE,
  'two-factor-disabled': { ...NOTICE, byAdmin: false },
  'recovery-code-used': { ...NOTICE, remaining: 9 },
  'identity-linked': { ...NOTICE, provider: 'google' },
  'identity-removed': { ...NOTICE, provider: 'google' },
  'passkey-added': NOTICE,
  'passkey-removed': NOTICE,
  'webhook-created': { webhook: { ...WEBHOOK, scope: 'own' }, byKey: false, appHost: NOTICE.appHost },
  'webhook-disabled': {
    webhook: {
      ...WEBHOOK,
      disabledReason: 'failing',
      consecutiveFailures: 5,
      lastError: 'status 500',
    },
    appHost: NOTICE.appHost,
  },
  'webhook-failing': {
    webhook: WEBHOOK,
    consecutiveFailures: 3,
    failuresLeft: 2,
    event: 'post.created',
    lastError: 'status 500',
    appHost: NOTICE.appHost,
  },
  'webhook-recovered': { webhook: WEBHOOK, appHost: NOTICE.appHost },
  'webhooks-revoked': { webhooks: [WEBHOOK], appHost: NOTICE.appHost },
  'data-export': {
    link: 'https://app.example.com/api/auth/exports/4f0c9d…',
    appHost: 'app.example.com',
    expiresAt: '2026-11-26T10:15:00.000Z',
    userId: undefined,
  },
  'account-erased': {
    kept: [{ name: 'invoice', why: 'the law requires it for ten years' }],
    appHost: NOTICE.appHost,
  },
};
