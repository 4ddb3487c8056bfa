/** Returns a row if events wait in Postgres for Redis to become reachable. */
export const IS_ANY_WAITING = 'select 1 from realtime_waiting limit 1';

/**
 * Stores events that wait for Redis. $1 ids of events, $2 ids of their outbox rows, $3 texts of their Redis stream entries: arrays.
 * Skips events that are already stored.
 */
export const ADD_WAITING = `
  insert into realtime_waiting (event_id, position, entry)
  select * from unnest($1::text[], $2::bigint[], $3::text[]) on conflict do nothing`;

/** Tries to lock the move of waiting events to Redis. One relay at a time moves them, so that they stay in order. The commit unlocks. */
export const TRY_LOCK = `select pg_try_advisory_xact_lock(hashtextextended('realtime_waiting', 0))`;

/**
 * Deletes and returns the oldest waiting events. $1 maximum number of rows, $2 maximum bytes of their entries, but returns at least one
 * row. Uses realtime_waiting_position_index.
 */
export const TAKE_WAITING = `
  delete from realtime_waiting where event_id in (
    select event_id from (
      select event_id, sum(octet_length(entry)) over (order by position, event_id) - octet_length(entry) as before
      from (select event_id, position, entry from realtime_waiting order by position, event_id limit $1) oldest
    ) sized where before < $2)
  returning position, entry`;

/**
 * Drops waiting events that are too old, and inserts the row that marks dropped events. $1 the id of that row, $2 maximum age of an
 * event in seconds, $3 row limit. Returns a row for each dropped event.
 */
export const DROP_OLD = `
  with old as (
    delete from realtime_waiting where event_id in (
      select event_id from realtime_waiting
      where position > 0 and created_at < now() - $2 * interval '1 second' order by position limit $3)
    returning 1
  ), marker as (
    insert into realtime_waiting (event_id, position, entry)
    select $1, 0, '' where exists (select from old) on conflict do nothing
  )
  select 1 from old`;

/** Finds waiting entries that contain a text. $1 the text, $2 id of the last event of the previous page, $3 page size. */
export const WAITING_WITH = `
  select event_id, entry from realtime_waiting where event_id > $2 and position($1 in entry) > 0 order by event_id limit $3`;

/**
 * Removes waiting events. $1 ids of events, $2 the id of the row to insert as a mark of dropped events, or null for no mark. Waits for a
 * relay that is moving these events to Redis. Returns a row for each removed event.
 */
export const REMOVE_WAITING = `
  with marker as (
    insert into realtime_waiting (event_id, position, entry) select $2::text, 0, '' where $2::text is not null on conflict do nothing
  )
  delete from realtime_waiting where event_id = any($1) returning 1`;
