import {
  type Host,
  isStatementTimeout,
  isTransient,
  type RecordSubscription,
  type ResourceGateway,
  type StoredRecord,
  type ViewContext,
  type Viewer,
} from '../../../extension/index.ts';
import { type RecordChange, recordBeforeChange } from '../events/entry.ts';

type SerializedRecord = Record<string, unknown>;

/** A change as one viewer may see it. */
export interface VisibleChange {
  change: RecordChange;
  /** What happened to the record for the viewer. `left`: the viewer could see the record before the update, but not after the update. */
  action: RecordChange['action'] | 'left';
  /** The record after the change; for a deletion, its last state. Undefined if only the record's id is sent, as for `left`. */
  data: SerializedRecord | undefined;
  /** The record before an update, if the viewer could see it before the update. */
  previous: SerializedRecord | undefined;
}

interface Plan {
  change: RecordChange;
  action: VisibleChange['action'];
  record: StoredRecord | undefined;
  previous: StoredRecord | undefined;
}

/** Caches visibility and serialized records of one viewer, so that each record is processed once for all subscriptions. */
export interface ViewerCache {
  viewContext: ViewContext;
  readable: Map<StoredRecord, Promise<boolean>>;
  serialized: Map<StoredRecord, Promise<SerializedRecord>>;
}

/**
 * Whether to retry after an error. Not after a statement timed out: it would most likely time out again, and every client stream would
 * wait for it.
 */
function isWorthRetrying(error: unknown): boolean {
  return isTransient(error) && !isStatementTimeout(error);
}

/**
 * Decides what a viewer gets of a change.
 *
 * @param before whether the viewer could see the record before the change
 * @param after whether the viewer can see the record after the change
 * @returns undefined if the viewer gets nothing
 */
function planChange(change: RecordChange, before: boolean, after: boolean): Plan | undefined {
  const { action, record, previous } = change;
  if (after) return { change, action, record, previous: before ? previous : undefined };
  return before ? planIdOnly(change) : undefined;
}

/** The plan that sends only the id of the record. */
function planIdOnly(change: RecordChange): Plan {
  return { change, action: change.action === 'deleted' ? 'deleted' : 'left', record: undefined, previous: undefined };
}

/** Creates the functions that reduce changes to what a viewer may see by scope, read policy and field visibility. */
export function createVisibleChanges({ service, log }: Pick<Host, 'service' | 'log'>) {
  function isReadableByViewer(
    gateway: ResourceGateway,
    record: StoredRecord,
    { viewContext, readable }: ViewerCache,
  ): Promise<boolean> {
    let known = readable.get(record);
    if (known === undefined) {
      known = gateway.readableBy(record, viewContext);
      readable.set(record, known);
    }
    return known;
  }

  async function planChangeForViewer(
    change: RecordChange,
    recordSubscription: RecordSubscription,
    cache: ViewerCache,
  ): Promise<Plan | undefined> {
    const { gateway, record, previous } = change;
    const canSee = async (one: StoredRecord) =>
      (await recordSubscription.includes(one)) && (await isReadableByViewer(gateway, one, cache));
    const plan = planChange(change, previous !== undefined && (await canSee(previous)), await canSee(record));
    if (plan !== undefined && change.idOnly) return planIdOnly(change);
    if (plan !== undefined || change.erasedFields.size === 0) return plan;
    // The subscription's filter may have matched a value that was erased since then, so the viewer may have seen the record.
    const before = recordBeforeChange(change);
    const mayHaveSeen =
      before !== undefined &&
      (await recordSubscription.mayInclude(before, change.erasedFields)) &&
      (await isReadableByViewer(gateway, before, cache));
    return mayHaveSeen ? planIdOnly(change) : undefined;
  }

  /** Returns the result of `work`; undefined if a policy throws, because then the viewer must not get the change. */
  async function skipOnPolicyError<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (isWorthRetrying(error)) throw error;
      log.error({ err: error }, 'A policy threw while a change was prepared for a stream');
      return undefined;
    }
  }

  /** Starts to serialize records with one call. If the call fails, serializes each record with a call of its own. */
  function startSerializingRecords(
    gateway: ResourceGateway,
    records: readonly StoredRecord[],
    { viewContext, serialized }: ViewerCache,
  ): void {
    const missing = records.filter((record) => !serialized.has(record));
    if (missing.length === 0) return;
    const together = gateway.serialize(missing, viewContext);
    for (const [i, record] of missing.entries()) {
      const serializeAlone = async (error: unknown) => {
        if (missing.length === 1 || isWorthRetrying(error)) throw error;
        return (await gateway.serialize([record], viewContext))[0]!;
      };
      const one = together.then((all) => all[i]!, serializeAlone);
      // Prevents an unhandled rejection if nothing awaits this promise. Code that awaits it handles the rejection itself.
      one.catch(() => undefined);
      serialized.set(record, one);
    }
  }

  return {
    /** @param sharedReads database reads that all viewers of the same batch of changes share */
    createViewerCache: (user: Viewer | undefined, sharedReads: ViewContext['sharedReads']): ViewerCache => ({
      viewContext: { user, req: undefined, service, sharedReads },
      readable: new Map(),
      serialized: new Map(),
    }),
    /**
     * Returns the changes of one resource that a viewer may see, in their order.
     *
     * @throws if the database is unreachable
     */
    async selectVisibleChanges(
      gateway: ResourceGateway,
      recordSubscription: RecordSubscription,
      changes: readonly RecordChange[],
      cache: ViewerCache,
    ): Promise<VisibleChange[]> {
      const plans: Plan[] = [];
      for (const change of changes) {
        const plan = await skipOnPolicyError(() => planChangeForViewer(change, recordSubscription, cache));
        if (plan !== undefined) plans.push(plan);
      }
      startSerializingRecords(
        gateway,
        plans.flatMap(({ record, previous }) => [record, previous].filter((one) => one !== undefined)),
        cache,
      );
      const serialize = async (record: StoredRecord | undefined) => record && cache.serialized.get(record);
      const visible: VisibleChange[] = [];
      for (const { change, action, record, previous } of plans) {
        const one = await skipOnPolicyError(async () => ({
          change,
          action,
          data: await serialize(record),
          previous: await serialize(previous),
        }));
        if (one !== undefined) visible.push(one);
      }
      return visible;
    },
  };
}

/** The result of `createVisibleChanges`. */
export type VisibleChanges = ReturnType<typeof createVisibleChanges>;
