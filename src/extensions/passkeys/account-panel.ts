import { type AccountPanel, ApiError, isId } from '../../extension/index.ts';
import { type PasskeyRow, removePasskeysOfUser, toOwnPasskey } from './passkeys.ts';
import type { PasskeyContext } from './settings.ts';
import { LIST_PASSKEYS } from './sql.ts';

/** Creates the panel with the passkeys of an account. */
export function createPasskeyPanel(context: PasskeyContext): AccountPanel {
  return {
    id: 'passkeys',
    label: 'Passkeys',
    columns: [
      { name: 'name', label: 'Name' },
      { name: 'kind', label: 'Kind', kind: 'word' },
      { name: 'createdAt', label: 'Added', kind: 'time' },
      { name: 'lastUsedAt', label: 'Last used', kind: 'time' },
    ],
    empty: 'None. Users add a passkey on the account page, or with POST /api/auth/passkeys/options.',
    async read(userId) {
      const rows = await context.host.database.read<PasskeyRow>({ text: LIST_PASSKEYS, values: [userId] });
      return {
        rows: rows.map(toOwnPasskey).map(({ id, name, deviceType, createdAt, lastUsedAt }) => ({
          id,
          values: {
            name,
            kind: deviceType === 'multiDevice' ? 'Synced between devices' : 'On one device',
            createdAt,
            lastUsedAt,
          },
        })),
      };
    },
    rowActions: [
      {
        id: 'passkeyRemoved',
        label: 'Remove',
        confirm: {
          title: 'Remove this passkey?',
          text: 'It can no longer be used to sign in or as a second factor. If it is the only way to sign in, send the user a password reset link. They get an e-mail if security mails are on.',
        },
        isDangerous: true,
        needsSecondFactor: true,
        done: 'The passkey is removed',
        async run({ userId, rowId }, ctx) {
          if (ctx.user?.id === userId)
            throw new ApiError('FORBIDDEN', 'Remove your own passkeys on your account page instead');
          const count = isId(rowId) ? await removePasskeysOfUser(context, { userId, passkeyId: rowId }, ctx) : 0;
          if (count === 0) throw new ApiError('NOT_FOUND', 'This passkey has already been removed');
        },
      },
    ],
  };
}
