/** Changes that the author of a migration requests on the command line. Tables and columns are named as in the database. */
export interface RequestedChanges {
  renamedTables: readonly { from: string; to: string }[];
  renamedColumns: readonly { table: string; from: string; to: string }[];
  /** Expressions that convert a column's values to its new type, by `<table>.<column>`. */
  using: ReadonlyMap<string, string>;
  /** Columns that may be dropped although they contain values: `<table>.<column>`. */
  dropped: ReadonlySet<string>;
  /** Tables that may be dropped although they contain rows. */
  droppedTables: ReadonlySet<string>;
}

/** No changes beyond the declarations. */
export const NO_REQUESTS: RequestedChanges = {
  renamedTables: [],
  renamedColumns: [],
  using: new Map(),
  dropped: new Set(),
  droppedTables: new Set(),
};
