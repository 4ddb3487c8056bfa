import type { UserData } from '../declare/host.ts';
import { readRowsInPages } from '../platform/data/postgres/scan.ts';
import type { Sweep } from '../platform/work/outbox/relay.ts';
import { LATE_WRITE_MS, type StoredVariant } from './store/store.ts';
import type { FilesContext } from './uploads/context.ts';
import { uploadKeyOf } from './uploads/uploads.ts';

const EVERY_MS = 60_000;
const BATCH_ROWS = 100;
/** Maximum number of batches in one sweep, because a stopping process waits for the sweep in progress. */
const MAX_BATCHES = 20;
/** Minutes after which another sweep tries again to remove the bytes of a file. */
const RETRY_MINUTES = 5;

// Uses stored_files_due_at_index. A file in the state `removing` can no longer be attached.
const CLAIM = `
  update stored_files files set state = case state when 'emptied' then 'emptied' else 'removing' end, due_at = now() + interval '${RETRY_MINUTES} minutes'
  where id in (select id from stored_files files where due_at <= now() order by due_at limit $1 for update skip locked)
  returning id, storage_key, received_bytes is not null, variants`;
/** A file to which a request that began earlier may still write: a direct upload or a part of a resumable one. */
const MAY_BE_WRITTEN = `state = 'removing' and (received_bytes is not null or created_at > now() - $2 * interval '1 millisecond')`;
// The bytes of such a file are removed once more, when no request can write them any longer. Until then, only their keys are kept.
const REMOVE = `
  with emptied as (
    update stored_files files set state = 'emptied', due_at = now() + $2 * interval '1 millisecond',
      name = 'file', user_id = null, uploader = 'system', token_hash = null, resource = null, field = null, record_id = null, sha256 = null,
      upload_metadata = null
    where id = any($1) and ${MAY_BE_WRITTEN})
  delete from stored_files files where id = any($1) and state in ('removing', 'emptied') and not (${MAY_BE_WRITTEN})`;

type ClaimedRow = [id: string, key: string, isResumable: boolean, variants: Record<string, StoredVariant> | null];

function keysOf([, storageKey, isResumable, variants]: ClaimedRow): string[] {
  const upload = isResumable ? [uploadKeyOf({ storageKey })] : [];
  return [storageKey, ...upload, ...Object.values(variants ?? {}).map(({ key }) => key)];
}

/**
 * Creates the sweep that removes files which no record uses and uploads that have expired. The rows are deleted after the bytes: if the
 * storage fails or the process dies, a later sweep tries again. Uploads that may still be written are removed a second time, hours later.
 */
export function createFileSweep({ database, storage, log }: Pick<FilesContext, 'database' | 'storage' | 'log'>): Sweep {
  return {
    name: 'unused files',
    everyMs: EVERY_MS,
    async run() {
      let total = 0;
      for (let batch = 0; batch < MAX_BATCHES; batch++) {
        const rows = await database.write<ClaimedRow>({ name: 'files_claim', text: CLAIM, values: [BATCH_ROWS] });
        if (rows.length === 0) break;
        try {
          await storage.remove(rows.flatMap(keysOf));
        } catch (error) {
          log.error({ err: error, files: rows.length }, 'the storage did not remove files; a later sweep tries again');
          break;
        }
        await database.write({ name: 'files_remove', text: REMOVE, values: [rows.map(([id]) => id), LATE_WRITE_MS] });
        total += rows.length;
        if (rows.length < BATCH_ROWS) break;
      }
      return total;
    },
  };
}

const WAITING = `uploader = 'user:' || $1 and state in ('receiving', 'pending')`;
const SELECT_WAITING = `
  select id, name, type, bytes::float8, created_at from stored_files files where ${WAITING} and id > $2 order by id limit $3`;
const ERASE_WAITING = `update stored_files files set state = 'unused', due_at = now(), name = 'file', user_id = null, upload_metadata = null where ${WAITING} returning 1`;

/** Describes a user's uploads that no record uses yet, for exports and erasures. */
export function describeUploadUserData({ database }: Pick<FilesContext, 'database'>): UserData {
  return {
    name: 'fileUploads',
    description: 'Uploaded files that no record uses yet',
    tables: ['stored_files'],
    rows: (userId) => readRowsInPages(database, SELECT_WAITING, ['id', 'name', 'type', 'bytes', 'createdAt'], [userId]),
    erase: async (userId) => (await database.write({ text: ERASE_WAITING, values: [userId] })).length,
  };
}
