import { type AccountPanel, ApiError, type Host, isId } from '../../extension/index.ts';
import { type ApiKeyRow, toKeyRecord } from './record.ts';
import { adminListSql } from './sql.ts';
import type { KeyStore } from './store.ts';

/** Keys that the panel lists, the newest first. */
const MAX_SHOWN = 100;

/** Creates the panel with the API keys of an account. */
export function createApiKeyPanel({ database }: Pick<Host, 'database'>, keys: KeyStore): AccountPanel {
  return {
    id: 'api-keys',
    label: 'API keys',
    columns: [
      { name: 'name', label: 'Name' },
      { name: 'prefix', label: 'Key', kind: 'code' },
      { name: 'scopes', label: 'Scopes', kind: 'list' },
      { name: 'status', label: 'Status', kind: 'word' },
      { name: 'lastUsedAt', label: 'Last used', kind: 'time' },
      { name: 'lastUsedIp', label: 'Last address', kind: 'code' },
      { name: 'expiresAt', label: 'Expires', kind: 'time' },
    ],
    empty: 'None. Users create keys with POST /api/auth/api-keys.',
    async read(userId) {
      const rows = await database.readList<[...ApiKeyRow, string]>({
        text: adminListSql(undefined),
        values: [userId, MAX_SHOWN],
      });
      return {
        rows: rows
          .map((row) => toKeyRecord(row.slice(0, -1) as ApiKeyRow))
          .map(({ id, name, prefix, scopes, status, lastUsedAt, lastUsedIp, expiresAt }) => ({
            id,
            values: { name, prefix: `${prefix}…`, scopes, status, lastUsedAt, lastUsedIp, expiresAt },
            ...(status === 'revoked' && { actions: [] }),
          })),
      };
    },
    rowActions: [
      {
        id: 'apiKeyRevoked',
        label: 'Revoke',
        confirm: {
          title: 'Revoke this API key?',
          text: 'It stops working at once, and so do the webhook endpoints that it created. This cannot be undone.',
        },
        isDangerous: true,
        done: 'The key is revoked',
        async run({ userId, rowId }, { user }) {
          const by = { reason: 'admin', by: user?.id ?? null } as const;
          if (!isId(rowId) || !(await keys.revoke(rowId, by, userId)))
            throw new ApiError('NOT_FOUND', 'This key has already been revoked');
        },
      },
    ],
  };
}
