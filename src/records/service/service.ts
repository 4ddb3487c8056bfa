import type { StoredRecord } from '../../declare/host.ts';
import { normalizeResourceName } from '../../declare/naming.ts';
import type { ActAs, ActAsWithIfMatch, AnyService, DeclarationWithService, Services } from '../../declare/service.ts';
import {
  findConstraintViolation,
  isDatabaseError,
  toPublicDatabaseError,
} from '../../platform/data/postgres/errors.ts';
import { isSemaphoreFull } from '../../platform/helpers/concurrency/semaphore.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { runAsActor } from '../../rules/acting.ts';
import { actorOf, createServiceCallContext, type OperationContext } from '../access/operation-context.ts';
import { splitCodeQuery } from '../aggregate/code-query.ts';
import { computeAggregates } from '../operations/aggregate/run.ts';
import { createRecords, deleteRecords, updateRecords, upsertRecord } from '../operations/batch/many.ts';
import type { RecordsContext } from '../operations/context.ts';
import { createRecord } from '../operations/create.ts';
import { deleteRecord } from '../operations/delete.ts';
import { lockRecord } from '../operations/lock.ts';
import { countRecords, listRecords, readFirstRecord, readRecord, readRecordPages } from '../operations/read.ts';
import { restoreRecord } from '../operations/restore.ts';
import { updateRecord } from '../operations/update.ts';
import { parseFilters } from '../query/parse-filters.ts';
import { RecordQuery } from '../query/record-query.ts';
import { InputError } from '../schema/rule-errors.ts';
import type { Entity } from '../store/entity.ts';
import { versionOfTime } from '../store/versions.ts';

/**
 * Converts an error for the caller of a service: a database error becomes an ApiError with the original as its cause; an error of project
 * code stays unchanged.
 *
 * @param bySystem whether the call was made as the system
 */
export function toServiceError(error: unknown, bySystem: boolean): unknown {
  if (error instanceof InputError) {
    // Keep the value that the innermost service call set: if a hook made the call that failed, the hook supplied the input.
    error.bySystem ??= bySystem;
    return error;
  }
  if (error instanceof ApiError) return error;
  if (isSemaphoreFull(error)) return new ApiError('UNAVAILABLE', undefined, { cause: error });
  const known = toPublicDatabaseError(error);
  // A violated constraint depends on stored values, so it is an error for the client whichever code made the call.
  if (known?.code === 'VALIDATION_ERROR' && findConstraintViolation(error) === undefined) {
    return toServiceError(new InputError(known.code, known.message, { cause: error }), bySystem);
  }
  return known ?? (isDatabaseError(error) ? new ApiError('INTERNAL', undefined, { cause: error }) : error);
}

/**
 * Returns services by declaration or by name. A name may be written in any case.
 *
 * @param find returns the service of a normalised name
 * @param names all existing names, for the error
 */
export function createServiceLookup(
  find: (name: string) => AnyService | undefined,
  names: readonly string[],
): Services {
  return (resource: string | DeclarationWithService<unknown>): never => {
    const name = typeof resource === 'object' && resource !== null ? resource.name : resource;
    const service = find(normalizeResourceName(name));
    if (service === undefined) throw new Error(`there is no resource "${name}"; resources: ${names.join(', ')}`);
    return service as never;
  };
}

function addIfMatch(operation: OperationContext, as: ActAsWithIfMatch | undefined): OperationContext {
  const ifMatch = as?.ifMatch === undefined ? as?.versions : [versionOfTime(as.ifMatch)];
  return ifMatch === undefined ? operation : { ...operation, ifMatch };
}

/** The records of a resource, for code: `app.service(name)`. Every database error becomes an ApiError. */
export function createService(context: RecordsContext, entity: Entity): AnyService {
  const { resource } = entity;
  async function runOperation(as: ActAs | undefined, work: (operation: OperationContext) => Promise<unknown>) {
    context.assertOutsideTransaction();
    const operation = createServiceCallContext(as, context.service);
    try {
      // Hooks and policies of the call carry the actor that the call names.
      const result = as === undefined ? work(operation) : runAsActor(actorOf(operation), () => work(operation));
      return (await result) as StoredRecord & never;
    } catch (error) {
      throw toServiceError(error, operation.system);
    }
  }

  async function* iterateRecords(operation: OperationContext, query: object | undefined) {
    try {
      for await (const page of readRecordPages(context, entity, { ...query }, operation)) {
        yield* page as (StoredRecord & never)[];
        context.assertOutsideTransaction();
      }
    } catch (error) {
      throw toServiceError(error, operation.system);
    }
  }

  return {
    create: (input, as) => runOperation(as, (operation) => createRecord(context, entity, input, operation)),
    read: (id, as) => runOperation(as, (operation) => readRecord(entity, id, operation)),
    list: (query, as) =>
      runOperation(as, async (operation) => {
        const how = { byCode: true, maxBytes: as?.maxBytes };
        const { records, meta } = await listRecords(context, entity, { ...query }, operation, how);
        return { data: records, meta };
      }),
    each(query, as) {
      context.assertOutsideTransaction();
      return iterateRecords(createServiceCallContext(as, context.service), query);
    },
    query(where, field = 'id') {
      try {
        const conditions = parseFilters(resource, Object.entries({ ...where }), 'system', true);
        return new RecordQuery(resource, conditions, field);
      } catch (error) {
        throw toServiceError(error, true);
      }
    },
    first: (query, as) => runOperation(as, (operation) => readFirstRecord(context, entity, { ...query }, operation)),
    count: (query, as) => runOperation(as, (operation) => countRecords(context, entity, { ...query }, operation)),
    aggregate: (query, as) =>
      runOperation(as, (operation) =>
        computeAggregates(context, entity, splitCodeQuery(entity.resource, query), operation, { byCode: true }),
      ),
    update: (id, input, as) =>
      runOperation(as, (operation) => updateRecord(context, entity, id, input, addIfMatch(operation, as))),
    lock: (id, as) => runOperation(as, (operation) => lockRecord(context, entity, id, operation)),
    delete: (id, as) =>
      runOperation(as, (operation) => {
        const { deletedWith } = as ?? {};
        return deleteRecord(context, entity, id, { ...addIfMatch(operation, as), ...(deletedWith && { deletedWith }) });
      }),
    createMany: (inputs, as) =>
      runOperation(as, (operation) => createRecords(context, entity, inputs, operation) as Promise<never>),
    upsert: (by, input, as) => runOperation(as, (operation) => upsertRecord(context, entity, by, input, operation)),
    updateMany: (where, values, as) =>
      runOperation(as, (operation) => updateRecords(context, entity, where, values, operation)),
    deleteMany: (where, as) => runOperation(as, (operation) => deleteRecords(context, entity, where, operation)),
    restore: (id, as) => runOperation(as, (operation) => restoreRecord(context, entity, id, operation)),
  };
}
