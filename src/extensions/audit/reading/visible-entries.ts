import {
  allowsEveryRecord,
  type CompiledPolicy,
  compilePolicy,
  type Fields,
  gatewaysByName,
  type Host,
  type ResourceGateway,
  type RouteContext,
  type StoredRecord,
  type Viewer,
} from '../../../extension/index.ts';
import type { Entry } from '../trail/entry.ts';
import type { Changes } from '../trail/responses.ts';

/** Returns the changes of an entry that a reader may see. */
type FilterVisibleChanges = (entry: Pick<Entry, 'resource' | 'changes'>, reader: Viewer | undefined) => Changes | null;

/** Returns the compiled `visibleTo` policies of a resource, by the current and former names of their fields. */
function restrictedFieldsOf({ declaration }: ResourceGateway): Map<string, CompiledPolicy> {
  const fields = Object.entries(declaration.fields as Fields);
  return new Map(
    fields.flatMap(([name, { spec }]) => {
      const { visibleTo, renamedFrom = [] } = spec;
      if (visibleTo === undefined) return [];
      const policy = compilePolicy(visibleTo, () => undefined);
      const former = renamedFrom.filter((one) => !Object.hasOwn(declaration.fields, one));
      return [...former, name].map((one): [string, CompiledPolicy] => [one, policy]);
    }),
  );
}

/** Creates the function that removes values of fields with `visibleTo`, unless a role of the reader allows them for every record. */
export function createVisibleChangesFilter(resources: Host['resources']): FilterVisibleChanges {
  const restricted = new Map(Array.from(gatewaysByName(resources), ([name, one]) => [name, restrictedFieldsOf(one)]));
  return ({ resource, changes }, reader) => {
    const fields = restricted.get(resource ?? '');
    if (changes === null || fields === undefined || fields.size === 0) return changes;
    const list = Object.entries(changes).map(([name, change]) => {
      const policy = fields.get(name);
      return [name, policy === undefined || allowsEveryRecord(policy, reader) ? change : { changed: true }];
    });
    return Object.fromEntries(list) as Changes;
  };
}

type RequestContext = Pick<RouteContext, 'user' | 'req' | 'service'>;

/** Returns the entries that the reader may see, without values that they may not see. */
export type FilterVisibleEntries = (entries: readonly Entry[], viewContext: RequestContext) => Promise<Entry[]>;

/**
 * Creates the function that limits entries to what the reader may see of the records: only records in the scope, and values of fields
 * with `visibleTo` only if a role is enough. The scope of a deleted record cannot be checked, so its entries are visible only to
 * readers without a scope filter.
 */
export function createVisibleEntriesFilter(resources: Host['resources']): FilterVisibleEntries {
  // Entries keep the name that the resource had when they were recorded.
  const gateways = gatewaysByName(resources);
  const filterVisibleChanges = createVisibleChangesFilter(resources);

  /** Returns the ids of a resource's records that are outside the reader's scope. */
  async function findIdsOutsideScope(
    gateway: ResourceGateway,
    entries: readonly Entry[],
    viewContext: RequestContext,
  ): Promise<Set<string>> {
    const { scope } = gateway.declaration;
    const recordIds = new Set(entries.flatMap(({ record }) => record ?? []));
    if (
      scope === undefined ||
      (await scope({ user: viewContext.user, req: viewContext.req, service: viewContext.service })) === undefined
    )
      return new Set();
    const records = await gateway.load([...recordIds]);
    const isInScope = (record: StoredRecord) => gateway.inScope(record, viewContext);
    const verdicts = await Promise.all(records.map(async (record) => [record.id, await isInScope(record)] as const));
    return recordIds.difference(new Set(verdicts.flatMap(([id, isVisible]) => (isVisible ? [id] : []))));
  }

  return async (entries, viewContext) => {
    const groups = Map.groupBy(entries, ({ resource }) => resource);
    const hidden = new Map<string, Set<string>>();
    for (const [resource, list] of groups) {
      const gateway = gateways.get(resource ?? '');
      if (gateway !== undefined) hidden.set(resource!, await findIdsOutsideScope(gateway, list, viewContext));
    }
    return entries
      .filter(({ resource, record }) => record === null || hidden.get(resource ?? '')?.has(record) !== true)
      .map((entry) => ({ ...entry, changes: filterVisibleChanges(entry, viewContext.user) }));
  };
}
