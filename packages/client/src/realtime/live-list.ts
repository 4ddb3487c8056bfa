import { ApiError, toApiError } from '../request/errors.ts';
import type { Requester } from '../request/request.ts';
import { isTemporary } from './connection.ts';
import type { SubscriptionHub } from './hub.ts';
import type { LiveListSnapshot } from './list-snapshot.ts';
import { createListSource, type ListSource, type LiveListQuery } from './list-source.ts';
import { applyEvent, applyLoaded, EMPTY_LIST, type ListRules, type LoadedList, type Meanwhile } from './list-state.ts';
import type { RecordChange, ResetReason } from './record-change.ts';
import { createReloadSchedule } from './reload-schedule.ts';
import { createSnapshots } from './snapshots.ts';
import type { ListRecord } from './sort-order.ts';
import type { SubscriptionListener } from './topic.ts';

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
const MAX_RECORDS = 1000;
/** Records beyond the visible ones, which take the place of those that leave the list: a quarter of the limit, within these bounds. */
const [MIN_LOOK_AHEAD, MAX_LOOK_AHEAD] = [5, 25];

/** A running load. */
interface Loading {
  abort: AbortController;
  meanwhile: Meanwhile & { events: RecordChange<ListRecord>[] };
  limit: number;
  waiters: readonly Waiter[];
}

/** A call that waits for a load. */
interface Waiter {
  resolve(): void;
  reject(error: unknown): void;
}

/** The records of a live list, and the loads and events that change them. */
class ListFollower<Data> implements SubscriptionListener {
  readonly snapshots: ReturnType<typeof createSnapshots<Data>>;
  readonly #source: ListSource;
  readonly #step: number;
  readonly #lookAhead: number;
  readonly #unsubscribe: () => void;
  readonly #reloads = createReloadSchedule(() => void this.#reload());
  #limit: number;
  #state = EMPTY_LIST;
  #hasLoaded = false;
  #isConnected = false;
  /** Whether events are missing, so that the list must be loaded again. */
  #hasMissed = false;
  #isRefused = false;
  #isClosed = false;
  #error: ApiError | undefined;
  /** The most records that a load returns: a search may find fewer than the capacity, although more follow. */
  #obtainable = Infinity;
  #loading: Loading | undefined;
  /** Calls of `loadMore` that no load serves yet. */
  #waiting: Waiter[] = [];

  constructor(
    hub: Pick<SubscriptionHub, 'subscribe'>,
    requester: Requester,
    path: string,
    query: LiveListQuery,
    step: number,
  ) {
    this.snapshots = createSnapshots<Data>(query);
    this.#source = createListSource(requester, path, query, step);
    this.#step = step;
    this.#limit = step;
    this.#lookAhead = Math.min(MAX_LOOK_AHEAD, Math.max(MIN_LOOK_AHEAD, Math.ceil(step / 4)));
    this.#unsubscribe = hub.subscribe(path, { where: query.where }, this);
  }

  onEvent(event: RecordChange): void {
    this.#loading?.meanwhile.events.push(event as RecordChange<ListRecord>);
    if (this.#hasLoaded) this.#state = applyEvent(this.#state, event as RecordChange<ListRecord>, this.#rules());
    this.#update();
  }

  onReady(): void {
    this.#isConnected = true;
    this.#update();
  }

  onDisconnect(): void {
    this.#isConnected = false;
    this.#update();
  }

  onReset(reason: ResetReason): void {
    this.#abandonLoad();
    this.#hasMissed = true;
    if (reason === 'session_changed') {
      // Nothing of another user's list may remain.
      this.#state = EMPTY_LIST;
      [this.#hasLoaded, this.#isConnected, this.#isRefused, this.#error] = [false, false, false, undefined];
    } else this.#reloads.delayForReset();
    this.#update();
  }

  onError(cause: unknown): void {
    this.#abandonLoad();
    this.#refuse(cause);
    this.#update();
  }

  async loadMore(): Promise<void> {
    if (this.#limit + this.#step > MAX_RECORDS)
      throw new RangeError(`A live list can show at most ${MAX_RECORDS} records`);
    if (this.#isClosed || this.#isRefused) throw this.#error ?? new Error('The live list is closed');
    this.#limit += this.#step;
    const { isComplete, records } = this.#state;
    if (isComplete || records.length >= this.#capacity) return this.#update();
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#update();
    });
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#abandonLoad();
    this.#unsubscribe();
    this.#rejectWaiting(new Error('The live list was closed'));
    this.#update();
  }

  get #capacity(): number {
    return this.#limit + this.#lookAhead;
  }

  #rules(): ListRules {
    return this.#source.rules(this.#capacity);
  }

  /** Whether too few records are held to fill the gaps of those that leave the list. */
  #isShort(): boolean {
    const { isComplete, records } = this.#state;
    const least = Math.min(this.#obtainable, this.#limit + Math.ceil(this.#lookAhead / 2));
    return !isComplete && records.length < least;
  }

  get #status(): LiveListSnapshot<Data>['status'] {
    if (this.#isClosed || this.#isRefused) return 'closed';
    if (!this.#hasLoaded) return 'loading';
    return this.#isConnected ? 'live' : 'reconnecting';
  }

  #update(): void {
    const status = this.#status;
    this.snapshots.update({ state: this.#state, limit: this.#limit, status, error: this.#error });
    if (status === 'closed' || !this.#isConnected || this.#loading !== undefined) return;
    const isDue = !this.#hasLoaded || this.#hasMissed || this.#state.isStale || this.#isShort();
    if (isDue || this.#waiting.length > 0) this.#reloads.schedule();
  }

  async #reload(): Promise<void> {
    if (this.#loading !== undefined || !this.#isConnected || this.#isClosed) return;
    const run: Loading = {
      abort: new AbortController(),
      meanwhile: { events: [], outside: this.#state.outside },
      limit: this.#limit,
      waiters: this.#waiting,
    };
    [this.#loading, this.#waiting, this.#hasMissed] = [run, [], false];
    try {
      const loaded = await this.#source.load(this.#capacity, run.abort.signal);
      if (this.#loading === run) this.#handleLoaded(run, loaded);
    } catch (cause) {
      if (this.#loading === run) this.#handleFailure(cause);
    }
  }

  #handleLoaded({ limit, meanwhile, waiters }: Loading, loaded: LoadedList): void {
    this.#loading = undefined;
    this.#source.learn(loaded.records);
    this.#state = applyLoaded(this.#state, loaded, meanwhile, this.#rules());
    // Not the records of the state: some may have left the list while it was being loaded.
    const isCut = !loaded.isComplete && loaded.records.length < limit + this.#lookAhead;
    this.#obtainable = isCut ? loaded.records.length : Infinity;
    [this.#hasLoaded, this.#error] = [true, undefined];
    if (this.#limit !== limit) this.#hasMissed = true;
    this.#reloads.succeed();
    for (const { resolve } of waiters) resolve();
    this.#update();
  }

  #handleFailure(cause: unknown): void {
    this.#abandonLoad();
    [this.#hasMissed, this.#error] = [true, toApiError(cause)];
    if (cause instanceof ApiError && isTemporary(cause)) this.#reloads.fail(cause.retryAfterMs);
    else this.#refuse(cause);
    this.#update();
  }

  #refuse(cause: unknown): void {
    [this.#isRefused, this.#error] = [true, toApiError(cause)];
    this.#rejectWaiting(cause);
  }

  #rejectWaiting(cause: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(cause);
  }

  #abandonLoad(): void {
    this.#loading?.abort.abort();
    this.#waiting.push(...(this.#loading?.waiters ?? []));
    this.#loading = undefined;
    this.#reloads.cancel();
  }
}

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
  const { limit = DEFAULT_LIMIT } = query;
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_RECORDS)
    throw new RangeError(`The limit of a live list must be a whole number from 1 to ${MAX_RECORDS}`);
  const follower = new ListFollower<Data>(hub, requester, path, query, limit);
  const { current, subscribe } = follower.snapshots;
  return {
    get data() {
      return current().data;
    },
    get meta() {
      return current().meta;
    },
    get status() {
      return current().status;
    },
    get error() {
      return current().error;
    },
    getSnapshot: current,
    subscribe,
    loadMore: () => follower.loadMore(),
    close: () => follower.close(),
  };
}
