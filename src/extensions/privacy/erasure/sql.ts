/** The select list of an erasure. */
const COLUMNS = 'id, user_id, requested_by, status, counts, kept, requested_at, finished_at';

/** $1 id, $2 user, $3 the requesting user. No row: the erasure exists already. */
export const REQUEST = `
  insert into privacy_erasures (id, user_id, requested_by) values ($1, $2, $3)
  on conflict (user_id) do nothing returning ${COLUMNS}`;

/** $1 user. */
export const OF_USER = `select ${COLUMNS} from privacy_erasures where user_id = $1`;

/** $1 id. */
export const READ = `select ${COLUMNS} from privacy_erasures where id = $1`;

/** $1 user or null, $2 status or null, $3 the last id of the previous page or null, $4 page size. Newest first, by id. */
export const LIST = `
  select ${COLUMNS} from privacy_erasures
  where ($1::text is null or user_id = $1) and ($2::text is null or status = $2) and ($3::text is null or id < $3)
  order by id desc limit $4`;

/** $1 maximum number of rows. Uses privacy_erasures_due_at_index. */
export const DUE = 'select id from privacy_erasures where due_at <= now() order by due_at limit $1';

/** $1 id. */
export const CLAIM = 'select user_id, status, looks from privacy_erasures where id = $1 and due_at <= now()';

/** $1 id, $2 the kind, such as `deleted:post`, $3 the number to add. */
export const COUNT = `
  update privacy_erasures
  set counts = counts || jsonb_build_object($2::text, coalesce((counts->>$2)::bigint, 0) + $3::bigint) where id = $1`;

/** $1 id, $2 the data that is kept, $3 ms to the next check. No row: another process has finished it. */
export const FINISH = `
  update privacy_erasures set status = 'finished', finished_at = now(), kept = $2::jsonb,
    due_at = now() + $3 * interval '1 millisecond'
  where id = $1 and status = 'running' returning 1`;

/** $1 id, $2 the e-mail. */
export const NOTICE = 'update privacy_erasures set notice_id = $2 where id = $1';

/** $1 id, $2 number of previous checks, $3 ms to the next check, or null. */
export const RECHECKED = `
  update privacy_erasures set looks = looks + 1, due_at = now() + $3::float8 * interval '1 millisecond'
  where id = $1 and looks = $2`;

/**
 * $1 maximum number of rows. Removes sent notices, because they contain the user's address. E-mails captured in development stay. Uses
 * privacy_erasures_notice_id_index.
 */
export const FORGET_NOTICES = `
  with told as (
    select e.id, e.notice_id from privacy_erasures e left join mails m on m.id = e.notice_id
    where e.notice_id is not null and (m.id is null or m.finished_at is not null) limit $1
  ), removed as (
    delete from mails using told where mails.id = told.notice_id and mails.status <> 'captured'
  )
  update privacy_erasures e set notice_id = null from told where e.id = told.id returning 1`;
