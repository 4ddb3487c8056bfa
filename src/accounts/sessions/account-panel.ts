import type { AccountPanel } from '../../declare/account-panel.ts';
import type { Accounts } from '../../declare/accounts.ts';
import type { Host } from '../../declare/host.ts';
import type { PanelValue } from '../../declare/panel-content.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { isId } from '../../platform/helpers/ids.ts';
import { addressOf } from '../../platform/http/client-address.ts';
import { describeUserAgent } from '../../platform/http/user-agent.ts';
import type { Sessions } from './sessions.ts';

/** Sessions that the panel lists; it counts all. */
const MAX_SHOWN = 50;

// Uses index sessions_user_id_index.
const LAST_ACTIVE = `
  select "user_id", max("last_used_at") from "sessions"
  where "user_id" = any($1) and "expires_at" > now() group by "user_id"`;

/** Creates the panel with the live sessions of an account. */
export function createSessionPanel({
  host,
  sessions,
  revoke,
}: { host: Host; sessions: Sessions } & Pick<Accounts, 'revoke'>): AccountPanel {
  return {
    id: 'sessions',
    label: 'Sessions',
    columns: [
      { name: 'device', label: 'Device' },
      { name: 'address', label: 'Address', kind: 'code' },
      { name: 'method', label: 'Sign-in' },
      { name: 'createdAt', label: 'Started', kind: 'time' },
      { name: 'lastUsedAt', label: 'Last used', kind: 'time' },
      { name: 'expiresAt', label: 'Expires', kind: 'time' },
    ],
    empty: 'Not signed in anywhere. A session appears here after each sign-in, until it ends or expires.',
    async read(userId) {
      const live = await sessions.listLiveSessions(userId, '');
      const rows = live.slice(0, MAX_SHOWN).map(({ id, ip, userAgent, method, createdAt, lastUsedAt, expiresAt }) => {
        const device = describeUserAgent(userAgent) || 'Unknown program';
        return { id, values: { device, address: ip, method, createdAt, lastUsedAt, expiresAt } };
      });
      return {
        rows,
        ...(live.length > MAX_SHOWN && { facts: [{ label: 'Live sessions', value: live.length }] }),
        actions: live.length === 0 ? [] : ['sessionsEnded'],
      };
    },
    rowActions: [
      {
        id: 'sessionEnded',
        label: 'End',
        confirm: { title: 'End this session?', text: 'The device is signed out at once and gets no more pushes.' },
        isDangerous: true,
        done: 'The session has ended',
        async run({ userId, rowId }) {
          if (!isId(rowId) || !(await sessions.endSession(rowId, userId)))
            throw new ApiError('NOT_FOUND', 'This session has already ended');
        },
      },
    ],
    accountActions: [
      {
        id: 'sessionsEnded',
        label: 'End all sessions',
        confirm: {
          title: 'End all sessions?',
          text: 'The user is signed out everywhere at once, and their data exports are removed. API keys and webhooks stay.',
        },
        isDangerous: true,
        done: 'All sessions have ended',
        run: ({ userId }, { req }) =>
          host.transaction((tx) => revoke({ cause: 'logout_all', userIds: [userId], ip: addressOf(req) }, tx)),
      },
    ],
    summary: {
      label: 'Last active',
      kind: 'time',
      async read(userIds) {
        const rows = await host.database.readList<[string, PanelValue]>({ text: LAST_ACTIVE, values: [userIds] });
        return new Map(rows);
      },
    },
  };
}
