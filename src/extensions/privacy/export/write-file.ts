import type { Viewer } from '../../../declare/actor.ts';
import type { ExportFile } from './export-file.ts';
import type { Entry } from './zip.ts';

const FIRST_ROWS = 20;
const MAX_ROWS = 1000;
/** A batch is read whole: larger rows come in smaller batches. */
const BATCH_BYTES = 512 * 1024;

/** What the manifest says of a file. */
export interface Written {
  file: string;
  holds: string;
  description: string;
  records: number;
  deleted: number;
  leftOut: string[];
  unreadable: number;
}

/** A file as an entry of the archive, and what is known of it once it is written. */
export interface FileEntry extends Entry {
  written: Written;
}

/** What the next batch has, so that memory holds about the same, whatever the rows are like. */
function nextRows(rows: number, bytes: number): number {
  const fitting = Math.floor((rows * BATCH_BYTES) / Math.max(bytes, 1));
  return Math.max(1, Math.min(fitting, rows * 2, MAX_ROWS));
}

/** The entry of a file: NDJSON. */
export function entryOf({ path, holds, description, rows }: ExportFile, user: Viewer): FileEntry {
  const leftOut = new Set<string>();
  const written: Written = { file: path, holds, description, records: 0, deleted: 0, leftOut: [], unreadable: 0 };
  let atOnce = FIRST_ROWS;
  const writing = {
    atOnce: () => atOnce,
    leftOut,
    onUnreadable: () => {
      written.unreadable += 1;
    },
  };
  return {
    path,
    written,
    async *content() {
      for await (const batch of rows(user, writing)) {
        if (batch.length === 0) continue;
        const lines = Buffer.from(batch.map((row) => `${JSON.stringify(row)}\n`).join(''));
        written.records += batch.length;
        written.deleted += batch.filter((row) => row.deletedAt !== undefined).length;
        atOnce = nextRows(batch.length, lines.length);
        yield lines;
      }
      written.leftOut = [...leftOut];
    },
  };
}

/** The last entry: what is in the others, and what is not. */
export function manifestEntry(about: { user: string; requestedAt: string }, files: readonly FileEntry[]): Entry {
  return {
    path: 'manifest.json',
    async *content() {
      const told = files.map(({ written }) => written);
      yield Buffer.from(
        `${JSON.stringify({ format: 1, ...about, madeAt: new Date().toISOString(), files: told }, null, 2)}\n`,
      );
    },
  };
}
