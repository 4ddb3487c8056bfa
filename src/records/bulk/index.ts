import type { BulkChange, BulkRecords, BulkResource, BulkRow } from '../../declare/bulk.ts';
import type { StoredRecord } from '../../declare/host.ts';
import { normalizeResourceName } from '../../declare/naming.ts';
import type { Viewer } from '../../declare/policy.ts';
import { suggestKnownNames } from '../../platform/helpers/did-you-mean.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { isId } from '../../platform/helpers/ids.ts';
import { runAsActor } from '../../rules/acting.ts';
import { actorOf, createServiceCallContext, type OperationContext } from '../access/operation-context.ts';
import { toPublicOperationError } from '../access/public-error.ts';
import type { BatchItem, Outcome } from '../operations/batch/item.ts';
import { fieldsToUpsertBy, parseUpsertKey } from '../operations/batch/parse.ts';
import { runBatchPerItem } from '../operations/batch/run.ts';
import type { RecordsContext } from '../operations/context.ts';
import { readRecordPages } from '../operations/read.ts';
import { restoreRecords } from '../operations/restore-many.ts';
import type { CompiledField } from '../schema/compiled.ts';
import { serializeFields } from '../serialize/serialize-fields.ts';
import type { Entity } from '../store/entity.ts';

/** Records that `change` changes in one transaction. */
const IDS_AT_ONCE = 100;

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
  const createOperation = (user: Viewer | undefined) =>
    createServiceCallContext(user === undefined ? { as: 'system' } : { user }, context.service);

  /** Hooks run on behalf of the user for whom rows are written, if there is one. */
  const runForUser = <T>(operation: OperationContext, work: () => Promise<T>): Promise<T> =>
    operation.user === undefined ? work() : runAsActor(actorOf(operation), work);

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

  /** The error of a record that was not changed. An unexpected error is logged. */
  function toChangeError(error: unknown, id: string): ApiError {
    const known = toPublicOperationError(error);
    if (known.status >= 500) context.log.error({ err: error, resource: resource.name, record: id }, 'a change failed');
    return known;
  }

  async function changeTogether(
    ids: readonly string[],
    change: BulkChange,
    operation: OperationContext,
  ): Promise<(ApiError | undefined)[]> {
    if (change.action === 'restore') {
      if (entity.archive === undefined) return ids.map(() => new ApiError('NOT_FOUND'));
      const failures = await restoreRecords(context, entity, ids.filter(isId), operation);
      return ids.map((id) => {
        if (!isId(id)) return new ApiError('NOT_FOUND');
        return failures.has(id) ? toChangeError(failures.get(id), id) : undefined;
      });
    }
    const data = change.action === 'update' ? change.values : undefined;
    const items = ids.map(
      (id, place): BatchItem => ({ place, op: change.action, id, data, by: undefined, operation }) as BatchItem,
    );
    const outcomes = await runBatchPerItem(context, entity, items, { operation, ...unlimited() });
    return ids.map((id, i) => {
      const outcome = outcomes[i]!;
      return 'error' in outcome ? toChangeError(outcome.error, id) : undefined;
    });
  }

  return {
    name: resource.name,
    readable: resource.fields.filter(({ secret }) => !secret),
    writable: resource.fields,
    timestamps: resource.timestamps,
    upsertFields: (user) => fieldsToUpsertBy(resource, { system: user === undefined, user }).map(({ name }) => name),
    async write(rows, { user, upsertBy, dryRun = false }) {
      const operation = createOperation(user);
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
      const outcomes = await runForUser(operation, () =>
        dryRun ? runDry(items, operation) : runBatchPerItem(context, entity, items, { operation, ...unlimited() }),
      );
      return rows.map((_, place) => errors.get(place) ?? toRowError(outcomes[place]));
    },
    async change(ids, change) {
      const operation = createOperation(undefined);
      const errors: (ApiError | undefined)[] = [];
      for (let at = 0; at < ids.length; at += IDS_AT_ONCE)
        errors.push(...(await changeTogether(ids.slice(at, at + IDS_AT_ONCE), change, operation)));
      return errors;
    },
    async *read(query, user) {
      const operation = createOperation(user);
      const copyFields = (record: StoredRecord) => {
        const names = ['id', ...resource.fields.filter(({ secret }) => !secret).map(({ name }) => name)];
        if (resource.timestamps) names.push('createdAt', 'updatedAt');
        return Object.fromEntries(names.map((name) => [name, record[name]]));
      };
      for await (const page of readRecordPages(context, entity, query, operation)) {
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
