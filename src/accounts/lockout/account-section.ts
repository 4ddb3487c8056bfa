import type { AccountSection } from '../../declare/account-panel.ts';
import type { Host } from '../../declare/host.ts';
import type { PanelRow } from '../../declare/panel-content.ts';
import { ownLockoutError, validationError } from '../../platform/helpers/errors.ts';
import type { Users } from '../users/users.ts';
import { type Lockout, signInLockoutName } from './lockout.ts';

const MAX_ADDRESS = 320;
const ADDRESS = /^[^\s@]+@[^\s@]+$/;

interface LockoutSectionDependencies {
  host: Host;
  users: Users;
  lockout: Lockout;
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
export function createLockoutSection({ host, users, lockout }: LockoutSectionDependencies): AccountSection {
  const { maxAttempts, windowMinutes, lockMinutes } = host.settings.auth.lockout;
  const intro = `After ${maxAttempts} failed sign-ins within ${windowMinutes} minutes, an e-mail address is locked for ${lockMinutes} minutes.`;
  return {
    id: 'lockouts',
    label: 'Failed sign-ins',
    intro: `${intro} Addresses are stored as hashes, so look up one at a time.`,
    columns: [
      { name: 'address', label: 'E-mail address' },
      { name: 'user', label: 'Account', kind: 'user' },
      { name: 'failures', label: 'Failed sign-ins', kind: 'word' },
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
