import { ENDPOINT_COLUMNS } from '../endpoints/endpoint.ts';
import { TEST_EVENT } from '../events.ts';

/**
 * Writes the results of attempts and what they mean for their endpoints, in one statement. Gives the endpoints that this disabled.
 *
 * $1 deliveries, $2 attempt numbers, $3 when, $4 status after the attempt, $5 status codes, $6 ms taken, $7 errors, $8 ms to the next
 * attempt, $9 answers, $10 whether it was slow or failed (null: unknown, its lane stays), $11 whether the receiver is gone, $12 whether
 * nothing was sent, all in the order in which they came; $13 failures in a row that disable an endpoint, 0: never; $14 encrypted answers, of the same
 * order.
 *
 * The entry of the log is put together as text: that takes a third of the time of a function that makes JSON of anything.
 *
 * A row counts only while its claim holds, so that an attempt written twice counts once: `pending` and of the attempt before when it
 * was claimed in a turn, `sending` and of this attempt when it was claimed by itself. Endpoints are locked in the order of their ids,
 * so that two workers cannot wait for each other; an endpoint to which nothing new happened is not touched. Tests that fail do not
 * count as failures in a row, and refused attempts do not count at all.
 */
export const RECORD_RESULTS = `
  with results as (
    select * from unnest($1::text[], $2::int[], $3::text[], $4::text[], $5::int[], $6::int[], $7::text[], $8::bigint[], $9::text[],
      $10::boolean[], $11::boolean[], $12::boolean[], $14::text[])
      with ordinality as r(id, attempt, at, status, status_code, duration_ms, error, delay_ms, response, slow, gone, refused,
        encrypted_response, place)
  ), written as (
    update webhook_deliveries d set status = r.status, attempts = r.attempt,
      schedule_attempts = d.schedule_attempts + r.attempt - d.attempts,
      status_code = r.status_code, duration_ms = r.duration_ms, error = r.error, response = r.response, encrypted_response = r.encrypted_response,
      attempt_log = d.attempt_log || concat('{"at":"', r.at, '","statusCode":', coalesce(r.status_code::text, 'null'),
        ',"durationMs":', coalesce(r.duration_ms::text, 'null'), ',"error":', coalesce(to_json(r.error)::text, 'null'), '}')::jsonb,
      lease_until = null,
      next_attempt_at = now() + r.delay_ms * interval '1 millisecond',
      finished_at = case when r.status <> 'pending' then now() end
    from results r
    where d.id = r.id and ((d.status = 'pending' and d.attempts = r.attempt - 1) or (d.status = 'sending' and d.attempts = r.attempt))
    returning d.endpoint_id, d.type, r.at::timestamptz as at, r.status, r.error, r.slow, r.gone, r.refused, r.place
  ), placed as (
    select *, max(place) filter (where status = 'succeeded') over (partition by endpoint_id) as last_success
    from written where not refused
  ), news as (
    select endpoint_id,
      max(at) filter (where status = 'succeeded') as success_at,
      max(at) filter (where status <> 'succeeded') as failure_at,
      (array_agg(error order by place desc) filter (where status <> 'succeeded'))[1] as error,
      count(*) filter (where status = 'failed' and type <> '${TEST_EVENT}' and place > coalesce(last_success, 0)) as failures,
      (array_agg(slow order by place desc) filter (where slow is not null))[1] as slow,
      bool_or(gone) as gone
    from placed group by endpoint_id
  ), touched as (
    select e.id, e.enabled as was_enabled, n.*,
      n.failures + case when n.success_at is null then e.consecutive_failures else 0 end as in_a_row
    from webhook_endpoints e join news n on n.endpoint_id = e.id
    where n.failure_at is not null or e.consecutive_failures > 0 or e.slow <> n.slow
      or e.last_success_at is null or e.last_success_at < n.success_at - interval '1 second'
    order by e.id for no key update of e
  ), turned as (
    update webhook_endpoints e set
      last_success_at = greatest(e.last_success_at, t.success_at),
      last_failure_at = greatest(e.last_failure_at, t.failure_at),
      last_error = coalesce(t.error, e.last_error),
      consecutive_failures = t.in_a_row,
      slow = coalesce(t.slow, e.slow),
      enabled = e.enabled and not t.gone and ($13 = 0 or t.in_a_row < $13),
      disabled_reason = case when not e.enabled then e.disabled_reason when t.gone then 'gone'
        when $13 > 0 and t.in_a_row >= $13 then 'failing' end
    from touched t where e.id = t.id
    returning ${ENDPOINT_COLUMNS.map((column) => `e.${column}`).join(', ')}, t.was_enabled
  )
  select * from turned where was_enabled and not enabled`;
