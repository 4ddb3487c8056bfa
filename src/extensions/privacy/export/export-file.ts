import { ApiError, type Database, type FilesApi, type StoredFile, type Viewer } from '../../../extension/index.ts';
import type { ZipEntry } from './zip.ts';

/** The batch size and the callbacks that the writer of one export file uses. */
export interface ExportWriteContext {
  /** The connections to read records from. */
  database: Pick<Database, 'holdConnection'>;
  /** Returns the number of rows to read next. */
  batchRows: () => number;
  /** Names of fields that are stored but not exported. The file adds to the set while its rows are read. */
  leftOut: Set<string>;
  /** Adds a file that an exported record holds. */
  addStoredFile: (file: StoredFile) => void;
  /** Called for each record with a value that cannot be decrypted. */
  onUnreadable: () => void;
}

/** A file of an export, with one line of JSON per row. */
export interface ExportFile {
  path: string;
  /** The name of the resource or of the user data that the file contains. */
  holds: string;
  /** Description of the content for the reader of the manifest. */
  description: string;
  /** Reads the rows in batches. */
  rows(user: Viewer, writing: ExportWriteContext): AsyncIterable<Record<string, unknown>[]>;
}

const FIRST_BATCH_ROWS = 20;
const MAX_BATCH_ROWS = 1000;
/** Target size of a batch. A batch is held in memory as a whole, so larger rows are read in smaller batches. */
const BATCH_BYTES = 512 * 1024;

/** The entry of a file in `manifest.json`. */
interface ManifestFile {
  file: string;
  holds: string;
  description: string;
  records: number;
  deleted: number;
  leftOut: string[];
  unreadable: number;
}

/** An archive entry for a file. `written` is complete after the content of the file has been read. */
interface FileEntry extends ZipEntry {
  written: ManifestFile;
  /** The files that the records hold. */
  stored: readonly StoredFile[];
}

/** Returns how many rows to read next, given the size of the last batch, so that each batch takes about the same memory. */
function computeNextBatchRows(rows: number, bytes: number): number {
  const fitting = Math.floor((rows * BATCH_BYTES) / Math.max(bytes, 1));
  return Math.max(1, Math.min(fitting, rows * 2, MAX_BATCH_ROWS));
}

/** Creates the archive entry of a file with one line of JSON per row (NDJSON). */
export function createFileEntry(
  { path, holds, description, rows }: ExportFile,
  user: Viewer,
  database: ExportWriteContext['database'],
): FileEntry {
  const leftOut = new Set<string>();
  const stored: StoredFile[] = [];
  const written: ManifestFile = { file: path, holds, description, records: 0, deleted: 0, leftOut: [], unreadable: 0 };
  let batchRows = FIRST_BATCH_ROWS;
  const writing = {
    database,
    batchRows: () => batchRows,
    leftOut,
    addStoredFile: (found: StoredFile) => stored.push(found),
    onUnreadable: () => {
      written.unreadable += 1;
    },
  };
  return {
    path,
    written,
    stored,
    async *content() {
      for await (const batch of rows(user, writing)) {
        if (batch.length === 0) continue;
        const lines = Buffer.from(batch.map((row) => `${JSON.stringify(row)}\n`).join(''));
        written.records += batch.length;
        written.deleted += batch.filter((row) => row.deletedAt !== undefined).length;
        batchRows = computeNextBatchRows(batch.length, lines.length);
        yield lines;
      }
      written.leftOut = [...leftOut];
    },
  };
}

/** Maximum bytes of stored files in one export, because an export is kept in Postgres. */
const MAX_STORED_BYTES = 2 ** 30;

/** How many of the stored files an export contains. Complete after their entries have been read. */
export interface StoredFilesResult {
  included: number;
  /** Ids of files that were too large for the export, or whose bytes are missing. */
  leftOut: string[];
}

/** Creates the entries of the files that the records of earlier entries hold. */
export function* createStoredFileEntries(
  entries: readonly FileEntry[],
  files: FilesApi,
  result: StoredFilesResult,
): Generator<ZipEntry> {
  let bytes = 0;
  const unique = new Map(entries.flatMap(({ stored }) => stored.map((file) => [file.id, file] as const)));
  for (const file of unique.values()) {
    if (bytes + file.bytes > MAX_STORED_BYTES) {
      result.leftOut.push(file.id);
      continue;
    }
    bytes += file.bytes;
    yield {
      path: `files/${file.id}/${file.name}`,
      async *content() {
        try {
          yield* (await files.read(file)) as AsyncIterable<Buffer>;
          result.included += 1;
        } catch (error) {
          if (!(error instanceof ApiError && error.code === 'NOT_FOUND')) throw error;
          result.leftOut.push(file.id);
        }
      },
    };
  }
}

/** Creates the last entry, the manifest: it lists what the other entries contain, and what is left out. */
export function createManifestEntry(
  about: { user: string; requestedAt: string },
  files: readonly FileEntry[],
  stored: StoredFilesResult,
): ZipEntry {
  return {
    path: 'manifest.json',
    async *content() {
      const writtenFiles = files.map(({ written }) => written);
      const storedFiles = stored.included + stored.leftOut.length > 0 ? { storedFiles: stored } : {};
      yield Buffer.from(
        `${JSON.stringify({ format: 1, ...about, madeAt: new Date().toISOString(), files: writtenFiles, ...storedFiles }, null, 2)}\n`,
      );
    },
  };
}
