import { encodeSelection, encodeWhere, type RecordSelection, type Where } from '../records/list-query.ts';
import { ApiError, toApiError } from '../request/errors.ts';
import type { QueryParameters, Requester } from '../request/request.ts';
import { isTemporary } from './connection.ts';
import type { SubscriptionHub } from './hub.ts';
import { createListLoader } from './list-loader.ts';
import type { LiveListSnapshot } from './list-snapshot.ts';
import { applyEvent, applyLoaded, EMPTY_LIST, type ListRules, type Meanwhile } from './list-state.ts';
import type { RecordEvent, ResetReason } from './record-event.ts';
import { createReloadSchedule } from './reload-schedule.ts';
import { createSnapshots } from './snapshots.ts';
import { createSortOrder, type ListRecord } from './sort-order.ts';

/** The query of a live list. */
export interface LiveListQuery extends RecordSelection {
  where?: Where | undefined;
  /** Finds records that contain the text in a searchable field. The list is loaded again after each change that may concern it. */
  q?: string | undefined;
  /** The fields by which records are sorted; a `-` before a name reverses the order. Default `-createdAt`. */
  sort?: readonly string[] | string | undefined;
  /** The number of records, and of those that `loadMore` adds. Default 20. */
  limit?: number | undefined;
  /** How to count the total. Default: as the resource declares it, usually `exact`. */
  count?: 'exact' | 'capped' | 'none' | undefined;
}

/** A list that follows the changes of its records. */
export interface LiveList<Data> extends LiveListSnapshot<Data> {
  /** The current state. It is immutable, and the same object until something changes. */
  getSnapshot(): LiveListSnapshot<Data>;
  /** Calls the listener after each change. Returns an unsubscribe function. */
  subscribe(listener: () => void): () => void;
  /**
   * Shows `limit` more records, up to 1,000. Resolves when they are loaded.
   *
   * @throws ApiError if they cannot be loaded; RangeError for more than 1,000 records
   */
  loadMore(): Promise<void>;
  /** Ends the list. Its records stay as they are. */
  close(): void;
}

const DEFAULT_LIMIT = 20;
const DEFAULT_SORT = '-createdAt';
const MAX_RECORDS = 1000;
/** Records beyond the visible ones, which take the place of those that leave the list: a quarter of the limit, within these bounds. */
const [MIN_LOOK_AHEAD, MAX_LOOK_AHEAD] = [5, 25];

/** A running load. */
interface Loading {
  abort: AbortController;
  meanwhile: Meanwhile & { events: RecordEvent<ListRecord>[] };
  limit: number;
  waiters: readonly Waiter[];
}

/** A call that waits for a load. */
interface Waiter {
  resolve(): void;
  reject(error: unknown): void;
}

/** Leaves every place in the list to the server. */
const UNKNOWN_ORDER: ListRules['order'] = { compare: () => undefined, hasSameKeys: () => false };

/**
 * Creates a live list. It loads the list as soon as its subscription is ready.
 *
 * @param path the path of the resource: `/posts`
 * @throws TypeError for a filter that cannot be sent; RangeError for an invalid limit
 */
export function createLiveList<Data>(
  hub: Pick<SubscriptionHub, 'subscribe'>,
  requester: Requester,
  path: string,
  query: LiveListQuery,
): LiveList<Data> {
  const { where, q, count, include = [], fields, limit: step = DEFAULT_LIMIT } = query;
  if (!Number.isInteger(step) || step < 1 || step > MAX_RECORDS)
    throw new RangeError(`The limit of a live list must be a whole number from 1 to ${MAX_RECORDS}`);
  const sort = [query.sort ?? DEFAULT_SORT].flat().flatMap((text) => text.split(','));
  const lookAhead = Math.min(MAX_LOOK_AHEAD, Math.max(MIN_LOOK_AHEAD, Math.ceil(step / 4)));
  const order = createSortOrder(sort);
  const load = createListLoader(requester);
  /** Fields that are loaded for the order of the list, but not shown. */
  let keyFields = fields === undefined ? [] : [...(order.fields ?? []), 'updatedAt'];
  let limit = step;
  let state = EMPTY_LIST;
  let hasLoaded = false;
  let isConnected = false;
  /** Whether events are missing, so that the list must be loaded again. */
  let hasMissed = false;
  let isRefused = false;
  let isClosed = false;
  let error: ApiError | undefined;
  /** The most records that a load returns: a search may find fewer than the capacity, although more follow. */
  let obtainable = Number.POSITIVE_INFINITY;
  let loading: Loading | undefined;
  /** Calls of `loadMore` that no load serves yet. */
  let waiting: Waiter[] = [];

  const snapshots = createSnapshots<Data>({ fields, include });
  const reloads = createReloadSchedule(() => void reload());

  const rules = (): ListRules => ({
    order: fields !== undefined && keyFields.length === 0 ? UNKNOWN_ORDER : order,
    capacity: limit + lookAhead,
    canUseData: !q && include.length === 0 && order.fields !== undefined,
  });

  const isShort = () =>
    !state.isComplete && state.records.length < Math.min(obtainable, limit + Math.ceil(lookAhead / 2));

  function update(): void {
    const status = isClosed || isRefused ? 'closed' : !hasLoaded ? 'loading' : isConnected ? 'live' : 'reconnecting';
    snapshots.update({ state, limit, status, error });
    if (isClosed || isRefused || !isConnected || loading !== undefined) return;
    if (!hasLoaded || hasMissed || state.isStale || isShort() || waiting.length > 0) reloads.schedule();
  }

  function listParameters(): QueryParameters {
    const selected = fields && [...new Set([...fields, ...keyFields])];
    return { ...encodeWhere(where), q, sort: sort.join(), count, ...encodeSelection({ include, fields: selected }) };
  }

  /** Loads the list. The fields for the order may not exist, because the resource has no timestamps. */
  async function loadList(signal: AbortSignal) {
    const request = { path, size: limit + lookAhead, pageSize: step, signal };
    try {
      return await load({ ...request, query: listParameters() });
    } catch (cause) {
      if (!(cause instanceof ApiError) || cause.status !== 400 || keyFields.length === 0) throw cause;
      keyFields = [];
      return load({ ...request, query: listParameters() });
    }
  }

  async function reload(): Promise<void> {
    if (loading !== undefined || !isConnected || isClosed) return;
    const meanwhile = { events: [], outside: state.outside };
    const run: Loading = { abort: new AbortController(), meanwhile, limit, waiters: waiting };
    [loading, waiting, hasMissed] = [run, [], false];
    try {
      const loaded = await loadList(run.abort.signal);
      if (loading !== run) return;
      loading = undefined;
      order.learn(loaded.records);
      state = applyLoaded(state, loaded, meanwhile, rules());
      // Not the records of the state: some may have left the list while it was being loaded.
      const isCut = !loaded.isComplete && loaded.records.length < run.limit + lookAhead;
      obtainable = isCut ? loaded.records.length : Number.POSITIVE_INFINITY;
      [hasLoaded, error] = [true, undefined];
      if (limit !== run.limit) hasMissed = true;
      reloads.succeed();
      for (const { resolve } of run.waiters) resolve();
    } catch (cause) {
      if (loading !== run) return;
      handleFailure(cause);
    }
    update();
  }

  function handleFailure(cause: unknown): void {
    abandonLoad();
    [hasMissed, error] = [true, toApiError(cause)];
    if (cause instanceof ApiError && isTemporary(cause)) reloads.fail(cause.retryAfterMs);
    else refuse(cause);
  }

  function refuse(cause: unknown): void {
    [isRefused, error] = [true, toApiError(cause)];
    rejectWaiting(cause);
  }

  function rejectWaiting(cause: unknown): void {
    for (const { reject } of waiting.splice(0)) reject(cause);
  }

  function abandonLoad(): void {
    loading?.abort.abort();
    waiting.push(...(loading?.waiters ?? []));
    loading = undefined;
    reloads.cancel();
  }

  function handleReset(reason: ResetReason): void {
    abandonLoad();
    hasMissed = true;
    if (reason === 'session_changed') {
      // Nothing of another user's list may remain.
      [state, hasLoaded, isConnected, isRefused, error] = [EMPTY_LIST, false, false, false, undefined];
    } else reloads.delayForReset();
    update();
  }

  const unsubscribe = hub.subscribe(
    path,
    { where },
    {
      onEvent(event) {
        loading?.meanwhile.events.push(event as RecordEvent<ListRecord>);
        if (hasLoaded) state = applyEvent(state, event as RecordEvent<ListRecord>, rules());
        update();
      },
      onReady() {
        isConnected = true;
        update();
      },
      onDisconnect() {
        isConnected = false;
        update();
      },
      onReset: handleReset,
      onError(cause) {
        abandonLoad();
        refuse(cause);
        update();
      },
    },
  );

  return {
    get data() {
      return snapshots.current().data;
    },
    get meta() {
      return snapshots.current().meta;
    },
    get status() {
      return snapshots.current().status;
    },
    get error() {
      return snapshots.current().error;
    },
    getSnapshot: snapshots.current,
    subscribe: snapshots.subscribe,
    async loadMore() {
      if (limit + step > MAX_RECORDS) throw new RangeError(`A live list can show at most ${MAX_RECORDS} records`);
      if (isClosed || isRefused) throw error ?? new Error('The live list is closed');
      limit += step;
      if (state.isComplete || state.records.length >= limit + lookAhead) {
        update();
        return;
      }
      await new Promise<void>((resolve, reject) => {
        waiting.push({ resolve, reject });
        update();
      });
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      abandonLoad();
      unsubscribe();
      rejectWaiting(new Error('The live list was closed'));
      update();
    },
  };
}
