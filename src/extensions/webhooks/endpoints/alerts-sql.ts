import { ENDPOINT_COLUMNS, type EndpointRow } from './endpoint.ts';

/**
 * Conditions and values for the statement that writes results, which updates endpoint `e` from row `t`. The row has `was_enabled`, `gone`,
 * the consecutive failures before (`failures_before`) and after the results (`in_a_row`), `success_at`, and `may_mail`. $13: the consecutive
 * failures that disable an endpoint, 0: never.
 */
const crosses = (threshold: string) => `(t.failures_before < ${threshold} and t.in_a_row >= ${threshold})`;

/** The failure count at which an endpoint is reported as failing for the first time: half of $13, rounded up. */
const FIRST_THRESHOLD = '(($13 + 1) / 2)';

/** The endpoint stays enabled, and its failure count reaches the first threshold, or the last value before it is disabled. */
const STARTS_ALERT = `t.was_enabled and not t.gone and t.in_a_row < $13 and (${crosses(FIRST_THRESHOLD)} or ${crosses('($13 - 1)')})`;

/** Whether an e-mail may say that endpoint `e` fails: an owner gets at most one a day about each endpoint. */
export const MAY_MAIL = `coalesce(e.failing_mail_at <= now() - interval '1 day', true) as may_mail`;

/** Stores that the endpoint is reported as failing, and that an e-mail says so. @param notifies a parameter: whether owners get e-mails */
export const alertAssignmentsSql = (notifies: string) => `
      alerted_at = case when ${STARTS_ALERT} then coalesce(e.alerted_at, now()) else e.alerted_at end,
      failing_mail_at = case when ${STARTS_ALERT} and ${notifies} and t.may_mail then now() else e.failing_mail_at end`;

/**
 * What to report about the endpoint: see `Alert`; null: nothing. Until a recovery is reported, each later success that changes the row
 * returns it again, so that a crash does not lose it.
 */
export const ALERT = `case when t.was_enabled and not e.enabled then 'disabled' when ${STARTS_ALERT} then 'failing'
      when e.enabled and e.alerted_at is not null and t.success_at is not null and t.in_a_row < greatest(${FIRST_THRESHOLD}, 1) then 'recovered' end as alert`;

/** What the results of attempts changed about an endpoint. */
export type Alert = 'disabled' | 'failing' | 'recovered';

/** An endpoint to report. `mayMail`: see `MAY_MAIL`. */
export type AlertRow = [...EndpointRow, mayMail: boolean, alert: Alert];

/**
 * Ends the alerts of endpoints that work again. $1 endpoints, $2 the failure count below which an endpoint works. Returns the endpoints,
 * each with whether an e-mail said that it fails. Of several workers, one gets each endpoint.
 */
export const END_ALERTS = `
  with alerted as (
    select id, coalesce(failing_mail_at >= alerted_at, false) as was_mailed from webhook_endpoints
    where id = any($1::text[]) and alerted_at is not null and enabled and removed_at is null and consecutive_failures < $2
    order by id for no key update
  )
  update webhook_endpoints e set alerted_at = null from alerted a where e.id = a.id
  returning ${ENDPOINT_COLUMNS.map((column) => `e.${column}`).join(', ')}, a.was_mailed`;
