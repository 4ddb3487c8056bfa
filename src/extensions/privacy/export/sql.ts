import { leaseSql } from '../../../extension/index.ts';

/** The select list of an export. */
const COLUMNS = 'id, user_id, requested_by, status, secret, records, bytes, created_at, finished_at, expires_at';

/** A row of `COLUMNS`. */
export type ExportRow = [
  id: string,
  userId: string,
  requestedBy: string,
  status: 'waiting' | 'running' | 'ready' | 'failed',
  secret: string,
  records: number,
  bytes: number | null,
  createdAt: string,
  finishedAt: string | null,
  expiresAt: string | null,
];

/** `held`: $1 export, $2 number of the claim. No row: another worker has claimed the export, or it was deleted. */
export const LEASES = leaseSql({
  table: 'privacy_exports',
  fence: { id: 'text', attempts: 'int' },
  until: 'lease_until',
  leaseSeconds: 30,
  open: `status = 'running'`,
});

/** $1 id, $2 user, $3 requester, $4 secret, $5 hash of the token. No row: the requester already has an export of this user. */
export const INSERT_EXPORT = `
  insert into privacy_exports (id, user_id, requested_by, secret, token_hash, lease_until)
  values ($1, $2, $3, $4, $5, now() + interval '10 seconds')
  on conflict (user_id, requested_by) do nothing returning ${COLUMNS}`;

/** $1 user, $2 requester. Uses privacy_exports_user_unique. */
export const SELECT_EXPORT = `
  select ${COLUMNS} from privacy_exports
  where user_id = $1 and requested_by = $2 and (expires_at is null or expires_at > now())`;

/** Removes the requester's export of a user if it has expired. $1 user, $2 requester. */
export const REMOVE_EXPIRED_OF =
  'delete from privacy_exports where user_id = $1 and requested_by = $2 and expires_at <= now()';

/** Removes the requester's export of a user. $1 user, $2 requester. */
export const REMOVE_EXPORT = 'delete from privacy_exports where user_id = $1 and requested_by = $2';

/** $1 export. */
export const SELECT_EXPORT_BY_ID = `select ${COLUMNS} from privacy_exports where id = $1`;

/** $1 hash of a token. Uses privacy_exports_token_hash_unique. */
export const FIND_BY_TOKEN = `
  select ${COLUMNS} from privacy_exports where token_hash = $1 and status = 'ready' and expires_at > now()`;

/** $1 export. No row: the export is finished, deleted, or claimed by another worker. */
export const CLAIM_EXPORT = `
  update privacy_exports set status = 'running', attempts = attempts + 1, records = 0, lease_until = ${LEASES.end}
  where id = $1 and status in ('waiting', 'running') and (attempts = 0 or lease_until <= now())
  returning attempts, ${COLUMNS}`;

/** $1 export. Removes the chunks that an earlier attempt stored. */
export const REMOVE_CHUNKS = 'delete from privacy_export_chunks where export_id = $1';

/** Stores a chunk of the file. $1 export, $2 number of the claim, $3 records so far, $4 position of the chunk, $5 its data. */
export const STORE_CHUNK = `
  with fenced as (
    update privacy_exports set records = $3, lease_until = ${LEASES.end} where ${LEASES.held} returning id
  )
  insert into privacy_export_chunks (export_id, position, data) select id, $4::integer, $5::bytea from fenced returning 1`;

/** Marks an export as ready. $1 export, $2 number of the claim, $3 records, $4 size in bytes, $5 hours to keep the export. */
export const MARK_EXPORT_READY = `
  update privacy_exports set status = 'ready', records = $3, bytes = $4, finished_at = now(),
    expires_at = now() + $5::float8 * interval '1 hour'
  where ${LEASES.held} returning 1`;

/** $1 export, $2 number of the claim, $3 maximum number of attempts. Returns the new status. A failed export is shown for an hour. */
export const STORE_FAILED_ATTEMPT = `
  update privacy_exports set lease_until = now(),
    status = case when attempts >= $3 then 'failed' else 'waiting' end,
    finished_at = case when attempts >= $3 then now() end,
    expires_at = case when attempts >= $3 then now() + interval '1 hour' end
  where ${LEASES.held} returning status`;

/** Exports that wait without a job, or whose worker died. Uses privacy_exports_open_index. */
export const SELECT_OVERDUE_EXPORTS = `
  select id from privacy_exports where status in ('waiting', 'running') and lease_until <= now() limit 1000`;

/** $1 export, $2 position of the chunk. */
export const READ_CHUNK = 'select data from privacy_export_chunks where export_id = $1 and position = $2';

/**
 * Deletes exports of users who are deleted or being erased, and exports that may not be downloaded any more. $1 maximum number of rows.
 *
 * @param users the table of users
 * @param has whether the user resource has the fields `status` and `roles`
 */
export const removeInvalidSql = (users: string, has: { status: boolean; roles: boolean }) => `
  delete from privacy_exports where id in (
    select e.id from privacy_exports e
    where not exists (select from ${users} u where u.id = e.user_id ${has.status ? `and coalesce(u.status, '') <> 'deleting'` : ''})
      or not exists (select from ${users} u where u.id = e.requested_by
        ${has.status ? `and coalesce(u.status, 'active') = 'active'` : ''}
        and (e.requested_by = e.user_id${has.roles ? ` or 'admin' = any(u.roles)` : ''}))
    limit $1 for update of e skip locked)
  returning 1`;
