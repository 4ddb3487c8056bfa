import type { Following, Host, Looking, ResourceView, StoredRecord } from '../../declare/host.ts';
import type { Viewer } from '../../declare/policy.ts';
import { ApiError } from '../../platform/errors.ts';
import { isUnavailable } from '../../platform/postgres/errors.ts';
import { isSemaphoreFull } from '../../platform/semaphore.ts';
import type { RecordChange } from './entry.ts';

type Shown = Record<string, unknown>;

/** What a viewer is told of a change. */
export interface VisibleChange {
  change: RecordChange;
  /** `left`: what they could see before an update they see no longer. */
  action: RecordChange['action'] | 'left';
  /** The record; of a deletion as it was. Not of `left`. */
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

/** The database could not be asked: nothing is known of the changes yet. What a policy throws of its own accord is not that. */
function isTransient(error: unknown): boolean {
  const cause = error instanceof ApiError ? error.cause : error;
  return isUnavailable(cause) || isSemaphoreFull(cause);
}

/** What becomes of a change for somebody who could see the record before it, or can see it after it. */
function planned(change: RecordChange, before: boolean, after: boolean): Planned | undefined {
  const { action, record, previous } = change;
  if (after) return { change, action, record, previous: before ? previous : undefined };
  return before ? { change, action: 'left', record: undefined, previous: undefined } : undefined;
}

/** Makes what tells a viewer of changes: only what is inside their scope, what they may read, and of that the fields that they see. */
export function createVisibleChanges({ service, log }: Pick<Host, 'service' | 'log'>) {
  async function planFor(
    change: RecordChange,
    { includes }: Following,
    looking: Looking,
  ): Promise<Planned | undefined> {
    const { view, record, previous } = change;
    const sees = async (one: StoredRecord) => includes(one) && (await view.readableBy(one, looking));
    return planned(change, previous !== undefined && (await sees(previous)), await sees(record));
  }

  /** What `work` gives; undefined where a policy throws: whoever it throws for may not have the change. */
  async function guarded<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (isTransient(error)) throw error;
      log.error({ err: error }, 'a policy threw while a change was shown on a stream');
      return undefined;
    }
  }

  async function serialized(view: ResourceView, plans: readonly Planned[], looking: Looking): Promise<VisibleChange[]> {
    const records = plans.flatMap(({ record, previous }) => [record ?? [], previous ?? []].flat());
    const shown = records.length === 0 ? [] : await view.serialize(records, looking);
    const next = (one: StoredRecord | undefined) => (one === undefined ? undefined : shown.shift());
    return plans.map(({ change, action, record, previous }) => {
      const data = next(record);
      return { change, action, data, previous: next(previous) };
    });
  }

  /**
   * What a viewer is told of changes of one resource, in their order; one that they may not know of is left out.
   *
   * @throws when the database is away: nothing is known then
   */
  return async (
    view: ResourceView,
    following: Following,
    changes: readonly RecordChange[],
    user: Viewer | undefined,
  ): Promise<VisibleChange[]> => {
    // One for all of them: the scope of a resource is asked once.
    const looking = { user, req: undefined, service };
    const plans: Planned[] = [];
    for (const change of changes) {
      const plan = await guarded(() => planFor(change, following, looking));
      if (plan !== undefined) plans.push(plan);
    }
    const together = await guarded(() => serialized(view, plans, looking));
    if (together !== undefined || plans.length < 2) return together ?? [];
    const apart: VisibleChange[] = [];
    for (const plan of plans) apart.push(...((await guarded(() => serialized(view, [plan], looking))) ?? []));
    return apart;
  };
}

/** What `createVisibleChanges` makes. */
export type VisibleChanges = ReturnType<typeof createVisibleChanges>;
