import type { RecordSelection } from '../records/list-query.ts';
import type { ApiError } from '../request/errors.ts';
import { type LiveListMeta, type LiveListSnapshot, LOADING_SNAPSHOT } from './list-snapshot.ts';
import type { ListState } from './list-state.ts';
import { createListeners } from './listeners.ts';
import type { ListRecord } from './sort-order.ts';

/** What a snapshot shows. */
interface ListView {
  state: ListState;
  limit: number;
  status: LiveListSnapshot<unknown>['status'];
  error: ApiError | undefined;
}

function metaOf({ state, limit }: ListView): LiveListMeta {
  const { records, isComplete, total, isTotalCapped, isTotalEstimate, isStale } = state;
  const hasMore = records.length > limit || (!isComplete && records.length > 0);
  return { total, totalCapped: isTotalCapped, totalEstimated: isTotalEstimate || isStale, hasMore };
}

const isSameMeta = (a: LiveListMeta, b: LiveListMeta) =>
  a.total === b.total &&
  a.totalCapped === b.totalCapped &&
  a.totalEstimated === b.totalEstimated &&
  a.hasMore === b.hasMore;

/** Creates the snapshots of a list, and calls listeners when one replaces another. */
export function createSnapshots<Data>({ fields, include = [] }: RecordSelection) {
  const listeners = createListeners();
  /** The records as they are shown, so that each has one object. */
  const projected = new WeakMap<ListRecord, Data>();
  const shownFields = fields && new Set(['id', ...fields, ...include.map((one) => one.split('.', 1)[0]!)]);
  let snapshot: LiveListSnapshot<Data> = LOADING_SNAPSHOT;
  let latest: ListView | undefined;
  let isNotifying = false;

  function project(record: ListRecord): Data {
    if (shownFields === undefined) return record as Data;
    const known = projected.get(record);
    if (known !== undefined) return known;
    const shown = Object.fromEntries(Object.entries(record).filter(([name]) => shownFields.has(name))) as Data;
    projected.set(record, shown);
    return shown;
  }

  function current(): LiveListSnapshot<Data> {
    if (latest === undefined) return snapshot;
    const { state, limit, status, error } = latest;
    const records = state.records.slice(0, limit).map(project);
    const isSameData = records.length === snapshot.data.length && records.every((one, i) => one === snapshot.data[i]);
    const nextMeta = metaOf(latest);
    const meta = isSameMeta(nextMeta, snapshot.meta) ? snapshot.meta : nextMeta;
    latest = undefined;
    if (!isSameData || meta !== snapshot.meta || status !== snapshot.status || error !== snapshot.error)
      snapshot = { data: isSameData ? snapshot.data : records, meta, status, error };
    return snapshot;
  }

  /** Events that arrive together lead to one call of each listener. */
  function notifySoon(before: LiveListSnapshot<Data>): void {
    if (isNotifying) return;
    isNotifying = true;
    queueMicrotask(() => {
      isNotifying = false;
      if (current() !== before) listeners.notify();
    });
  }

  return {
    current,
    update(shown: ListView): void {
      const before = snapshot;
      latest = shown;
      notifySoon(before);
    },
    subscribe: listeners.subscribe,
  };
}
