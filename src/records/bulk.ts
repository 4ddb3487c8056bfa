import type { StoredRecord } from '../declare/host.ts';
import { normalizeResourceName } from '../declare/naming.ts';
import type { Viewer } from '../declare/policy.ts';
import { suggestKnownNames } from '../platform/config/did-you-mean.ts';
import type { ApiError } from '../platform/errors.ts';
import { createServiceCallContext, type OperationContext } from './access/operation-context.ts';
import { toPublicOperationError } from './access/public-error.ts';
import type { Entity, RecordsContext } from './context.ts';
import type { BatchItem, Outcome } from './operations/batch/item.ts';
import { fieldsToUpsertBy, parseUpsertKey } from './operations/batch/parse.ts';
import { runBatchPerItem } from './operations/batch/run.ts';
import { readRecordPages } from './operations/read.ts';
import type { CompiledField } from './schema/compiled.ts';
import { serializeFields } from './serialize/serialize-fields.ts';
import type { RecordTimes } from './store/store.ts';

/** A row to import. */
export interface BulkRow {
  values: Record<string, unknown>;
  /** The id that a created record must get; left out: a new one. */
  id?: string | undefined;
  /** The times that a created record must get; left out: now. Only for resources with timestamps. */
  times?: RecordTimes | undefined;
}

/** How rows are imported. */
export interface BulkWriteOptions {
  /** The user whose policies and field rules apply; left out: the system. */
  user?: Viewer | undefined;
  /** A unique field: a row updates the record with the same value. Left out: every row creates a record. */
  upsertBy?: string | undefined;
  /** Rolls the rows back, so that only errors are found. Hooks run, and their writes are rolled back. */
  dryRun?: boolean;
}

/** Bulk access to the records of a resource, for the command line. */
export interface BulkResource {
  name: string;
  /** The fields that can be exported. Passwords and write-only fields are left out. */
  readable: readonly CompiledField[];
  /** The fields that can be imported. */
  writable: readonly CompiledField[];
  timestamps: boolean;
  /** The unique fields by which rows can update records. */
  upsertFields(user?: Viewer): string[];
  /**
   * Writes rows in order; each succeeds or fails by itself.
   *
   * @returns the public error of each row that was not written; undefined for the others
   */
  write(rows: readonly BulkRow[], options: BulkWriteOptions): Promise<(ApiError | undefined)[]>;
  /** Reads all records that match the filters, page by page, with the fields that the user may see; without a user, all readable ones. */
  read(where: Record<string, string>, user?: Viewer): AsyncGenerator<Record<string, unknown>[]>;
}

/** Bulk access to the records of an app. */
export interface BulkRecords {
  /** @throws Error for an unknown resource */
  resource(name: string): BulkResource;
}

function createItem(
  row: BulkRow,
  place: number,
  operation: OperationContext,
  by: CompiledField | undefined,
): BatchItem {
  const { values: data, id, times } = row;
  if (by === undefined) return { place, op: 'create', id, times, data, by: undefined, operation };
  return { place, op: 'upsert', id, times, data, by: parseUpsertKey(by, data), operation };
}

function createBulkResource(context: RecordsContext, entity: Entity): BulkResource {
  const { resource } = entity;
  const operationOf = (user: Viewer | undefined) =>
    createServiceCallContext(user === undefined ? { as: 'system' } : { user }, context.service);

  /** Runs items in a transaction that is rolled back, because its result is undefined. */
  async function runDry(items: readonly BatchItem[], operation: OperationContext): Promise<Outcome[]> {
    let outcomes: Outcome[] = [];
    await context.withTransaction(
      entity,
      operation,
      async (inside, _entity, operationInside) => {
        const own = inside.entities.get(resource.name)!;
        outcomes = await runBatchPerItem(inside, own, items, { operation: operationInside, ...unlimited() });
        return undefined;
      },
      { always: true },
    );
    return outcomes;
  }

  const unlimited = () => ({ prefix: '', room: { bytes: Number.MAX_SAFE_INTEGER } });

  /** The error of a row that was not written. An unexpected error stops the import. */
  function toRowError(outcome: Outcome | undefined): ApiError | undefined {
    if (outcome === undefined || !('error' in outcome)) return undefined;
    const error = toPublicOperationError(outcome.error);
    if (error.status >= 500) throw outcome.error;
    return error;
  }

  return {
    name: resource.name,
    readable: resource.fields.filter(({ secret }) => !secret),
    writable: resource.fields,
    timestamps: resource.timestamps,
    upsertFields: (user) => fieldsToUpsertBy(resource, { system: user === undefined, user }).map(({ name }) => name),
    async write(rows, { user, upsertBy, dryRun = false }) {
      const operation = operationOf(user);
      const by = upsertBy === undefined ? undefined : resource.field.get(upsertBy)!;
      const errors = new Map<number, ApiError>();
      const items = rows.flatMap((row, place) => {
        try {
          return [createItem(row, place, operation, by)];
        } catch (error) {
          errors.set(place, error as ApiError);
          return [];
        }
      });
      const outcomes = dryRun
        ? await runDry(items, operation)
        : await runBatchPerItem(context, entity, items, { operation, ...unlimited() });
      return rows.map((_, place) => errors.get(place) ?? toRowError(outcomes[place]));
    },
    async *read(where, user) {
      const operation = operationOf(user);
      const copyFields = (record: StoredRecord) => {
        const names = ['id', ...resource.fields.filter(({ secret }) => !secret).map(({ name }) => name)];
        if (resource.timestamps) names.push('createdAt', 'updatedAt');
        return Object.fromEntries(names.map((name) => [name, record[name]]));
      };
      for await (const page of readRecordPages(context, entity, where, operation)) {
        yield user === undefined ? page.map(copyFields) : await serializeFields(entity, page, operation);
      }
    },
  };
}

/** Creates the bulk access to the records of an app. */
export function createBulkRecords(context: RecordsContext): BulkRecords {
  return {
    resource(name) {
      const entity = context.entities.get(normalizeResourceName(name));
      if (entity === undefined)
        throw new Error(`There is no resource "${name}"${suggestKnownNames(name, 'resources', context.names)}`);
      return createBulkResource(context, entity);
    },
  };
}
