import type { RevocationStep } from '../../declare/accounts.ts';
import type { Host } from '../../declare/host.ts';
import { DISABLED_MAIL } from './disabled-mail.ts';
import { type EndpointRow, showEndpoint } from './endpoint.ts';
import { DISABLE_OF_KEYS, DISABLE_OF_OWNERS, REMOVE_OF_OWNERS, REMOVED_AT_ONCE } from './sql/endpoints.ts';

/** Reports endpoints that were disabled automatically. Never rejects. */
export type NotifyDisabled = (rows: readonly EndpointRow[]) => Promise<void>;

type Parts = Pick<Host, 'log' | 'events' | 'mail'>;

/** Reports an endpoint to the log and to listeners of `webhook.disabled`. */
function announce({ log, events }: Parts, row: EndpointRow): void {
  const webhook = showEndpoint(row);
  log.warn({ endpoint: webhook.id, reason: webhook.disabledReason }, 'a webhook endpoint was disabled');
  events.emit('webhook.disabled', { webhook, owner: row[1], reason: webhook.disabledReason });
}

/** Makes what reports them: a line in the log, the event `webhook.disabled`, and an e-mail to the owner if `notifyOwner`. */
export function createDisabledNotifier(host: Parts, { notifyOwner }: { notifyOwner: boolean }): NotifyDisabled {
  return async (rows) => {
    const mails = rows.map(async (row) => {
      const [id, owner] = row;
      announce(host, row);
      if (!notifyOwner) return;
      await host.mail.sendComposed(DISABLED_MAIL, { webhooks: [id], owner }).catch((error: unknown) => {
        host.log.error(
          { err: error, endpoint: id },
          'the owner of a disabled webhook endpoint could not be notified by e-mail',
        );
      });
    });
    await Promise.all(mails);
  };
}

/**
 * Ends endpoints with the credentials of their owners. Those of deleted users are removed. Those that are bound to a revoked API key
 * are disabled. With a new password, and with a logout
 * everywhere that asks for it, they are disabled: an attacker may have created them, or changed where they send. The owner gets one
 * e-mail about all of them if `notifyOwner`.
 */
export function createRevocationStep(host: Parts, { notifyOwner }: { notifyOwner: boolean }): RevocationStep {
  return async ({ cause, userIds, disableWebhooks, keyIds }, tx) => {
    if (cause === 'key_revoked') {
      const bound = await tx.database.write<EndpointRow>({ text: DISABLE_OF_KEYS, values: [keyIds] });
      tx.afterCommit(() => {
        for (const row of bound) announce(host, row);
      });
      for (const [id, owner] of notifyOwner ? bound : []) {
        await host.mail.sendComposed(DISABLED_MAIL, { webhooks: [id], owner }, tx);
      }
    }
    if (cause === 'user_deleted') {
      await tx.database.write({ text: REMOVE_OF_OWNERS, values: [userIds, REMOVED_AT_ONCE] });
    }
    const disables =
      cause === 'logout_all' ? disableWebhooks : cause === 'password_reset' || cause === 'password_change';
    if (!disables) return;
    const rows = await tx.database.write<EndpointRow>({ text: DISABLE_OF_OWNERS, values: [userIds] });
    tx.afterCommit(() => {
      for (const row of rows) announce(host, row);
    });
    if (!notifyOwner) return;
    for (const [owner, own] of Map.groupBy(rows, ([, ownerId]) => ownerId)) {
      await host.mail.sendComposed(DISABLED_MAIL, { webhooks: own.map(([id]) => id), owner }, tx);
    }
  };
}
