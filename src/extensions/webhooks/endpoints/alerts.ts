import type { ExtensionHost, MailTransaction } from '../../../extension/index.ts';
import { FAILING_MAIL, RECOVERED_MAIL } from './alert-mails.ts';
import { type AlertRow, END_ALERTS } from './alerts-sql.ts';
import { describeOwner, logAndEmitDisabled } from './disabling.ts';
import { type EndpointRow, serializeEndpoint } from './endpoint.ts';
import { DISABLED_MAIL, findRecipients } from './mails.ts';

/** A delivery that failed in all attempts. */
export interface FailedDelivery {
  /** The name of its event. */
  event: string;
  /** The status of the last response; null if there was none. */
  statusCode: number | null;
  /** The error of the last attempt. */
  error: string | null;
}

/** An endpoint to report, with its last failed delivery; undefined if it only had a test that the receiver refused with 410 Gone. */
export interface EndpointAlert {
  row: AlertRow;
  lastFailure: FailedDelivery | undefined;
}

/** Reports endpoints that are disabled, are about to be, or work again. */
export interface EndpointAlerts {
  /** Stores the e-mails to the owners in the transaction that writes the results. */
  storeMails(alerts: readonly EndpointAlert[], within: MailTransaction): Promise<void>;
  /** Logs the alerts and emits their events, after the commit. Never rejects. */
  announce(alerts: readonly EndpointAlert[]): Promise<void>;
}

const toEndpointRow = (row: AlertRow) => row.slice(0, -2) as EndpointRow;

/** Creates the functions that report endpoints. E-mails are sent if `notifyOwner`. */
export function createEndpointAlerts(
  host: Pick<ExtensionHost, 'database' | 'events' | 'log' | 'mail' | 'organisationAccess'>,
  { notifyOwner, disableAfterFailures }: { notifyOwner: boolean; disableAfterFailures: number },
): EndpointAlerts {
  const { database, events, log, mail } = host;

  async function storeMail({ row, lastFailure }: EndpointAlert, within: MailTransaction): Promise<void> {
    const { id, consecutiveFailures } = serializeEndpoint(toEndpointRow(row));
    const [alert, mayMail] = [row.at(-1), row.at(-2)];
    if (alert !== 'disabled' && !(alert === 'failing' && mayMail)) return;
    const data = { consecutiveFailures, failuresLeft: disableAfterFailures - consecutiveFailures, ...lastFailure };
    for (const recipient of await findRecipients(host, toEndpointRow(row))) {
      if (alert === 'disabled') await mail.sendComposed(DISABLED_MAIL, { webhooks: [id], ...recipient }, within);
      else await mail.sendComposed(FAILING_MAIL, { webhook: id, ...recipient, ...data }, within);
    }
  }

  function announceFailing({ row, lastFailure }: EndpointAlert): void {
    const webhook = serializeEndpoint(toEndpointRow(row));
    const { id, consecutiveFailures } = webhook;
    log.warn({ endpoint: id, consecutiveFailures, disableAfterFailures }, 'a webhook endpoint fails');
    const owner = describeOwner(toEndpointRow(row));
    events.emit('webhook.failing', { webhook, ...owner, consecutiveFailures, disableAfterFailures, lastFailure });
  }

  async function endAlerts(ids: readonly string[]): Promise<void> {
    const afterCommit: (() => unknown)[] = [];
    const rows = await database.transaction(async (tx) => {
      const values = [ids, Math.max(1, Math.ceil(disableAfterFailures / 2))];
      const ended = await tx.write<[...EndpointRow, wasMailed: boolean]>({ text: END_ALERTS, values });
      const within = { database: tx, afterCommit: (work: () => unknown) => afterCommit.push(work) };
      for (const row of ended.filter((one) => notifyOwner && one.at(-1))) {
        for (const recipient of await findRecipients(host, row.slice(0, -1) as EndpointRow))
          await mail.sendComposed(RECOVERED_MAIL, { webhook: row[0], ...recipient }, within);
      }
      return ended;
    });
    for (const work of afterCommit) work();
    for (const row of rows) {
      const webhook = serializeEndpoint(row.slice(0, -1) as EndpointRow);
      log.info({ endpoint: webhook.id }, 'a webhook endpoint works again');
      events.emit('webhook.recovered', { webhook, ...describeOwner(row.slice(0, -1) as EndpointRow) });
    }
  }

  return {
    async storeMails(alerts, within) {
      if (notifyOwner) for (const alert of alerts) await storeMail(alert, within);
    },
    async announce(alerts) {
      const recovered: string[] = [];
      for (const alert of alerts) {
        const { row } = alert;
        if (row.at(-1) === 'disabled') logAndEmitDisabled({ log, events }, toEndpointRow(row));
        else if (row.at(-1) === 'failing') announceFailing(alert);
        else recovered.push(row[0]);
      }
      if (recovered.length === 0) return;
      // Not in the transaction that writes the results, so that batches of successes need none. A later success reports it if this fails.
      await endAlerts(recovered).catch((error: unknown) => {
        log.error({ err: error, endpoints: recovered }, 'it could not be reported that webhook endpoints work again');
      });
    },
  };
}
