import type { ErrorDetails } from '../../platform/errors.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { publicDatabaseError } from '../../platform/postgres/errors.ts';
import type { Entity, RecordsContext } from '../../records/context.ts';
import { createInsert, type Stored } from './insert.ts';
import { createRowReader, faultsOf, type ImportRow } from './row.ts';

/** Rows of one statement; Postgres takes 65,535 values. */
const ROWS_AT_ONCE = 500;
const VALUES_AT_ONCE = 30_000;

/** A line of an import, or why it could not be read. */
export type ImportLine = string | { fault: string };

/** How far an import is. */
export interface ImportProgress {
  /** Lines that are done with, empty ones included. */
  lines: number;
  imported: number;
  /** Rows whose e-mail had an account already. */
  there: number;
  refused: number;
}

/** A row that was not stored. */
export interface RefusedRow {
  /** Counted from 1. */
  line: number;
  email?: string | undefined;
  /** What is wrong, by field. */
  faults: ErrorDetails;
}

/** How an import is run. */
export interface ImportOptions {
  /** Ends it after the rows in work. What is stored stays, and is passed over when the same is imported again. */
  signal?: AbortSignal;
  onProgress?(progress: ImportProgress): void;
  onRefused?(row: RefusedRow): void;
}

type NumberedRow = ImportRow & { line: number };

/** Why a row was not stored. */
const REFUSALS = {
  taken: 'Its id, or a value that must be unique, belongs to another user',
  deleted: 'Its id belongs to a user who was deleted and can be restored',
};

/** Stores users of another system, a few hundred at a time: no event is emitted, no hook runs, no mail is sent. */
export function createImport(database: Database, context: RecordsContext, entity: Entity) {
  const { resource } = entity;
  const read = createRowReader(resource, context);
  const insert = createInsert(database, entity);
  const atOnce = Math.max(1, Math.min(ROWS_AT_ONCE, Math.floor(VALUES_AT_ONCE / (resource.fields.length + 3))));

  return async (
    lines: AsyncIterable<ImportLine>,
    { signal, onProgress, onRefused }: ImportOptions = {},
  ): Promise<ImportProgress> => {
    const progress: ImportProgress = { lines: 0, imported: 0, there: 0, refused: 0 };
    let rows: NumberedRow[] = [];
    let at = 0;

    function refuse(row: RefusedRow): void {
      progress.refused += 1;
      onRefused?.(row);
    }

    function count({ line, values }: NumberedRow, stored: Stored): void {
      if (stored === 'imported' || stored === 'there') progress[stored] += 1;
      else refuse({ line, email: String(values.email), faults: { row: REFUSALS[stored] } });
    }

    /** Rows that Postgres refuses together are stored one by one: a single one must not cost the others. */
    async function store(some: readonly NumberedRow[]): Promise<void> {
      try {
        const stored = await insert(some);
        for (const [i, row] of some.entries()) count(row, stored[i]!);
      } catch (error) {
        const told = publicDatabaseError(error);
        const faults = told && faultsOf(told);
        if (faults === undefined) throw error;
        if (some.length === 1) refuse({ line: some[0]!.line, email: String(some[0]!.values.email), faults });
        else for (const row of some) await store([row]);
      }
    }

    async function flush(): Promise<void> {
      if (rows.length > 0) await store(rows);
      rows = [];
      progress.lines = at;
      onProgress?.({ ...progress });
    }

    for await (const line of lines) {
      if (signal?.aborted) break;
      at += 1;
      if (typeof line !== 'string') refuse({ line: at, faults: { line: line.fault } });
      else if (line.trim() !== '') {
        try {
          rows.push({ ...(await read(line)), line: at });
        } catch (error) {
          const faults = faultsOf(error);
          if (faults === undefined) throw error;
          refuse({ line: at, email: /"email"\s*:\s*"([^"\\]{1,320})"/.exec(line)?.[1], faults });
        }
      }
      if (rows.length === atOnce || at - progress.lines >= 10 * atOnce) await flush();
    }
    await flush();
    return progress;
  };
}
