/** Deletes hours that are older than 15 days, the oldest first. $1 maximum number of rows. Uses webhook_endpoint_stats_hour_index. */
export const DELETE_OLD_STATISTICS = `
  delete from webhook_endpoint_stats where (endpoint_id, hour) in (
    select endpoint_id, hour from webhook_endpoint_stats where hour <= now() - interval '15 days'
    order by hour limit $1 for update skip locked)
  returning 1`;

/** Deletes the hours of removed endpoints. $1 maximum number of rows. Uses webhook_endpoints_removed_index and the primary key. */
export const DELETE_STATISTICS_OF_REMOVED = `
  delete from webhook_endpoint_stats where (endpoint_id, hour) in (
    select s.endpoint_id, s.hour from webhook_endpoints e cross join lateral (
      select endpoint_id, hour from webhook_endpoint_stats where endpoint_id = e.id order by hour limit $1 for update skip locked) s
    where e.removed_at is not null limit $1)
  returning 1`;
