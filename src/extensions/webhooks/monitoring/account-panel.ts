import type { AccountPanel, Host } from '../../../extension/index.ts';
import { ENDPOINT_STATE } from '../endpoints/endpoint-state.ts';

// Uses the index of endpoints by owner.
const COUNT = `
  select count(*)::int, (count(*) filter (where state <> 'disabled'))::int,
    (count(*) filter (where state = 'retrying'))::int, (count(*) filter (where state = 'failing'))::int
  from (select ${ENDPOINT_STATE} as state from webhook_endpoints e where owner_id = $1 and removed_at is null) e`;

type CountRow = [all: number, enabled: number, retrying: number, failing: number];

/** Creates the panel that counts the webhook endpoints of an account. */
export function createWebhookPanel({ read }: Host['database']): AccountPanel {
  return {
    id: 'webhooks',
    label: 'Webhook endpoints',
    empty: 'None. Users create endpoints with POST /api/webhooks.',
    async read(userId) {
      const [[all, enabled, retrying, failing] = [0, 0, 0, 0]] = await read<CountRow>({
        text: COUNT,
        values: [userId],
      });
      if (all === 0) return {};
      return {
        facts: [
          { label: 'Enabled', value: enabled },
          ...(all > enabled ? [{ label: 'Disabled', value: all - enabled, tone: 'warn' } as const] : []),
          ...(retrying > 0 ? [{ label: 'Retrying', value: retrying, tone: 'warn' } as const] : []),
          ...(failing > 0 ? [{ label: 'Failing', value: failing, tone: 'bad' } as const] : []),
        ],
        link: { label: 'Open the webhooks', href: '/console/webhooks' },
      };
    },
  };
}
