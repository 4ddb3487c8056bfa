import type { AccountPanel } from '../../declare/account-panel.ts';
import type { Host } from '../../declare/host.ts';

// Uses the index of endpoints by owner.
const COUNT = `
  select count(*)::int, (count(*) filter (where enabled))::int,
    (count(*) filter (where enabled and consecutive_failures > 0))::int
  from webhook_endpoints where owner_id = $1 and removed_at is null`;

type CountRow = [all: number, enabled: number, failing: number];

/** Creates the panel that counts the webhook endpoints of an account. */
export function createWebhookPanel({ read }: Host['database']): AccountPanel {
  return {
    id: 'webhooks',
    label: 'Webhook endpoints',
    empty: 'None. Users create endpoints with POST /api/webhooks.',
    async read(userId) {
      const [[all, enabled, failing] = [0, 0, 0]] = await read<CountRow>({ text: COUNT, values: [userId] });
      if (all === 0) return {};
      return {
        facts: [
          { label: 'Enabled', value: enabled },
          ...(all > enabled ? [{ label: 'Disabled', value: all - enabled, tone: 'warn' } as const] : []),
          ...(failing > 0 ? [{ label: 'Failing', value: failing, tone: 'bad' } as const] : []),
        ],
        link: { label: 'Open the webhooks', href: '/console/webhooks' },
      };
    },
  };
}
