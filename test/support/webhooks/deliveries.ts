import type pg from 'pg';

type Client = Pick<pg.Client, 'query'>;

const SHARED_COLUMNS = `id, endpoint_id, event_id, position, message_id, type, subject_id, body, encrypted_body, status, attempts,
  schedule_attempts, status_code, duration_ms, error, response, encrypted_response, attempt_log, created_at, trace_context, mentions, finished_at`;

/** All deliveries, waiting and finished, as a table expression: `select … from ${ALL_DELIVERIES} d`. */
export const ALL_DELIVERIES = `(
  select ${SHARED_COLUMNS}, next_attempt_at, lease_until from webhook_deliveries
  union all
  select ${SHARED_COLUMNS}, null, null from webhook_delivery_log)`;

/**
 * Moves waiting deliveries to the log, as if their last attempt had just ended.
 *
 * @param where a condition on `webhook_deliveries`
 * @param set further columns of the log with their SQL values, such as `{ finished_at: "now() - interval '1 day'" }`
 */
export async function finishDeliveries(
  client: Client,
  status: 'succeeded' | 'failed',
  where: string,
  values: readonly unknown[] = [],
  set: Readonly<Record<string, string>> = {},
): Promise<number> {
  const changed: Record<string, string> = { status: `'${status}'`, finished_at: 'now()', ...set };
  const names = SHARED_COLUMNS.split(/,\s+/);
  const { rowCount } = await client.query(
    `with d as (delete from webhook_deliveries where ${where} returning *)
     insert into webhook_delivery_log (${names.join(', ')}) select ${names.map((name) => changed[name] ?? name).join(', ')} from d`,
    [...values],
  );
  return rowCount ?? 0;
}

/**
 * Makes deliveries failed ones, as if their last attempt had just failed, whether they wait or have finished.
 *
 * @param where a condition on columns that `webhook_deliveries` and `webhook_delivery_log` have in common
 */
export async function failDeliveries(client: Client, where: string, values: readonly unknown[] = []): Promise<void> {
  await client.query(`update webhook_delivery_log set status = 'failed', finished_at = now() where ${where}`, [
    ...values,
  ]);
  await finishDeliveries(client, 'failed', where, values);
}

/**
 * Moves finished deliveries back from the log, so that they wait again.
 *
 * @param where a condition on `webhook_delivery_log`
 * @param set columns of `webhook_deliveries` with their SQL values; by default the deliveries are pending and due now
 */
export async function reopenDeliveries(
  client: Client,
  where: string,
  values: readonly unknown[] = [],
  set: Readonly<Record<string, string>> = {},
): Promise<number> {
  const changed: Record<string, string> = {
    status: `'pending'`,
    next_attempt_at: 'now()',
    lease_until: 'null',
    ...set,
    finished_at: 'null',
  };
  const names = [...SHARED_COLUMNS.split(/,\s+/), 'next_attempt_at', 'lease_until'];
  const { rowCount } = await client.query(
    `with d as (delete from webhook_delivery_log where ${where} returning *)
     insert into webhook_deliveries (${names.join(', ')}) select ${names.map((name) => changed[name] ?? name).join(', ')} from d`,
    [...values],
  );
  return rowCount ?? 0;
}
