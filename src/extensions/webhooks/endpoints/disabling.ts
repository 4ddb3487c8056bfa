import {
  type CallerTransaction,
  type ExtensionHost,
  findsRowSql,
  type Host,
  type RevocationStep,
  type Sweep,
} from '../../../extension/index.ts';
import { ENDPOINT_COLUMNS, type EndpointRow, getOwnerKey, serializeEndpoint } from './endpoint.ts';
import { MAX_DELIVERIES_REMOVED, REMOVE_BY_OWNERS } from './endpoints-sql.ts';
import type { KeyLimits } from './key-limits.ts';
import { DISABLED_MAIL, findRecipients } from './mails.ts';

const COLUMNS = ENDPOINT_COLUMNS.join(', ');

/** $1 the last key of the previous page, $2 page size: keys that enabled endpoints are bound to. Uses webhook_endpoints_api_key_index. */
const BOUND_KEYS = `
  select distinct api_key_id from webhook_endpoints
  where api_key_id is not null and enabled and removed_at is null and api_key_id > $1 order by 1 limit $2`;

/** The condition that `BOUND_KEYS` finds any. */
const HAS_BOUND_KEYS = findsRowSql(
  'select from webhook_endpoints where api_key_id is not null and enabled and removed_at is null order by api_key_id limit 1',
);

/** Disables the endpoints that are bound to API keys. $1 keys. Returns the disabled endpoints. Uses webhook_endpoints_api_key_index. */
const DISABLE_BY_KEYS = `
  update webhook_endpoints set enabled = false, disabled_reason = 'key_ended', updated_at = now()
  where id in (
    select id from webhook_endpoints
    where api_key_id = any($1::text[]) and api_key_id is not null and enabled and removed_at is null
    order by id for no key update)
  returning ${COLUMNS}`;

/** Disables all endpoints of owners. $1 owners. Returns the disabled endpoints. Uses webhook_endpoints_owner_id_index. */
const DISABLE_BY_OWNERS = `
  update webhook_endpoints set enabled = false, disabled_reason = 'password_reset', updated_at = now()
  where id in (
    select id from webhook_endpoints where owner_id = any($1::text[]) and enabled and removed_at is null order by id for no key update)
  returning ${COLUMNS}`;

/** Reports endpoints that were disabled automatically. Never rejects. */
type NotifyDisabled = (rows: readonly EndpointRow[]) => Promise<void>;

type NotifierDependencies = Pick<ExtensionHost, 'log' | 'events' | 'mail' | 'organisationAccess'>;

/** Reports a disabled endpoint in the log and by the event `webhook.disabled`. */
export function logAndEmitDisabled({ log, events }: Pick<Host, 'log' | 'events'>, row: EndpointRow): void {
  const webhook = serializeEndpoint(row);
  log.warn({ endpoint: webhook.id, reason: webhook.disabledReason }, 'a webhook endpoint was disabled');
  events.emit('webhook.disabled', { webhook, ...describeOwner(row), reason: webhook.disabledReason });
}

/** The owner of an endpoint in events. */
export function describeOwner(row: EndpointRow): { owner: string; organisation?: string } {
  const { owner, organisationRole } = getOwnerKey(row);
  return typeof organisationRole === 'string' ? { owner, organisation: owner } : { owner };
}

/** Creates the function that reports disabled endpoints: by a log line, the event `webhook.disabled` and, if `notifyOwner`, an e-mail. */
export function createDisabledNotifier(
  host: NotifierDependencies,
  { notifyOwner }: { notifyOwner: boolean },
): NotifyDisabled {
  return async (rows) => {
    const mails = rows.map(async (row) => {
      const [id] = row;
      logAndEmitDisabled(host, row);
      if (!notifyOwner) return;
      try {
        for (const recipient of await findRecipients(host, row))
          await host.mail.sendComposed(DISABLED_MAIL, { webhooks: [id], ...recipient });
      } catch (error) {
        host.log.error(
          { err: error, endpoint: id },
          'the e-mail about a disabled webhook endpoint could not be queued',
        );
      }
    });
    await Promise.all(mails);
  };
}

/**
 * Ends the endpoints of revoked credentials:
 *
 * - The endpoints of deleted users, of claimed accounts and of deleted organisations are removed.
 * - Endpoints that are bound to a revoked API key are disabled. The owner gets one e-mail for each.
 * - A new password, an undone change of the e-mail address, and a logout on all devices that requests it, disable all endpoints of the user: an attacker may have created them, or
 *   changed their URLs. The owner gets one e-mail that lists them.
 *
 * E-mails are sent if `notifyOwner`.
 */
export function createRevocationStep(
  host: NotifierDependencies,
  { notifyOwner }: { notifyOwner: boolean },
): RevocationStep {
  /** @param mails the disabled endpoints, grouped by e-mail; the endpoints of a group have one owner */
  async function reportDisabledEndpoints(
    mails: Iterable<readonly EndpointRow[]>,
    tx: CallerTransaction,
  ): Promise<void> {
    for (const rows of mails) {
      tx.afterCommit(() => {
        for (const row of rows) logAndEmitDisabled(host, row);
      });
      if (!notifyOwner) continue;
      const webhooks = rows.map(([id]) => id);
      for (const recipient of await findRecipients(host, rows[0]!))
        await host.mail.sendComposed(DISABLED_MAIL, { webhooks, ...recipient }, tx);
    }
  }

  return async ({ cause, userIds, organisationIds, disableWebhooks, keyIds }, tx) => {
    if (cause === 'organisation_deleted') {
      await tx.database.write({ text: REMOVE_BY_OWNERS, values: [organisationIds, MAX_DELIVERIES_REMOVED] });
      return;
    }
    if (cause === 'user_deleted' || cause === 'account_claimed') {
      await tx.database.write({ text: REMOVE_BY_OWNERS, values: [userIds, MAX_DELIVERIES_REMOVED] });
    } else if (cause === 'key_revoked') {
      const rows = await tx.database.write<EndpointRow>({ text: DISABLE_BY_KEYS, values: [keyIds] });
      await reportDisabledEndpoints(
        rows.map((row) => [row]),
        tx,
      );
    } else if (cause !== 'email_change' && (cause !== 'logout_all' || disableWebhooks)) {
      const rows = await tx.database.write<EndpointRow>({ text: DISABLE_BY_OWNERS, values: [userIds] });
      await reportDisabledEndpoints(Map.groupBy(rows, ([, ownerId]) => ownerId).values(), tx);
    }
  };
}

const PAGE = 500;
const EVERY_MS = 5000;

/**
 * Disables the endpoints of keys that have expired, and of revoked keys that no revocation step has handled. Deliveries stop at the expiry
 * even without this sweep, because every claim checks it.
 */
export function createEndedKeysSweep(
  { database }: Pick<Host, 'database'>,
  { ended }: Pick<KeyLimits, 'ended'>,
  notifyDisabled: NotifyDisabled,
  pollMs: number,
): Sweep {
  return {
    name: 'webhooks: ended API keys',
    everyMs: Math.min(Math.max(pollMs, 50), EVERY_MS),
    condition: HAS_BOUND_KEYS,
    async run() {
      let total = 0;
      for (let after = '', found = PAGE; found === PAGE; ) {
        const keys = (await database.write<[string]>({ text: BOUND_KEYS, values: [after, PAGE] })).flat();
        found = keys.length;
        after = keys.at(-1) ?? after;
        const gone = found > 0 ? await ended(keys) : [];
        if (gone.length === 0) continue;
        const disabled = await database.write<EndpointRow>({ text: DISABLE_BY_KEYS, values: [gone] });
        total += disabled.length;
        await notifyDisabled(disabled);
      }
      return total;
    },
  };
}
