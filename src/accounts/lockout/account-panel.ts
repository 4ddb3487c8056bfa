import type { AccountPanel, AccountSection, PanelFact, PanelRow } from '../../declare/account-panel.ts';
import { isAccountActive } from '../../declare/actor.ts';
import { ApiError, ownLockoutError, validationError } from '../../platform/helpers/errors.ts';
import { addressOf } from '../../platform/http/client-address.ts';
import type { AccountsContext } from '../context.ts';
import { isPasswordHash } from '../passwords/password-hash.ts';
import { assertResetMailIsSent, RESET_MAIL } from '../reset/request.ts';
import { signInLockoutName } from './lockout.ts';
import type { LockoutStatus } from './state.ts';

type Dependencies = Pick<AccountsContext, 'host' | 'users' | 'lockout'>;

const MAX_ADDRESS = 320;
const ADDRESS = /^[^\s@]+@[^\s@]+$/;

/** The names that the attempts of a user are counted under: sign-ins, confirmations with the password, and codes. */
const lockoutNamesOf = ({ id, email }: { id: string; email: string }) => ({
  'Failed sign-ins': signInLockoutName(email),
  'Failed password confirmations': `password:${id}`,
  'Wrong codes from e-mails': `code:${id}`,
});

function describeStatus(label: string, { failures, lockedUntil }: LockoutStatus, maxAttempts: number): PanelFact[] {
  if (lockedUntil !== null)
    return [
      { label, value: 'Locked', tone: 'bad' },
      { label: 'Locked until', value: lockedUntil, kind: 'time' },
    ];
  return failures === 0 ? [] : [{ label, value: `${failures} of ${maxAttempts} before a lock`, tone: 'warn' }];
}

/** Creates the panel with the password of an account, and the locks after failed attempts. */
export function createPasswordPanel({ host, users, lockout }: Dependencies): AccountPanel {
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
          { label: 'Password', value: hasPassword ? 'Set' : 'Not set', tone: hasPassword ? 'good' : 'neutral' },
          ...(found.length === 0 ? [{ label: 'Failed sign-ins', value: 'None' }] : found),
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

/** Returns the address in the form under which attempts are counted. @throws ApiError VALIDATION_ERROR */
function readAddress(text: string): string {
  const email = text.trim().toLowerCase();
  if (email.length > MAX_ADDRESS || !ADDRESS.test(email))
    throw validationError({ search: 'Must be an e-mail address' });
  return email;
}

/**
 * Creates the section that looks up failed sign-ins by e-mail address. They cannot be listed: addresses are counted as hashes, so that an
 * attacker who reads Redis learns no address. Addresses without an account are counted, too.
 */
export function createLockoutSection({ host, users, lockout }: Dependencies): AccountSection {
  const { maxAttempts, windowMinutes, lockMinutes } = host.settings.auth.lockout;
  const intro = `After ${maxAttempts} failed sign-ins within ${windowMinutes} minutes, an e-mail address is locked for ${lockMinutes} minutes.`;
  return {
    id: 'lockouts',
    label: 'Failed sign-ins',
    intro: `${intro} Addresses are stored as hashes, so look up one at a time.`,
    columns: [
      { name: 'address', label: 'E-mail address' },
      { name: 'user', label: 'Account', kind: 'user' },
      { name: 'failures', label: 'Failed sign-ins' },
      { name: 'lockedUntil', label: 'Locked until', kind: 'time' },
    ],
    empty: 'Enter an e-mail address to see its failed sign-ins, whether or not it has an account.',
    search: { label: 'E-mail address', hint: 'ada@example.com' },
    async read({ search }) {
      if (search === undefined) return { rows: [], next: null };
      const email = readAddress(search);
      const [status, account] = await Promise.all([
        lockout.readStatus(signInLockoutName(email)),
        users.findAccountByEmail(email),
      ]);
      const { failures, lockedUntil } = status;
      const isCounted = failures > 0 || lockedUntil !== null;
      const row: PanelRow = {
        id: email,
        values: {
          address: email,
          user: account?.user.id ?? null,
          failures: lockedUntil === null ? `${failures} of ${maxAttempts}` : 'Locked',
          lockedUntil,
        },
        ...(!isCounted && { actions: [] }),
      };
      return { rows: [row], next: null };
    },
    rowActions: [
      {
        id: 'lockoutCleared',
        label: 'Unlock',
        done: 'The address can be used to sign in again',
        async run({ rowId }, { user }) {
          const email = readAddress(rowId);
          if (user !== undefined && signInLockoutName(email) === signInLockoutName(String(user.email)))
            throw ownLockoutError();
          const { idsOf, clear } = lockout.administration;
          await Promise.all(idsOf({ email }).map(({ id }) => clear(id)));
        },
      },
    ],
  };
}
