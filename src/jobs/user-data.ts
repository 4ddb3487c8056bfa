import type { UserData } from '../declare/host.ts';
import type { Database } from '../platform/data/postgres/database.ts';
import { readRowsInPages } from '../platform/data/postgres/scan.ts';
import { writeInBatches } from '../platform/data/postgres/write-in-batches.ts';

// Uses index background_jobs_user_index.
const ROWS = `
  select id, name, status, input, result, error, created_at, finished_at from background_jobs
  where user_id = $1 and id > $2 order by id limit $3`;
const ROW_NAMES = ['id', 'job', 'status', 'input', 'result', 'error', 'createdAt', 'finishedAt'];
// A job holds up to 128 KB.
const ROWS_PER_PAGE = 100;

// Removes finished jobs of the user $1, and frees the others of the user. Uses index background_jobs_user_index.
const ERASE = `
  with own as materialized (
    select id, finished_at from background_jobs where user_id = $1 order by id limit $2 for update
  ), removed as (
    delete from background_jobs where id in (select id from own where finished_at is not null)
  ), freed as (
    update background_jobs set user_id = null, request_id = null where id in (select id from own where finished_at is null)
  )
  select 1 from own`;

/** Describes the jobs that requests of a user enqueued: how to export and to erase them. */
export function createJobUserData(database: Database): UserData {
  return {
    name: 'jobs',
    description: 'Background jobs that requests of the user enqueued',
    tables: ['background_jobs'],
    kept: 'Jobs that have not finished still run, without the user. Their input is removed with the other finished jobs',
    rows: (userId) => readRowsInPages(database, ROWS, ROW_NAMES, [userId], ROWS_PER_PAGE),
    erase: (userId) => writeInBatches(database, ERASE, [userId]),
  };
}
