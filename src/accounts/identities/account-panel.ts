import type { AccountPanel } from '../../declare/account-panel.ts';
import type { Accounts } from '../../declare/accounts.ts';
import type { Host } from '../../declare/host.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { isId } from '../../platform/helpers/ids.ts';
import { addressOf } from '../../platform/http/client-address.ts';
import type { Identities } from './store.ts';

/** Creates the panel with the accounts at identity providers; accounts without one have no such panel. */
export function createIdentityPanel({
  host,
  identities,
  lockUser,
}: { host: Host; identities: Identities } & Pick<Accounts, 'lockUser'>): AccountPanel {
  return {
    id: 'identities',
    label: 'Sign-in with other providers',
    columns: [
      { name: 'provider', label: 'Provider' },
      { name: 'email', label: 'Address there' },
      { name: 'createdAt', label: 'Linked', kind: 'time' },
      { name: 'lastUsedAt', label: 'Last used', kind: 'time' },
    ],
    async read(userId) {
      const found = await identities.list(userId);
      if (found.length === 0) return undefined;
      return {
        rows: found.map(({ id, provider, email, createdAt, lastUsedAt }) => ({
          id,
          values: { provider, email, createdAt, lastUsedAt },
        })),
      };
    },
    rowActions: [
      {
        id: 'identityUnlinked',
        label: 'Unlink',
        confirm: {
          title: 'Unlink this provider?',
          text: 'The user can no longer sign in with it. If it is their only way to sign in, send them a password reset link.',
        },
        isDangerous: true,
        done: 'The provider is unlinked',
        // Without the check that users have for their last way to sign in: a hijacked account at a provider must be removable.
        run: ({ userId, rowId }, { user, req }) =>
          host.transaction(async (tx) => {
            await lockUser(userId, tx.database);
            const provider = isId(rowId) ? await identities.remove(rowId, userId, tx.database) : undefined;
            if (provider === undefined) throw new ApiError('NOT_FOUND', 'This provider is no longer linked');
            const payload = { userId, by: user?.id ?? null, provider, ip: addressOf(req) };
            tx.afterCommit(() => host.events.emit('security.identity_removed', payload));
          }),
      },
    ],
  };
}
