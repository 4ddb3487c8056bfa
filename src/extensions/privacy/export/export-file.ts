import type { Viewer } from '../../../declare/actor.ts';

/** What a file is written with. */
export interface Writing {
  /** Rows that are read next. */
  atOnce: () => number;
  /** Names of fields that are held and not told; added to while it is written. */
  leftOut: Set<string>;
  /** Told of each record with a value that cannot be decrypted. */
  onUnreadable: () => void;
}

/** A file of an export: a line of JSON for each row. */
export interface ExportFile {
  path: string;
  /** The resource, or the name of the user data. */
  holds: string;
  /** For people. */
  description: string;
  /** A batch at a time. */
  rows(user: Viewer, writing: Writing): AsyncIterable<Record<string, unknown>[]>;
}
