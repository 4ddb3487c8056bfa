import type { StoredFile } from '../declare/file.ts';
import type { Database, Executor } from '../platform/postgres/database.ts';

/** A variant of an image, as its row holds it. */
export interface StoredVariant {
  key: string;
  type: string;
  bytes: number;
  width: number;
  height: number;
}

/** A row of the table `files`. */
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
  sha256: string | null;
  width: number | null;
  height: number | null;
  variants: Record<string, StoredVariant> | null;
  dueAt: string | null;
}

/** A new upload. */
export type NewUpload = Pick<
  FileRow,
  'id' | 'resource' | 'field' | 'userId' | 'tokenHash' | 'storageKey' | 'name' | 'type' | 'bytes'
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

/** Limits of the uploads of one uploader to which no record refers yet. */
export interface PendingLimits {
  count: number;
  bytes: number;
  hours: number;
}

const COLUMNS = `id, state, resource, field, record_id, user_id, token_hash, storage_key, name, type, bytes::float8, received_bytes::float8,
  sha256, width, height, variants, due_at`;

const toRow = (row: readonly unknown[]): FileRow => {
  const [id, state, resource, field, recordId, userId, tokenHash, storageKey, name, type, ...more] = row as never[];
  const [bytes, receivedBytes, sha256, width, height, variants, dueAt] = more;
  return {
    ...{ id: id!, state: state!, resource: resource!, field: field!, recordId: recordId!, userId: userId! },
    ...{ tokenHash: tokenHash!, storageKey: storageKey!, name: name!, type: type!, bytes: bytes! },
    ...{ receivedBytes: receivedBytes!, sha256: sha256!, width: width!, height: height!, variants: variants! },
    dueAt: dueAt!,
  };
};

/** Returns the metadata that a record holds of a file. */
export function metadataOf({ id, name, type, bytes, sha256, width, height, variants }: FileRow): StoredFile {
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
// Uses files_uploader_index.
const INSERT = `
  insert into files (id, state, due_at, resource, field, user_id, uploader, token_hash, storage_key, name, type, bytes, received_bytes,
    variants)
  select $1, 'receiving', now() + $15 * interval '1 hour', $2, $3, $4, $5, $6, $7, $8, $9, $10::bigint, $11::bigint, $12::jsonb
  from (select count(*) as files, coalesce(sum(bytes), 0) as bytes from files
    where uploader = $5 and state in ('receiving', 'pending')) waiting
  where $5 = 'system' or (waiting.files < $13 and waiting.bytes + $10::bigint <= $14)
  returning 1`;
const FINISH = `
  update files set state = 'pending', type = $2, bytes = $3, received_bytes = null, sha256 = $4, width = $5, height = $6,
    variants = $7::jsonb, due_at = now() + $8 * interval '1 hour'
  where id = $1 and state = 'receiving'
  returning ${COLUMNS}`;
const DISCARD = `
  update files set state = 'unused', due_at = now()
  where id = any($1) and state in ('receiving', 'pending') returning 1`;
const FIND = `select ${COLUMNS} from files where id = any($1)`;
const START_PART = `
  update files set fence = fence + 1
  where id = $1 and state = 'receiving' and received_bytes = $2::bigint returning fence`;
const END_PART = `
  update files set received_bytes = $4::bigint
  where id = $1 and state = 'receiving' and fence = $2 and received_bytes = $3::bigint returning 1`;

/**
 * Attaches the pending files among $1 to record $2 and returns which files of $1 are attached to it. $3 resource, $4 fields (array, one for
 * each file). The trigger on the record's table has already updated the files that it referred to before.
 */
const ATTACH = `
  with given as (select * from unnest($1::text[], $4::text[]) as given(id, field)),
  claimed as (
    update files set state = 'attached', due_at = null, record_id = $2, resource = $3, field = given.field
    from given where files.id = given.id and files.state = 'pending'
      and (files.field is null or (files.resource = $3 and files.field = given.field))
    returning files.id)
  select id from claimed
  union all
  select files.id from files join given on given.id = files.id
  where files.state = 'attached' and files.record_id = $2 and files.resource = $3 and files.field = given.field`;

/** The rows of files. */
export interface FileStore {
  /** Inserts an upload in progress. Returns false if the uploader has too many pending uploads. */
  insert(upload: NewUpload, limits: PendingLimits): Promise<boolean>;
  /** Stores the content of an upload, which is then pending. Returns undefined if the upload was removed meanwhile. */
  finish(id: string, content: StoredContent, limits: PendingLimits): Promise<FileRow | undefined>;
  /** Lets the next sweep remove uploads that no record refers to. Returns how many there were. */
  discard(ids: readonly string[]): Promise<number>;
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

/** Creates the access to the table `files`. */
export function createFileStore(database: Database): FileStore {
  return {
    insert: (upload, limits) =>
      database.transaction(async (tx) => {
        const { id, resource, field, userId, uploader, tokenHash, storageKey, name, type, bytes, isResumable } = upload;
        const owner = [id, resource, field, userId, uploader, tokenHash];
        const planned = upload.variants === undefined ? null : JSON.stringify(upload.variants);
        const content = [storageKey, name, type, bytes, isResumable ? 0 : null, planned];
        if (uploader !== 'system') await tx.write({ text: LOCK_UPLOADER, values: [uploader] });
        const values = [...owner, ...content, limits.count, limits.bytes, limits.hours];
        return (await tx.write({ name: 'files_insert', text: INSERT, values })).length > 0;
      }),
    async finish(id, { type, bytes, sha256, width, height, variants }, { hours }) {
      const values = [id, type, bytes, sha256 ?? null, width ?? null, height ?? null];
      const shown = variants === undefined ? null : JSON.stringify(variants);
      const [row] = await database.write({ name: 'files_finish', text: FINISH, values: [...values, shown, hours] });
      return row && toRow(row);
    },
    discard: async (ids) => (await database.write({ name: 'files_discard', text: DISCARD, values: [ids] })).length,
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
