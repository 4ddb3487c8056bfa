import { DAY_MS, type Host, type Sweep, writeInBatches } from '../../../../extension/index.ts';
import type { WebhookSettings } from '../../settings/settings.ts';
import { ADOPT_PENDING, EXPIRE_WAITING } from './waiting-sql.ts';

/** The error of a delivery that nobody has acknowledged in time. Shown in the delivery log. */
const NOT_ACKNOWLEDGED = 'not acknowledged in time';

/** Creates the sweep that fails the deliveries that nobody has polled and acknowledged for as long as finished ones are kept. */
export function createWaitingExpirySweep(
  { database }: Pick<Host, 'database'>,
  { keepDeliveriesDays, cleanMs }: Pick<WebhookSettings, 'keepDeliveriesDays' | 'cleanMs'>,
): Sweep {
  const keepMs = keepDeliveriesDays * DAY_MS;
  return {
    name: 'webhooks: messages that nobody polls',
    everyMs: cleanMs,
    async run() {
      const adopted = await writeInBatches(database, ADOPT_PENDING, []);
      const now = Date.now();
      // Ids begin with the second of their creation. A delivery that waits again has an older id, which only widens the search.
      const before = Math.max(0, Math.floor((now - keepMs) / 1000) + 1)
        .toString(16)
        .padStart(8, '0');
      const values = [NOT_ACKNOWLEDGED, new Date(now).toISOString(), before, keepMs];
      return adopted + (await writeInBatches(database, EXPIRE_WAITING, values));
    },
  };
}
