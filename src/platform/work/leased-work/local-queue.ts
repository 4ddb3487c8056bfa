import { AsyncLocalStorage } from 'node:async_hooks';
import { type AddToBatch, createMicroBatch } from '../../helpers/concurrency/micro-batch.ts';

/** The maximum number of rows of one claim. */
const MAX_CLAIM = 500;
/** The maximum number of rows whose results are not stored yet, besides those that run. */
const MAX_HELD = 2000;
/** A process claims as many rows ahead as have ended within this time, so that it leaves slow work to other processes. */
const AHEAD_MS = 250;
/**
 * Once the oldest waiting row has waited this long, all waiting rows go back: the work has become slower. Checked once a second, so a row may
 * wait twice as long.
 */
const STALE_MS = 1000;
/** The maximum number of remembered ids. A sweep finds the rows of others. */
const MAX_IDS = 1000;

/** What to claim. */
interface ClaimRequest {
  /** The maximum number of rows. */
  limit: number;
  /** Rows that a search for due rows may not find, because they were stored late or their lease has expired. */
  ids: readonly string[];
  /** Whether all of the rows will start at once. Otherwise some may wait, and the process may die before they start. */
  startsAtOnce: boolean;
}

/** A slot in which a row runs. */
export interface Slot {
  /** ms since the row was claimed. */
  waitedMs: number;
  /** Lets the next row start, while the result of this one is stored. */
  free(): void;
}

interface LocalQueueOptions<Lease> {
  /** The number of rows that run at once. */
  concurrency: number;
  /** Claims due rows, in the order in which they are to start. `mayHaveMore`: whether further rows may be due. */
  claim(request: ClaimRequest): Promise<{ leases: readonly Lease[]; mayHaveMore: boolean }>;
  /** Runs a row and stores its result. Never rejects. */
  run(lease: Lease, slot: Slot): Promise<unknown>;
  /** Gives back rows that were not started. */
  release(leases: readonly Lease[]): Promise<unknown>;
  /** Called when more rows are due than this process can run soon: others should claim them. @param ids rows that a search may not find */
  onMore(ids: readonly string[]): void;
  /** Called when rows could not be claimed ahead or given back. A sweep finds them. */
  onError(error: unknown): void;
}

/**
 * The rows that a process has claimed: some run, others wait for a slot. It claims many rows at once, and the next ones before the last have
 * started, so that a row costs a fraction of a statement. How many wait depends on how fast they run.
 */
export class LocalQueue<Lease> {
  readonly #options: LocalQueueOptions<Lease>;
  /** Wake-ups that arrive during a claim share the next one. */
  readonly #addWakeUp: AddToBatch<string | undefined>;
  /** A row must not start in the context of the row whose slot it gets, for example in its span. */
  readonly #inOwnContext = AsyncLocalStorage.snapshot();
  readonly #ids = new Set<string>();
  #waiting: { lease: Lease; claimedAt: number }[] = [];
  #inSlots = 0;
  /** Rows that were claimed, and have not ended. */
  #held = 0;
  #mayHaveMore = false;
  #isClaiming = false;
  #isRefilling = false;
  #staleTimer: NodeJS.Timeout | undefined;
  #windowStart = performance.now();
  #ended = 0;
  #endedInLastWindow = 0;
  /** Set by `stop`: called when all rows have ended. */
  #onIdle: (() => void) | undefined;

  constructor(options: LocalQueueOptions<Lease>) {
    this.#options = options;
    this.#addWakeUp = createMicroBatch((ids) => this.#claim(ids), MAX_IDS);
  }

  /**
   * Claims due rows if there is room for them. Resolves when they are claimed.
   *
   * @param id a row that the search for due rows may not find
   * @param isHint whether other processes have got this wake-up as well; otherwise they get one if there is no room
   */
  async wake({ id, isHint = false }: { id?: string | undefined; isHint?: boolean } = {}): Promise<void> {
    if (this.#countRoom() > 0) return this.#addWakeUp(id);
    this.#noteId(id);
    this.#mayHaveMore = true;
    if (!isHint) this.#options.onMore(id === undefined ? [] : [id]);
  }

  /** Forgets a row whose lease was lost before it started. */
  drop(lease: Lease): void {
    const before = this.#waiting.length;
    this.#waiting = this.#waiting.filter((waiting) => waiting.lease !== lease);
    this.#noteEnded(before - this.#waiting.length);
  }

  /** Gives back the rows that wait. When those that run have ended, resolves with the ids of the wake-ups that led to no claim. */
  async stop(): Promise<string[]> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onIdle = resolve;
    clearTimeout(this.#staleTimer);
    void this.#giveBackWaiting();
    this.#noteEnded(0);
    await promise;
    return [...this.#ids];
  }

  #noteId(id: string | undefined): void {
    if (id !== undefined && this.#ids.size < MAX_IDS) this.#ids.add(id);
  }

  /** Returns how many rows may wait. */
  #countAhead(): number {
    const elapsed = performance.now() - this.#windowStart;
    if (elapsed >= AHEAD_MS) {
      this.#endedInLastWindow = elapsed < 2 * AHEAD_MS ? this.#ended : 0;
      this.#ended = 0;
      this.#windowStart += elapsed;
    }
    return Math.min(MAX_CLAIM, Math.max(this.#ended, this.#endedInLastWindow));
  }

  #countRoom(): number {
    const { concurrency } = this.#options;
    const free = concurrency + this.#countAhead() - this.#inSlots - this.#waiting.length;
    return Math.max(0, Math.min(MAX_CLAIM, free, concurrency + MAX_HELD - this.#held));
  }

  async #claim(ids: readonly (string | undefined)[]): Promise<void> {
    for (const id of ids) this.#noteId(id);
    const limit = this.#onIdle === undefined ? this.#countRoom() : 0;
    if (limit === 0) {
      this.#mayHaveMore = true;
      this.#options.onMore(ids.filter((id) => id !== undefined));
      return;
    }
    const listed = [...this.#ids].slice(0, limit);
    for (const id of listed) this.#ids.delete(id);
    const startsAtOnce = limit <= this.#options.concurrency - this.#inSlots - this.#waiting.length;
    this.#isClaiming = true;
    try {
      this.#add(await this.#options.claim({ limit, ids: listed, startsAtOnce }));
    } finally {
      this.#isClaiming = false;
      this.#noteEnded(0);
    }
  }

  #add({ leases, mayHaveMore }: { leases: readonly Lease[]; mayHaveMore: boolean }): void {
    const claimedAt = performance.now();
    this.#held += leases.length;
    for (const lease of leases) this.#waiting.push({ lease, claimedAt });
    if (this.#onIdle !== undefined) return void this.#giveBackWaiting();
    const becameFull = mayHaveMore && !this.#mayHaveMore;
    this.#mayHaveMore = mayHaveMore || this.#ids.size > 0;
    if (becameFull) this.#options.onMore([]);
    this.#inOwnContext(() => this.#advance());
  }

  /** Starts rows that wait, and claims the next ones. */
  #advance(): void {
    if (this.#onIdle !== undefined) return;
    while (this.#inSlots < this.#options.concurrency && this.#waiting.length > 0) void this.#start();
    if (this.#waiting.length > 0) this.#staleTimer ??= setTimeout(() => this.#checkStale(), STALE_MS).unref();
    if (this.#mayHaveMore && !this.#isRefilling) void this.#refill();
  }

  async #start(): Promise<void> {
    const { lease, claimedAt } = this.#waiting.shift()!;
    let isFree = false;
    const free = () => {
      if (isFree) return;
      isFree = true;
      this.#inSlots -= 1;
      this.#ended += 1;
      this.#inOwnContext(() => this.#advance());
    };
    this.#inSlots += 1;
    await this.#options.run(lease, { waitedMs: performance.now() - claimedAt, free });
    free();
    this.#noteEnded(1);
  }

  async #refill(): Promise<void> {
    if (this.#waiting.length > this.#countAhead() / 2 || this.#countRoom() === 0) return;
    this.#isRefilling = true;
    try {
      await this.#addWakeUp(undefined);
    } catch (error) {
      this.#mayHaveMore = false;
      this.#options.onError(error);
    }
    this.#isRefilling = false;
    this.#advance();
  }

  #checkStale(): void {
    this.#staleTimer = undefined;
    const [first] = this.#waiting;
    if (first !== undefined && performance.now() - first.claimedAt >= STALE_MS) {
      this.#mayHaveMore = true;
      void this.#giveBackWaiting().then(() => this.#options.onMore([]));
    }
    this.#advance();
  }

  async #giveBackWaiting(): Promise<void> {
    const leases = this.#waiting.map(({ lease }) => lease);
    this.#waiting = [];
    if (leases.length === 0) return;
    try {
      await this.#options.release(leases);
    } catch (error) {
      this.#options.onError(error);
    }
    this.#noteEnded(leases.length);
  }

  #noteEnded(count: number): void {
    const wasFull = this.#held >= this.#options.concurrency + MAX_HELD;
    this.#held -= count;
    if (wasFull) this.#inOwnContext(() => this.#advance());
    if (this.#held === 0 && !this.#isClaiming) this.#onIdle?.();
  }
}
