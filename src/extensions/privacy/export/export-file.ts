import type { Viewer } from '../../../declare/actor.ts';

/** The context in which a file is written. */
export interface Writing {
  /** Returns the number of rows to read next. */
  atOnce: () => number;
  /** Names of fields that are stored but not exported. Files add to it while they are written. */
  leftOut: Set<string>;
  /** Called for each record with a value that cannot be decrypted. */
  onUnreadable: () => void;
}

/** A file of an export, with one line of JSON per row. */
export interface ExportFile {
  path: string;
  /** The name of the resource or of the user data. */
  holds: string;
  /** Description of the content, to show to people. */
  description: string;
  /** Reads the rows in batches. */
  rows(user: Viewer, writing: Writing): AsyncIterable<Record<string, unknown>[]>;
}
