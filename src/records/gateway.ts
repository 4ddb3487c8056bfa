import type { ResourceGateway, ViewContext } from '../declare/host.ts';
import type { ResolvedViewContext } from './access/operation-context.ts';
import { expandedIn, holdsEncrypted, isStillReadable, needsRecord } from './access/still-readable.ts';
import { isInScope, isVisible } from './access/visibility.ts';
import { createVisibilityKey } from './access/visibility-key.ts';
import type { Entity, RecordsContext } from './context.ts';
import { subscribeToRecords } from './operations/subscribe.ts';
import { serializeSeparately } from './serialize/serialize.ts';
import { planVisibleFields } from './serialize/serialize-fields.ts';
import { rowJson } from './store/event.ts';

/** The compiled access to a resource, for every channel besides its own routes. */
export function createResourceGateway(context: RecordsContext, entity: Entity): ResourceGateway {
  const { resource, store, codec, archive } = entity;
  const { service } = context;
  const visibilityKey = createVisibilityKey(resource, (name) => context.entities.get(name)!.resource);
  const resolveViewContext = (viewContext: ViewContext): ResolvedViewContext =>
    hasService(viewContext) ? viewContext : { ...viewContext, service };
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
    rowJson: (alias) => rowJson(resource, alias),
    toColumn: (name, value, id) => codec.toColumn(resource.field.get(name)!, value, id),
    ownerOf: (record) =>
      resource.ownerField === undefined ? undefined : (record[resource.ownerField] as string | undefined),
    inScope: (record, viewContext) => isInScope(resource, record, resolveViewContext(viewContext)),
    async readableBy(record, viewContext) {
      const resolved = resolveViewContext(viewContext);
      return (await isInScope(resource, record, resolved)) && isVisible(resource, 'read', record, resolved);
    },
    visibleFields: (names, viewContext) => planVisibleFields(resource, names, resolveViewContext(viewContext)),
    serialize: (records, viewContext) =>
      serializeSeparately(context, resource, records, resolveViewContext(viewContext)),
    stillReadable: (before, viewContext, anyRecord) =>
      isStillReadable(context, resource, before, resolveViewContext(viewContext), anyRecord),
    needsRecord: (viewer, anyRecord) => needsRecord(resource, viewer, anyRecord),
    expandedIn: (data) => expandedIn(resource, data),
    holdsEncrypted: (data) => holdsEncrypted(context, resource, data),
    subscribe: (request, viewContext) => subscribeToRecords(entity, request, resolveViewContext(viewContext)),
    visibilityKey: visibilityKey.of,
    ownersIn: visibilityKey.ownersIn,
    fromOutbox: (columns) => codec.fromJson(columns),
    load: (ids) => store.readMany(ids),
  };
}

function hasService(viewContext: ViewContext): viewContext is ResolvedViewContext {
  return viewContext.service !== undefined;
}
