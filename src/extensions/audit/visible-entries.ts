import type { Host, ResourceGateway, StoredRecord } from '../../declare/host.ts';
import type { RouteContext } from '../../declare/route.ts';
import type { Entry } from './entry.ts';
import { createShownChanges } from './shown-changes.ts';

type RequestContext = Pick<RouteContext, 'user' | 'req' | 'service'>;

/** Gives the entries that their reader may see, with what they may see of each. */
export type VisibleEntries = (entries: readonly Entry[], viewContext: RequestContext) => Promise<Entry[]>;

/**
 * Makes what narrows entries down to what their reader may see of records anyway: only those inside the service scope, and values of
 * fields with `visibleTo` only where a role is enough for it. Of a record that is gone nobody can say whether it was in the scope, so
 * it is told of only to those whom the scope leaves everything.
 */
export function createVisibleEntries(resources: Host['resources']): VisibleEntries {
  const gateways = new Map(resources.map((gateway) => [gateway.name, gateway]));
  const shown = createShownChanges(resources);

  /** The ids of a resource's records that are outside of the reader's scope. */
  async function outside(
    gateway: ResourceGateway,
    entries: readonly Entry[],
    viewContext: RequestContext,
  ): Promise<Set<string>> {
    const { scope } = gateway.declaration;
    const all = new Set(entries.flatMap(({ record }) => record ?? []));
    if (
      scope === undefined ||
      (await scope({ user: viewContext.user, req: viewContext.req, service: viewContext.service })) === undefined
    )
      return new Set();
    const records = await gateway.load([...all]);
    const isIn = (record: StoredRecord) => gateway.inScope(record, viewContext);
    const verdicts = await Promise.all(records.map(async (record) => [record.id, await isIn(record)] as const));
    return all.difference(new Set(verdicts.flatMap(([id, is]) => (is ? [id] : []))));
  }

  return async (entries, viewContext) => {
    const groups = Map.groupBy(entries, ({ resource }) => resource);
    const hidden = new Map<string, Set<string>>();
    for (const [resource, list] of groups) {
      const gateway = gateways.get(resource ?? '');
      if (gateway !== undefined) hidden.set(gateway.name, await outside(gateway, list, viewContext));
    }
    return entries
      .filter(({ resource, record }) => record === null || hidden.get(resource ?? '')?.has(record) !== true)
      .map((entry) => ({ ...entry, changes: shown(entry, viewContext.user) }));
  };
}
