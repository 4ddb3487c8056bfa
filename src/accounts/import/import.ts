import { toPublicDatabaseError } from '../../platform/data/postgres/errors.ts';
import type { ErrorDetails } from '../../platform/helpers/errors.ts';
import type { RecordsContext } from '../../records/operations/context.ts';
import { locksReferences } from '../../records/references/check-references.ts';
import type { Entity } from '../../records/store/entity.ts';
import { toConflictError } from '../../records/writes/conflict-errors.ts';
import { createRowInserter, type InsertResult } from './insert.ts';
import { findReferenceErrors, refersToRows } from './references.ts';
import { createRowParser, type ImportRow, rowErrors } from './row.ts';

/** Maximum number of rows in one statement. */
const ROWS_AT_ONCE = 500;
/** Maximum number of values in one statement; Postgres accepts 65,535. */
const VALUES_AT_ONCE = 30_000;

/** A line of an import, or the reason why it could not be read. */
export type ImportLine = string | { error: string };

/** The progress of an import. */
export interface ImportProgress {
  /** Number of processed lines, including empty lines. */
  lines: number;
  imported: number;
  /** Rows whose e-mail address already had an account. */
  existing: number;
  refused: number;
}

/** A row that was not stored. */
export interface RefusedRow {
  /** The number of the row's line in the import, from 1. */
  line: number;
  email?: string | undefined;
  /** Validation errors by field. */
  errors: ErrorDetails;
}

/** Options of an import. */
export interface ImportOptions {
  /** Stops the import after the current batch. Stored rows stay, and are skipped when the same file is imported again. */
  signal?: AbortSignal;
  onProgress?(progress: ImportProgress): void;
  onRefused?(row: RefusedRow): void;
}

type NumberedRow = ImportRow & { line: number };

const REFUSALS = {
  taken: 'The id or a unique value already belongs to another user',
  deleted: 'The id belongs to a deleted user who can still be restored',
};

/** Creates the import of users from another system. It stores rows in batches, emits no events, runs no hooks and sends no e-mails. */
export function createImport(context: RecordsContext, entity: Entity) {
  const { resource } = entity;
  const parseRow = createRowParser(resource, context);
  const rowsPerBatch = Math.max(1, Math.min(ROWS_AT_ONCE, Math.floor(VALUES_AT_ONCE / (resource.fields.length + 3))));

  /** Stores valid rows in one statement. Returns the result of each row, or its errors. */
  async function insertRows(
    inside: RecordsContext,
    own: Entity,
    rows: readonly ImportRow[],
  ): Promise<(InsertResult | ErrorDetails)[]> {
    const inserter = createRowInserter(inside.database, own);
    const errors = await findReferenceErrors(inside, resource, rows);
    const refused = rows.filter((_, i) => errors[i] !== undefined);
    const existing = await inserter.findExistingEmails(refused);
    const stored = (await inserter.insert(rows.filter((_, i) => errors[i] === undefined))).values();
    return rows.map(({ values }, i) => {
      if (errors[i] === undefined) return stored.next().value!;
      return existing.has(values.email) ? 'existing' : errors[i];
    });
  }

  /** Stores rows. Records in lists of references are locked until the rows are stored. */
  function storeRows(rows: readonly ImportRow[]): Promise<(InsertResult | ErrorDetails)[]> {
    if (!locksReferences(resource)) return insertRows(context, entity, rows);
    const operation = { user: undefined, system: true, service: context.service };
    return context.withTransaction(
      entity,
      operation,
      (inside) => insertRows(inside, inside.entities.get(resource.name)!, rows),
      { always: true },
    );
  }

  return async (
    lines: AsyncIterable<ImportLine>,
    { signal, onProgress, onRefused }: ImportOptions = {},
  ): Promise<ImportProgress> => {
    const progress: ImportProgress = { lines: 0, imported: 0, existing: 0, refused: 0 };
    let rows: NumberedRow[] = [];
    let at = 0;

    function reportRefusedRow(row: RefusedRow): void {
      progress.refused += 1;
      onRefused?.(row);
    }

    function countResult({ line, values }: NumberedRow, stored: InsertResult | ErrorDetails): void {
      if (typeof stored === 'object') reportRefusedRow({ line, email: String(values.email), errors: stored });
      else if (stored === 'imported' || stored === 'existing') progress[stored] += 1;
      else reportRefusedRow({ line, email: String(values.email), errors: { row: REFUSALS[stored] } });
    }

    /** Stores a batch of rows. If Postgres refuses it, stores its rows one by one, so that a bad row does not stop the others. */
    async function storeBatch(batch: readonly NumberedRow[]): Promise<void> {
      try {
        const stored = await storeRows(batch);
        for (const [i, row] of batch.entries()) countResult(row, stored[i]!);
      } catch (error) {
        // A record to which a row refers may be deleted between the check and the insert.
        const converted = toConflictError(resource, error);
        const publicError = toPublicDatabaseError(converted) ?? converted;
        const errors = rowErrors(publicError);
        if (errors === undefined) throw error;
        if (batch.length === 1)
          reportRefusedRow({ line: batch[0]!.line, email: String(batch[0]!.values.email), errors });
        else for (const row of batch) await storeBatch([row]);
      }
    }

    async function storePendingRows(): Promise<void> {
      if (rows.length > 0) await storeBatch(rows);
      rows = [];
      progress.lines = at;
      onProgress?.({ ...progress });
    }

    for await (const line of lines) {
      if (signal?.aborted) break;
      at += 1;
      if (typeof line !== 'string') reportRefusedRow({ line: at, errors: { line: line.error } });
      else if (line.trim() !== '') {
        try {
          const row = await parseRow(line);
          // A row may refer to users in earlier rows.
          if (refersToRows(resource, row, rows)) await storePendingRows();
          rows.push({ ...row, line: at });
        } catch (error) {
          const errors = rowErrors(error);
          if (errors === undefined) throw error;
          reportRefusedRow({ line: at, email: /"email"\s*:\s*"([^"\\]{1,320})"/.exec(line)?.[1], errors });
        }
      }
      if (rows.length === rowsPerBatch || at - progress.lines >= 10 * rowsPerBatch) await storePendingRows();
    }
    await storePendingRows();
    return progress;
  };
}
