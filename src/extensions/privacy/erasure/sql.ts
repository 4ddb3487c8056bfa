/** The select list of an erasure. */
const COLUMNS = 'id, user_id, requested_by, status, counts, kept, requested_at, finished_at';

/** Stores a new erasure. $1 its id, $2 the user to erase, $3 the requester. No row: the user already has an erasure. */
export const INSERT_ERASURE = `
  insert into privacy_erasures (id, user_id, requested_by) values ($1, $2, $3)
  on conflict (user_id) do nothing returning ${COLUMNS}`;

/** Reads the erasure of a user. $1 user. */
export const SELECT_ERASURE_OF_USER = `select ${COLUMNS} from privacy_erasures where user_id = $1`;

/** Reads an erasure. $1 its id. */
export const SELECT_ERASURE = `select ${COLUMNS} from privacy_erasures where id = $1`;

/** $1 user or null, $2 status or null, $3 the last id of the previous page or null, $4 page size. Newest first, by id. */
export const LIST_ERASURES = `
  select ${COLUMNS} from privacy_erasures
  where ($1::text is null or user_id = $1) and ($2::text is null or status = $2) and ($3::text is null or id < $3)
  order by id desc limit $4`;

/** Finds erasures whose job must run now. $1 maximum number of rows. Uses privacy_erasures_due_at_index. */
export const SELECT_DUE_ERASURE_IDS = 'select id from privacy_erasures where due_at <= now() order by due_at limit $1';

/** Reads an erasure for its job. $1 its id. No row: the job does not have to run now. */
export const SELECT_DUE_ERASURE =
  'select user_id, status, looks from privacy_erasures where id = $1 and due_at <= now()';

/** Adds to a count of the report. $1 erasure, $2 name of the count, such as `deleted:post`, $3 number of rows to add. */
export const ADD_TO_COUNT = `
  update privacy_erasures
  set counts = counts || jsonb_build_object($2::text, coalesce((counts->>$2)::bigint, 0) + $3::bigint) where id = $1`;

/** $1 erasure, $2 list of kept data (JSON), $3 ms until the first check for late data. No row: another process has finished the erasure. */
export const FINISH_ERASURE = `
  update privacy_erasures set status = 'finished', finished_at = now(), kept = $2::jsonb,
    due_at = now() + $3 * interval '1 millisecond'
  where id = $1 and status = 'running' returning 1`;

/** $1 erasure, $2 id of the e-mail that confirms the erasure. */
export const STORE_NOTICE_ID = 'update privacy_erasures set notice_id = $2 where id = $1';

/** Counts a check for late data. $1 erasure, $2 number of earlier checks, $3 ms until the next check; null after the last one. */
export const COUNT_RECHECK = `
  update privacy_erasures set looks = looks + 1, due_at = now() + $3::float8 * interval '1 millisecond'
  where id = $1 and looks = $2`;

/**
 * $1 maximum number of rows. Removes sent notices, because they contain the user's address. E-mails captured in development stay. Uses
 * privacy_erasures_notice_id_index.
 */
export const REMOVE_SENT_NOTICES = `
  with sent as (
    select e.id, e.notice_id from privacy_erasures e left join mails m on m.id = e.notice_id
    where e.notice_id is not null and (m.id is null or m.finished_at is not null) limit $1
  ), removed as (
    delete from mails using sent where mails.id = sent.notice_id and mails.status <> 'captured'
  )
  update privacy_erasures e set notice_id = null from sent where e.id = sent.id returning 1`;
