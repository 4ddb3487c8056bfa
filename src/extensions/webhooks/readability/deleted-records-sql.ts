/**
 * $1 deletion events, $2 resources, $3 records, $4 their owners, $5 the records as JSON, $6 or as ciphertext. Stores nothing if there are no
 * endpoints.
 */
export const INSERT_DELETED = `
  insert into webhook_deleted_records (id, resource, record_id, owner_id, record, encrypted_record)
  select r.* from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::jsonb[], $6::text[]) as r
  where exists (select from webhook_endpoints where removed_at is null)
  on conflict (id) do nothing`;

const KEPT = `
  select d.resource, d.id, d.record, d.encrypted_record, d.record_id
  from unnest($1::text[], $2::text[]) as r(resource, record_id)
    join webhook_deleted_records d on d.record_id = r.record_id and d.resource = r.resource`;

/** The newest copy of each record: a restored record can be deleted again. */
const newest = (from: string) => `
  select distinct on (resource, record_id) resource, id, record, encrypted_record
  from (${from}) found order by resource, record_id, id desc`;

/** $1 resources, $2 records. By webhook_deleted_records_record_id_index. */
export const READ_DELETED = newest(KEPT);

/** The same, with deletions that still wait in the outbox. The outbox has no index by record, so use it for few records only. */
export const READ_DELETED_OR_WAITING = newest(`${KEPT}
  union all
  select o.resource, o.event_id, o.payload -> 'record', null, o.record_id
  from unnest($1::text[], $2::text[]) as r(resource, record_id)
    join outbox o on o.record_id = r.record_id and o.name = r.resource || '.deleted'`);

/** $1 ms that copies are kept, $2 how many. By the primary key: ids begin with the second of their creation. Returns the number deleted. */
export const DELETE_DELETED = `
  with gone as (
    delete from webhook_deleted_records where id in (
      select id from webhook_deleted_records
      where id < to_hex(floor(extract(epoch from now() - $1 * interval '1 millisecond'))::bigint)
      order by id limit $2 for update skip locked)
    returning 1
  )
  select count(*) from gone`;
