import type { Host } from '../../declare/host.ts';
import { DISABLED_MAIL } from './disabled-mail.ts';
import { type EndpointRow, showEndpoint } from './endpoint.ts';

/** Reports endpoints that were disabled automatically. Never rejects. */
export type NotifyDisabled = (rows: readonly EndpointRow[]) => Promise<void>;

/** Makes what reports them: a line in the log, the event `webhook.disabled`, and an e-mail to the owner if `notifyOwner`. */
export function createDisabledNotifier(
  { log, events, mail }: Pick<Host, 'log' | 'events' | 'mail'>,
  { notifyOwner }: { notifyOwner: boolean },
): NotifyDisabled {
  return async (rows) => {
    const mails = rows.map(async (row) => {
      const webhook = showEndpoint(row);
      const [, owner] = row;
      log.warn({ endpoint: webhook.id, reason: webhook.disabledReason }, 'a webhook endpoint was disabled');
      events.emit('webhook.disabled', { webhook, owner, reason: webhook.disabledReason });
      if (!notifyOwner) return;
      await mail.sendComposed(DISABLED_MAIL, { webhook: webhook.id, owner }).catch((error: unknown) => {
        log.error(
          { err: error, endpoint: webhook.id },
          'its owner could not be told that a webhook endpoint was disabled',
        );
      });
    });
    await Promise.all(mails);
  };
}
