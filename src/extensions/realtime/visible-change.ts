import type { Host, RecordSubscription, ResourceGateway, StoredRecord, ViewContext } from '../../declare/host.ts';
import type { Viewer } from '../../declare/policy.ts';
import { isTooSlow, isTransient } from '../../platform/postgres/errors.ts';
import { asItWas, type RecordChange } from './entry.ts';

type Shown = Record<string, unknown>;

/** What a viewer is told of a change. */
export interface VisibleChange {
  change: RecordChange;
  /** `left`: what they could see before an update they see no longer. */
  action: RecordChange['action'] | 'left';
  /** The record; of a deletion as it was. Not of `left`, nor of a deletion of what they may have seen. */
  data: Shown | undefined;
  /** Before an update, where they could see it then. */
  previous: Shown | undefined;
}

interface Planned {
  change: RecordChange;
  action: VisibleChange['action'];
  record: StoredRecord | undefined;
  previous: StoredRecord | undefined;
}

/** What somebody has seen of some changes: whatever they follow, each record is looked at once. */
export interface Sight {
  viewContext: ViewContext;
  readable: Map<StoredRecord, Promise<boolean>>;
  shown: Map<StoredRecord, Promise<Shown>>;
}

/** Whether to ask the database again. A statement that was too slow would be as slow again, and every stream would wait for it. */
function isWorthRetrying(error: unknown): boolean {
  return isTransient(error) && !isTooSlow(error);
}

/** What becomes of a change for somebody who could see the record before it, or can see it after it. */
function planned(change: RecordChange, before: boolean, after: boolean): Planned | undefined {
  const { action, record, previous } = change;
  if (after) return { change, action, record, previous: before ? previous : undefined };
  return before ? idAlone(change) : undefined;
}

/** What somebody is told who sees nothing of the record any longer. */
function idAlone(change: RecordChange): Planned {
  return { change, action: change.action === 'deleted' ? 'deleted' : 'left', record: undefined, previous: undefined };
}

/** Makes what tells viewers of changes: only what is inside their scope, what they may read, and of that the fields that they see. */
export function createVisibleChanges({ service, log }: Pick<Host, 'service' | 'log'>) {
  function isReadable(
    gateway: ResourceGateway,
    record: StoredRecord,
    { viewContext, readable }: Sight,
  ): Promise<boolean> {
    let known = readable.get(record);
    if (known === undefined) {
      known = gateway.readableBy(record, viewContext);
      readable.set(record, known);
    }
    return known;
  }

  async function planFor(
    change: RecordChange,
    following: RecordSubscription,
    sight: Sight,
  ): Promise<Planned | undefined> {
    const { gateway, record, previous } = change;
    const sees = async (one: StoredRecord) => following.includes(one) && (await isReadable(gateway, one, sight));
    const plan = planned(change, previous !== undefined && (await sees(previous)), await sees(record));
    if (plan !== undefined && change.idOnly) return idAlone(change);
    if (plan !== undefined || change.untold.size === 0) return plan;
    // What the filters ask for was erased: that they left the record before cannot be ruled out.
    const before = asItWas(change);
    const mayHaveSeen =
      before !== undefined && following.mayInclude(before, change.untold) && (await isReadable(gateway, before, sight));
    return mayHaveSeen ? idAlone(change) : undefined;
  }

  /** What `work` gives; undefined where a policy throws: whoever it throws for may not have the change. */
  async function guarded<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (isWorthRetrying(error)) throw error;
      log.error({ err: error }, 'a policy threw while a change was shown on a stream');
      return undefined;
    }
  }

  /** Begins to show records, all at once; where that fails, each alone. */
  function show(gateway: ResourceGateway, records: readonly StoredRecord[], { viewContext, shown }: Sight): void {
    const missing = records.filter((record) => !shown.has(record));
    if (missing.length === 0) return;
    const together = gateway.serialize(missing, viewContext);
    for (const [i, record] of missing.entries()) {
      const alone = async (error: unknown) => {
        if (missing.length === 1 || isWorthRetrying(error)) throw error;
        return (await gateway.serialize([record], viewContext))[0]!;
      };
      const one = together.then((all) => all[i]!, alone);
      // Whoever waits for it is told; there may be nobody any longer.
      one.catch(() => undefined);
      shown.set(record, one);
    }
  }

  return {
    /** @param together shared by those who look at the same changes at the same moment */
    sightOf: (user: Viewer | undefined, together: ViewContext['sharedReads']): Sight => ({
      viewContext: { user, req: undefined, service, sharedReads: together },
      readable: new Map(),
      shown: new Map(),
    }),
    /**
     * What a viewer is told of changes of one resource, in their order; one that they may not know of is left out.
     *
     * @throws when the database is away: nothing is known then
     */
    async of(
      gateway: ResourceGateway,
      following: RecordSubscription,
      changes: readonly RecordChange[],
      sight: Sight,
    ): Promise<VisibleChange[]> {
      const plans: Planned[] = [];
      for (const change of changes) {
        const plan = await guarded(() => planFor(change, following, sight));
        if (plan !== undefined) plans.push(plan);
      }
      show(
        gateway,
        plans.flatMap(({ record, previous }) => [record, previous].filter((one) => one !== undefined)),
        sight,
      );
      const shownOf = async (record: StoredRecord | undefined) => record && sight.shown.get(record);
      const visible: VisibleChange[] = [];
      for (const { change, action, record, previous } of plans) {
        const one = await guarded(async () => ({
          change,
          action,
          data: await shownOf(record),
          previous: await shownOf(previous),
        }));
        if (one !== undefined) visible.push(one);
      }
      return visible;
    },
  };
}

/** What `createVisibleChanges` makes. */
export type VisibleChanges = ReturnType<typeof createVisibleChanges>;
