import type { AccountPanel } from '../declare/account-panel.ts';
import { isAccountActive } from '../declare/actor.ts';
import type { PanelFact } from '../declare/panel-content.ts';
import { ApiError, ownLockoutError } from '../platform/helpers/errors.ts';
import { addressOf } from '../platform/http/client-address.ts';
import type { AccountsDependencies } from './context.ts';
import { signInLockoutName } from './lockout/lockout.ts';
import type { LockoutStatus } from './lockout/state.ts';
import { isPasswordHash } from './passwords/password-hash.ts';
import { assertResetMailIsSent, RESET_MAIL } from './reset/request.ts';

/** The names that the attempts of a user are counted under: sign-ins, confirmations with the password, and codes. */
const lockoutNamesOf = ({ id, email }: { id: string; email: string }) => ({
  'Failed sign-ins': signInLockoutName(email),
  'Failed password confirmations': `password:${id}`,
  'Wrong codes from e-mails': `code:${id}`,
});

function describeStatus(label: string, { failures, lockedUntil }: LockoutStatus, maxAttempts: number): PanelFact[] {
  if (lockedUntil !== null)
    return [
      { label, value: 'Locked', kind: 'word', tone: 'bad' },
      { label: 'Locked until', value: lockedUntil, kind: 'time' },
    ];
  return failures === 0
    ? []
    : [{ label, value: `${failures} of ${maxAttempts} before a lock`, kind: 'word', tone: 'warn' }];
}

/** Creates the panel with the password of an account, and the locks after failed attempts. */
export function createPasswordPanel({
  host,
  users,
  lockout,
}: Pick<AccountsDependencies, 'host' | 'users' | 'lockout'>): AccountPanel {
  const { maxAttempts } = host.settings.auth.lockout;

  /** @throws ApiError NOT_FOUND */
  async function readUser(userId: string) {
    const account = await users.findAccountById(userId);
    if (account === undefined) throw new ApiError('NOT_FOUND', 'This account no longer exists');
    return account;
  }

  return {
    id: 'password',
    label: 'Password and failed sign-ins',
    async read(userId) {
      const { user, passwordHash } = await readUser(userId);
      const names = Object.entries(lockoutNamesOf({ id: userId, email: String(user.email) }));
      const counted = await Promise.all(
        names.map(async ([label, name]) => ({ label, status: await lockout.readStatus(name) })),
      );
      const found = counted.flatMap(({ label, status }) => describeStatus(label, status, maxAttempts));
      const hasPassword = isPasswordHash(passwordHash);
      return {
        facts: [
          {
            label: 'Password',
            value: hasPassword ? 'Set' : 'Not set',
            kind: 'word',
            tone: hasPassword ? 'good' : 'neutral',
          },
          ...(found.length === 0 ? [{ label: 'Failed sign-ins', value: 'None', kind: 'word' } as const] : found),
        ],
        actions: [
          ...(isAccountActive(user) ? ['passwordResetRequested'] : []),
          ...(found.length === 0 ? [] : ['lockoutCleared']),
        ],
      };
    },
    accountActions: [
      {
        id: 'passwordResetRequested',
        label: 'Send a reset link',
        confirm: {
          title: 'Send a link to set a new password?',
          text: 'The link goes to the e-mail address of the account. The password stays until the user sets a new one.',
        },
        done: 'The e-mail with the link is on its way',
        async run({ userId }, { req }) {
          const { user } = await readUser(userId);
          if (!isAccountActive(user))
            throw new ApiError('CONFLICT', 'A disabled account gets no reset link; enable the account first');
          await assertResetMailIsSent(host, userId);
          await host.mail.sendComposed(RESET_MAIL, { email: user.email, ip: addressOf(req) });
        },
      },
      {
        id: 'lockoutCleared',
        label: 'Unlock',
        done: 'The user can try again',
        async run({ userId }, ctx) {
          if (ctx.user?.id === userId) throw ownLockoutError();
          const { user } = await readUser(userId);
          const { idsOf, clear } = lockout.administration;
          await Promise.all(idsOf({ userId, email: String(user.email) }).map(({ id }) => clear(id)));
        },
      },
    ],
  };
}
