import type { ResourceGateway, ViewContext } from '../declare/host.ts';
import { createSystemContext, type ResolvedViewContext } from './access/operation-context.ts';
import {
  containsEncryptedValues,
  doesAccessDependOnRecord,
  expandedRecordsIn,
  isStillReadable,
} from './access/still-readable.ts';
import { isInScope, isRecordVisible } from './access/visibility.ts';
import { createVisibilityKey } from './access/visibility-key.ts';
import type { RecordsContext } from './operations/context.ts';
import { listFilterFields, prepareFilter, recordFromSerialized } from './operations/record-filter.ts';
import { subscribeToRecords } from './operations/subscribe.ts';
import { prepareDeletion, releaseReferences } from './references/cascade.ts';
import { serializeRecordsSeparately } from './serialize/serialize.ts';
import { createVisibleFieldsFinder } from './serialize/serialize-fields.ts';
import { createTransactionContext } from './service/transaction.ts';
import type { Entity } from './store/entity.ts';
import { rowJsonSql } from './store/event.ts';

/** The compiled access to a resource, for every channel besides its own routes. */
export function createResourceGateway(context: RecordsContext, entity: Entity): ResourceGateway {
  const { resource, store, codec, archive } = entity;
  const { service } = context;
  const visibilityKey = createVisibilityKey(resource, (name) => context.entities.get(name)!.resource);
  const resolveViewContext = (viewContext: ViewContext): ResolvedViewContext =>
    isResolvedViewContext(viewContext) ? viewContext : { ...viewContext, service };
  return {
    name: resource.name,
    declaration: resource.declaration,
    readPolicy: resource.policies.read,
    table: resource.table,
    archiveTable: archive?.resource.table,
    columns: (alias) =>
      codec.columns
        .split(', ')
        .map((column) => `${alias}.${column}`)
        .join(', '),
    fromRow: codec.fromRow,
    rowJson: (alias) => rowJsonSql(resource, alias),
    toColumn: (name, value, id) => codec.toColumn(resource.field.get(name)!, value, id),
    versionOf: entity.versionOf,
    ownerOf: (record) =>
      resource.ownerField === undefined ? undefined : (record[resource.ownerField] as string | undefined),
    inScope: (record, viewContext) => isInScope(entity, record, resolveViewContext(viewContext)),
    async readableBy(record, viewContext) {
      const resolved = resolveViewContext(viewContext);
      return (await isInScope(entity, record, resolved)) && isRecordVisible(entity, 'read', record, resolved);
    },
    visibleFields: (names, viewContext) => createVisibleFieldsFinder(entity, names, resolveViewContext(viewContext)),
    serialize: (records, viewContext) =>
      serializeRecordsSeparately(context, resource, records, resolveViewContext(viewContext)),
    stillReadable: (before, viewContext, anyRecord) =>
      isStillReadable(context, resource, before, resolveViewContext(viewContext), anyRecord),
    needsRecord: (viewer, anyRecord) => doesAccessDependOnRecord(resource, viewer, anyRecord),
    expandedIn: (data) => expandedRecordsIn(context, resource, data),
    holdsEncrypted: (data) => containsEncryptedValues(context, resource, data),
    subscribe: (request, viewContext) => subscribeToRecords(entity, request, resolveViewContext(viewContext)),
    prepareFilter: (request, viewContext) => prepareFilter(entity, request, resolveViewContext(viewContext)),
    filterFields: (viewContext) => listFilterFields(resource, viewContext),
    fromSerialized: (data) => recordFromSerialized(resource, data),
    visibilityKey: visibilityKey.keyOf,
    ownersIn: visibilityKey.ownersIn,
    fromOutbox: (columns) => codec.fromJson(columns),
    fromRowJson: (columns) => codec.fromRowJson(columns),
    async releaseReferences(ids, tx) {
      if (!context.referrers.has(resource.name)) return;
      const within = createTransactionContext(context, { ...tx, abort: (error) => error });
      const deletion = { resource: resource.name, ids, erases: true };
      const operation = createSystemContext(within.service);
      await releaseReferences(within, deletion, await prepareDeletion(within, deletion, operation), operation);
    },
    load: (ids) => store.readMany(ids),
  };
}

function isResolvedViewContext(viewContext: ViewContext): viewContext is ResolvedViewContext {
  return viewContext.service !== undefined;
}
