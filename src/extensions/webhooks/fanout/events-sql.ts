/** $1 event, $2 name of the outbox row, $3 its payload, $4 name of the event, $5 owner. One statement: it is on its way, and remembered. */
export const PUBLISH = `
  with sent as (insert into outbox (event_id, name, payload) values ($1, $2, $3::jsonb))
  insert into webhook_events (id, name, owner_id) values ($1, $4, $5)`;

/** $1 ms that events are remembered, $2 how many. By the primary key: ids begin with the second of their making. Gives the number deleted. */
export const DELETE_EVENTS = `
  with gone as (
    delete from webhook_events where id in (
      select id from webhook_events where id < to_hex(floor(extract(epoch from now() - $1 * interval '1 millisecond'))::bigint)
      order by id limit $2 for update skip locked)
    returning 1
  )
  select count(*) from gone`;
