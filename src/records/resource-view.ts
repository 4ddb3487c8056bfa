import type { Looking, ResourceView } from '../declare/host.ts';
import type { Looker } from './acting.ts';
import type { Entity, RecordsContext } from './context.ts';
import { follow } from './follow.ts';
import { presentApart } from './populate.ts';
import { expandedIn, holdsEncrypted, needsRecord, stillReadable } from './still-readable.ts';
import { inScope, isVisible, sees } from './view.ts';
import { createVisibilityKey } from './visibility-key.ts';

/** The compiled view of a resource, for every channel besides its own routes. */
export function createResourceView(context: RecordsContext, entity: Entity): ResourceView {
  const { resource, store, codec, archive } = entity;
  const { service } = context;
  const visibilityKey = createVisibilityKey(resource, (name) => context.entities.get(name)!.resource);
  const lookerOf = (looking: Looking): Looker => (hasService(looking) ? looking : { ...looking, service });
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
    toColumn: (name, value, id) => codec.toColumn(resource.field.get(name)!, value, id),
    ownerOf: (record) =>
      resource.ownerField === undefined ? undefined : (record[resource.ownerField] as string | undefined),
    inScope: (record, looking) => inScope(resource, record, lookerOf(looking)),
    async readableBy(record, looking) {
      const looker = lookerOf(looking);
      return (await inScope(resource, record, looker)) && isVisible(resource, 'read', record, looker);
    },
    sees: async (record, name, looking) => {
      const field = resource.field.get(name);
      return field !== undefined && sees(resource, field, record, lookerOf(looking));
    },
    serialize: (records, looking) => presentApart(context, resource, records, lookerOf(looking)),
    stillReadable: (before, looking, anyRecord) =>
      stillReadable(context, resource, before, lookerOf(looking), anyRecord),
    needsRecord: (viewer, anyRecord) => needsRecord(resource, viewer, anyRecord),
    expandedIn: (data) => expandedIn(resource, data),
    holdsEncrypted: (data) => holdsEncrypted(context, resource, data),
    follow: (followed, looking) => follow(entity, followed, lookerOf(looking)),
    visibilityKey: visibilityKey.of,
    ownersIn: visibilityKey.ownersIn,
    fromOutbox: (columns) => codec.fromJson(columns),
    load: (ids) => store.readMany(ids),
  };
}

function hasService(looking: Looking): looking is Looker {
  return looking.service !== undefined;
}
