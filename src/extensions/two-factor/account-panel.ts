import { type AccountPanel, ApiError, ownLockoutError } from '../../extension/index.ts';
import { disableFactorOfUser } from './changes.ts';
import type { TwoFactorContext } from './context.ts';
import { CLEAR_LOCK, SELECT_STATUS_AND_LOCK, SELECT_USERS_WITH_FACTOR } from './sql.ts';

type StatusRow = [enabledAt: string, codes: number, failures: number, lockedUntil: string | null];

/** Creates the panel with the second factor of an account. */
export function createTwoFactorPanel(context: TwoFactorContext): AccountPanel {
  const { database } = context.host;
  return {
    id: 'two-factor',
    label: 'Two-factor login',
    empty: 'Off. Users turn it on with POST /api/auth/2fa/enrol and a code of their authenticator app.',
    async read(userId) {
      const [row] = await database.read<StatusRow>({ text: SELECT_STATUS_AND_LOCK, values: [userId] });
      if (row === undefined) return { actions: [] };
      const [enabledAt, codes, failures, lockedUntil] = row;
      return {
        facts: [
          { label: 'Two-factor login', value: 'On', kind: 'word', tone: 'good' },
          { label: 'On since', value: enabledAt, kind: 'time' },
          { label: 'Recovery codes left', value: codes, ...(codes < 3 && { tone: 'warn' }) },
          ...(failures > 0 ? [{ label: 'Wrong codes in a row', value: failures, tone: 'warn' } as const] : []),
          ...(lockedUntil === null ? [] : [{ label: 'Locked until', value: lockedUntil, kind: 'time' } as const]),
        ],
        actions: ['twoFactorReset', ...(failures > 0 ? ['twoFactorUnlocked'] : [])],
      };
    },
    accountActions: [
      {
        id: 'twoFactorUnlocked',
        label: 'Clear wrong codes',
        needsSecondFactor: true,
        done: 'The user can enter codes again',
        async run({ userId }, { user }) {
          if (user?.id === userId) throw ownLockoutError();
          await database.write({ text: CLEAR_LOCK, values: [userId] });
        },
      },
      {
        id: 'twoFactorReset',
        label: 'Reset two-factor login',
        confirm: {
          title: 'Turn two-factor login off for this user?',
          text: 'Do this only after the user has proved who they are in another way: afterwards, their password alone is enough to sign in. Their recovery codes stop working, and they get an e-mail if security mails are on.',
        },
        isDangerous: true,
        needsSecondFactor: true,
        done: 'Two-factor login is off for this user',
        async run({ userId }, ctx) {
          if (ctx.user?.id === userId)
            throw new ApiError('FORBIDDEN', 'Turn off your own two-factor login with your password and a code instead');
          await disableFactorOfUser(context, userId, ctx);
        },
      },
    ],
    summary: {
      label: 'Two-factor',
      kind: 'word',
      async read(userIds) {
        const rows = await database.readList<[string]>({ text: SELECT_USERS_WITH_FACTOR, values: [userIds] });
        return new Map(rows.map(([id]) => [id, 'On']));
      },
    },
  };
}
