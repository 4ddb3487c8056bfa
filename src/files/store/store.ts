import type { StoredFile } from '../../declare/file.ts';
import type { Database, Executor } from '../../platform/data/postgres/database.ts';
import { newId } from '../../platform/helpers/ids.ts';

/** A variant of an image, as its row holds it. */
export interface StoredVariant {
  key: string;
  type: string;
  bytes: number;
  width: number;
  height: number;
}

/** A row of the table `stored_files`. */
export interface FileRow {
  id: string;
  state: string;
  resource: string | null;
  field: string | null;
  recordId: string | null;
  userId: string | null;
  tokenHash: string | null;
  storageKey: string;
  name: string;
  type: string;
  bytes: number;
  receivedBytes: number | null;
  uploadMetadata: string | null;
  sha256: string | null;
  width: number | null;
  height: number | null;
  variants: Record<string, StoredVariant> | null;
  dueAt: string | null;
}

/** Whether a sweep removes, or has removed, the bytes of a file. */
export function isRemoved({ state }: Pick<FileRow, 'state'>): boolean {
  return state === 'removing' || state === 'emptied';
}

/** A new upload. */
type NewUpload = Pick<
  FileRow,
  'id' | 'resource' | 'field' | 'userId' | 'tokenHash' | 'storageKey' | 'name' | 'type' | 'bytes' | 'uploadMetadata'
> & { uploader: string; isResumable: boolean; variants: Record<string, { key: string }> | undefined };

/** What is known of a file once its bytes are stored. */
export interface StoredContent {
  type: string;
  bytes: number;
  sha256?: string | undefined;
  width?: number | undefined;
  height?: number | undefined;
  variants?: Record<string, StoredVariant> | undefined;
}

/** A new copy of a resumable upload. Its row exists before its bytes, so that a sweep removes them if the process dies. */
interface UploadCopy {
  /** The id of the row. */
  id: string;
  storageKey: string;
  /** The keys of its image variants, by name. */
  variants: Record<string, { key: string }> | undefined;
}

/** Lifetime in ms of a URL for a direct upload. */
export const DIRECT_UPLOAD_MS = 60 * 60_000;
/**
 * Time in ms after which a request that began before can no longer store bytes: a direct upload begins at the latest when its URL expires, and
 * a part of a resumable upload (8 MiB at the minimum of 1 KiB a second) takes 2.3 hours.
 */
export const LATE_WRITE_MS = DIRECT_UPLOAD_MS + 2 * 60 * 60_000;
/** Copies of one upload that may be made within ten minutes: a client could otherwise fill the storage with them. */
const MAX_COPIES = 4;

/** Limits of the uploads of one uploader to which no record refers yet. */
export interface PendingLimits {
  count: number;
  bytes: number;
  hours: number;
}

const COLUMNS = `id, state, resource, field, record_id, user_id, token_hash, storage_key, name, type, bytes::float8, received_bytes::float8,
  upload_metadata, sha256, width, height, variants, due_at`;

const toRow = (row: readonly unknown[]): FileRow => {
  const [id, state, resource, field, recordId, userId, tokenHash, storageKey, name, type, ...more] = row as never[];
  const [bytes, receivedBytes, uploadMetadata, sha256, width, height, variants, dueAt] = more;
  return {
    ...{ id: id!, state: state!, resource: resource!, field: field!, recordId: recordId!, userId: userId! },
    ...{ tokenHash: tokenHash!, storageKey: storageKey!, name: name!, type: type!, bytes: bytes! },
    ...{ receivedBytes: receivedBytes!, sha256: sha256!, width: width!, height: height!, variants: variants! },
    ...{ uploadMetadata: uploadMetadata!, dueAt: dueAt! },
  };
};

/** Returns the metadata that a record holds of a file. */
export function toStoredFile({ id, name, type, bytes, sha256, width, height, variants }: FileRow): StoredFile {
  const names = Object.keys(variants ?? {});
  return {
    ...{ id, name, type, bytes },
    ...(sha256 !== null && { sha256 }),
    ...(width !== null && { width }),
    ...(height !== null && { height }),
    ...(names.length > 0 && { variants: names }),
  };
}

/** Counts and inserts of one uploader run one after the other, so that concurrent uploads cannot exceed the limits together. */
const LOCK_UPLOADER = `select pg_advisory_xact_lock(hashtextextended('files ' || $1, 0))`;
// Uses stored_files_uploader_index.
const INSERT = `
  insert into stored_files (id, state, due_at, resource, field, user_id, uploader, token_hash, storage_key, name, type, bytes, received_bytes,
    variants, upload_metadata)
  select $1, 'receiving', now() + $15 * interval '1 hour', $2, $3, $4, $5, $6, $7, $8, $9, $10::bigint, $11::bigint, $12::jsonb, $16
  from (select count(*) as files, coalesce(sum(bytes), 0) as bytes from stored_files files
    where uploader = $5 and state in ('receiving', 'pending')) waiting
  where $5 = 'system' or (waiting.files < $13 and waiting.bytes + $10::bigint <= $14)
  returning 1`;
const FINISH = `
  update stored_files files set state = 'pending', type = $2, bytes = $3, received_bytes = null, sha256 = $4, width = $5, height = $6,
    variants = $7::jsonb, due_at = now() + $8 * interval '1 hour'
  where id = $1 and state = 'receiving'
  returning ${COLUMNS}`;
const LOCK_UPLOAD = `select 1 from stored_files files where id = $1 for update`;
// The copy outlives the upload, so that a sweep does not remove it while it is made.
const START_COPY = `
  insert into stored_files (id, state, due_at, record_id, uploader, storage_key, name, type, bytes, variants)
  select $2, 'unused', due_at + $5 * interval '1 millisecond', id, 'system', $3, 'file', type, 0, $4::jsonb
  from stored_files files
  where id = $1 and state = 'receiving' and received_bytes = bytes and (select count(*) from stored_files copies where record_id = $1 and resource is null and created_at > now() - interval '10 minutes')
    < ${MAX_COPIES}
  returning 1`;
/**
 * Makes copy $9 the content of upload $1. A late part may still store bytes of the upload, so a new row $10 lets a sweep remove what is stored
 * under its key $11 later.
 */
const FINISH_COPY = `
  with upload as (select id from stored_files files where id = $1 and state = 'receiving' for update),
  copy as (delete from stored_files files using upload where files.id = $9 and files.state = 'unused' returning files.storage_key),
  finished as (
    update stored_files files set state = 'pending', type = $2, bytes = $3, received_bytes = null, sha256 = $4, width = $5, height = $6,
      variants = $7::jsonb, due_at = now() + $8 * interval '1 hour', storage_key = copy.storage_key
    from copy where files.id = $1
    returning ${COLUMNS.replaceAll('storage_key', 'files.storage_key')}),
  late as (
    insert into stored_files (id, state, due_at, uploader, storage_key, name, type, bytes)
    select $10, 'unused', now() + $12 * interval '1 millisecond', 'system', $11, 'file', type, 0 from finished)
  select * from finished`;
const DISCARD = `
  update stored_files files set state = 'unused', due_at = now()
  where id = any($1) and (state = any($2) or (state = 'unused' and resource is null)) returning 1`;
const FIND = `select ${COLUMNS} from stored_files files where id = any($1)`;
const START_PART = `
  update stored_files files set fence = fence + 1
  where id = $1 and state = 'receiving' and received_bytes = $2::bigint returning fence`;
const END_PART = `
  update stored_files files set received_bytes = $4::bigint
  where id = $1 and state = 'receiving' and fence = $2 and received_bytes = $3::bigint returning 1`;

/**
 * Attaches the pending files among $1 to record $2 and returns which files of $1 are attached to it. $3 resource, $4 fields (array, one for
 * each file). The trigger on the record's table has already updated the files that it referred to before.
 */
const ATTACH = `
  with given as (select * from unnest($1::text[], $4::text[]) as given(id, field)),
  claimed as (
    update stored_files files set state = 'attached', due_at = null, record_id = $2, resource = $3, field = given.field, upload_metadata = null
    from given where files.id = given.id and files.state = 'pending'
      and (files.field is null or (files.resource = $3 and files.field = given.field))
    returning files.id)
  select id from claimed
  union all
  select files.id from stored_files files join given on given.id = files.id
  where files.state = 'attached' and files.record_id = $2 and files.resource = $3 and files.field = given.field`;

/** The rows of files. */
export interface FileStore {
  /** Inserts an upload in progress. Returns false if the uploader has too many pending uploads. */
  insert(upload: NewUpload, limits: PendingLimits): Promise<boolean>;
  /** Stores the content of an upload, which is then pending. Returns undefined if the upload was removed meanwhile. */
  finish(id: string, content: StoredContent, limits: PendingLimits): Promise<FileRow | undefined>;
  /**
   * Begins a copy of a complete resumable upload, under a key of its own: two requests that complete the upload at the same time cannot change
   * each other's copy after it was checked. Returns false if the upload was removed or if too many copies were begun.
   */
  startCopy(uploadId: string, copy: UploadCopy): Promise<boolean>;
  /** Makes a copy the content of its upload, which is then pending. Returns undefined if the upload was finished or removed meanwhile. */
  finishCopy(
    upload: { id: string; key: string },
    copy: UploadCopy,
    content: StoredContent,
    limits: PendingLimits,
  ): Promise<FileRow | undefined>;
  /** Lets the next sweep remove copies, and uploads that no record refers to. Returns how many there were. @param states default: both */
  discard(ids: readonly string[], states?: readonly ('receiving' | 'pending')[]): Promise<number>;
  /** Returns files by id; unknown ids are left out. */
  find(ids: readonly string[]): Promise<FileRow[]>;
  /** Begins a part of a resumable upload at an offset. Returns the fence of the part; undefined if the upload is not at this offset. */
  startPart(id: string, offset: number): Promise<number | undefined>;
  /** Stores the progress of a part. Returns false if a later request has taken over. */
  endPart(id: string, fence: number, offset: number, length: number): Promise<boolean>;
  /** Attaches files to a record, in its transaction. Returns the ids that are attached to it now. */
  attach(
    record: { resource: string; id: string },
    files: readonly { id: string; field: string }[],
    transaction: Executor,
  ): Promise<string[]>;
}

/** The values of the parameters $1 to $8 of `FINISH` and `FINISH_COPY`. */
function contentValues(
  id: string,
  { type, bytes, sha256, width, height, variants }: StoredContent,
  hours: number,
): unknown[] {
  const variantsJson = variants === undefined ? null : JSON.stringify(variants);
  return [id, type, bytes, sha256 ?? null, width ?? null, height ?? null, variantsJson, hours];
}

/** Creates the access to the table `stored_files`. */
export function createFileStore(database: Database): FileStore {
  return {
    insert: (upload, limits) =>
      database.transaction(async (tx) => {
        const { id, resource, field, userId, uploader, tokenHash, storageKey, name, type, bytes, isResumable } = upload;
        const owner = [id, resource, field, userId, uploader, tokenHash];
        const planned = upload.variants === undefined ? null : JSON.stringify(upload.variants);
        const content = [storageKey, name, type, bytes, isResumable ? 0 : null, planned];
        if (uploader !== 'system') await tx.write({ text: LOCK_UPLOADER, values: [uploader] });
        const values = [...owner, ...content, limits.count, limits.bytes, limits.hours, upload.uploadMetadata];
        return (await tx.write({ name: 'files_insert', text: INSERT, values })).length > 0;
      }),
    async finish(id, content, { hours }) {
      const values = contentValues(id, content, hours);
      const [row] = await database.write({ name: 'files_finish', text: FINISH, values });
      return row && toRow(row);
    },
    startCopy: (uploadId, { id, storageKey, variants }) =>
      database.transaction(async (tx) => {
        // A second statement counts what others have inserted while this one waited.
        await tx.write({ text: LOCK_UPLOAD, values: [uploadId] });
        const variantsJson = variants === undefined ? null : JSON.stringify(variants);
        const values = [uploadId, id, storageKey, variantsJson, LATE_WRITE_MS];
        return (await tx.write({ name: 'files_start_copy', text: START_COPY, values })).length > 0;
      }),
    async finishCopy({ id, key }, copy, content, { hours }) {
      const values = [...contentValues(id, content, hours), copy.id, newId(), key, LATE_WRITE_MS];
      const [row] = await database.write({ name: 'files_finish_copy', text: FINISH_COPY, values });
      return row && toRow(row);
    },
    async discard(ids, states = ['receiving', 'pending']) {
      return (await database.write({ name: 'files_discard', text: DISCARD, values: [ids, states] })).length;
    },
    find: async (ids) => (await database.write({ name: 'files_find', text: FIND, values: [ids] })).map(toRow),
    async startPart(id, offset) {
      const [row] = await database.write<[number]>({
        name: 'files_start_part',
        text: START_PART,
        values: [id, offset],
      });
      return row?.[0];
    },
    endPart: async (id, fence, offset, length) =>
      (await database.write({ name: 'files_end_part', text: END_PART, values: [id, fence, offset, length] })).length >
      0,
    async attach({ resource, id }, files, transaction) {
      const values = [files.map((file) => file.id), id, resource, files.map((file) => file.field)];
      return (await transaction.write<[string]>({ name: 'files_attach', text: ATTACH, values })).map(([file]) => file);
    },
  };
}
