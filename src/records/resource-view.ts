import type { Looking, ResourceView, StoredRecord } from '../declare/host.ts';
import { allows } from '../declare/policy.ts';
import type { Entity, RecordsContext } from './context.ts';
import { present } from './populate.ts';
import { matches } from './query/match.ts';
import { scopeConditions } from './query/scope.ts';
import { owns } from './view.ts';

/** The compiled view of a resource, for every channel beside its own routes. */
export function createResourceView(context: RecordsContext, { resource, store, codec }: Entity): ResourceView {
  const inScope = (record: StoredRecord, looking: Looking) =>
    scopeConditions(resource, looking).every((condition) => matches(condition, record));
  return {
    name: resource.name,
    declaration: resource.declaration,
    readPolicy: resource.policies.read,
    table: resource.table,
    columns: (alias) =>
      codec.columns
        .split(', ')
        .map((column) => `${alias}.${column}`)
        .join(', '),
    fromRow: codec.fromRow,
    ownerOf: (record) =>
      resource.ownerField === undefined ? undefined : (record[resource.ownerField] as string | undefined),
    inScope,
    async readableBy(record, looking) {
      if (!inScope(record, looking)) return false;
      const args = { user: looking.user, action: 'read', doc: record, req: looking.req };
      return allows(resource.policies.read, args, owns(resource, record, looking));
    },
    serialize: (records, looking) => present(context, resource, records, looking),
    fromOutbox: (columns) => codec.fromJson(columns),
    load: (ids) => store.readMany(ids),
  };
}
