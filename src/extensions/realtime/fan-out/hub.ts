import { setTimeout as sleep } from 'node:timers/promises';
import {
  createLimitedWarning,
  createSemaphore,
  createSerialQueue,
  gatewaysByName,
  type Host,
  type ResourceGateway,
} from '../../../extension/index.ts';
import type { Warn } from '../../../platform/observability/limited-warning.ts';
import {
  ENTRY_KIND_FIELDS,
  type Entry,
  isEntryBefore,
  parseEntries,
  type RecordChange,
  takeEntriesWithinBytes,
} from '../events/entry.ts';
import { createReader, type Reader } from '../events/reader.ts';
import type { RealtimeSettings } from '../settings/settings.ts';
import { createBroadcast } from './broadcast.ts';
import { encodeHeartbeatEvent, encodeReadyEvent, encodeResetEvent } from './frame.ts';
import { createGroups, type Listener } from './groups.ts';
import type { RealtimeMetrics } from './metrics.ts';
import { createVisibleChanges } from './visible-change.ts';

const MAX_REMEMBERED_EVENTS = 20_000;

/** Creates a filter that drops duplicate changes, because a relay may add a change twice. It remembers the last 20,000 events. */
function createDeduplicator(): (changes: readonly RecordChange[]) => RecordChange[] {
  // A Set iterates in the order of insertion, so the oldest ids are deleted first.
  const known = new Set<string>();
  return (changes) => {
    const fresh = changes.filter(({ eventId }) => {
      const isNew = !known.has(eventId);
      known.add(eventId);
      return isNew;
    });
    for (const id of known) {
      if (known.size <= MAX_REMEMBERED_EVENTS) break;
      known.delete(id);
    }
    return fresh;
  };
}

const RETRY_MS = 300;
// While Redis is down, each open stream reports it at each retry.
const WARNING_INTERVAL_MS = 10_000;
const MAX_CATCH_UPS = 8;
const FIRST_PAGE_ENTRIES = 25;
const MAX_PAGE_ENTRIES = 200;
// Maximum bytes of missed events that are read at once for a resuming client, because the client may not read them.
const MAX_PAGE_BYTES = 1_048_576;
// Maximum of groups × changes in one batch, because the frames of a batch stay in memory until they are computed for all groups.
const MAX_VISIBILITY_CHECKS = 10_000;
const NO_BYTES = Buffer.alloc(0);

/** The open client streams of this process, and the reader that supplies them with changes. It reads only while a stream is open. */
export class Hub {
  readonly #log: Host['log'];
  readonly #warn: Warn;
  readonly #gateways: ReadonlyMap<string, ResourceGateway>;
  readonly #broadcast: ReturnType<typeof createBroadcast>;
  readonly #reader: Reader;
  readonly #heartbeatSeconds: number;
  readonly #metrics: Pick<RealtimeMetrics, 'countChanges'>;
  readonly #groups = createGroups();
  readonly #deduplicate = createDeduplicator();
  readonly #catchUpSlots = createSemaphore(MAX_CATCH_UPS);
  /** Runs one task at a time, either sending changes or adding a listener to the groups, so that a new listener misses no change. */
  readonly #runInOrder = createSerialQueue();
  readonly #opened = new Set<Listener>();
  #position: string | undefined;
  #readingNumber = 0;
  #positionKnown = Promise.withResolvers<void>();
  #heartbeatTimer: NodeJS.Timeout | undefined;
  #stopped = false;
  /** How often this process has read `erased` entries from the Redis stream. */
  #erasures = 0;

  constructor(
    host: Pick<Host, 'redis' | 'env' | 'log' | 'service' | 'resources'>,
    { heartbeatSeconds }: Pick<RealtimeSettings, 'heartbeatSeconds'>,
    metrics: Pick<RealtimeMetrics, 'countChanges'>,
  ) {
    this.#log = host.log;
    this.#warn = createLimitedWarning(host.log, WARNING_INTERVAL_MS);
    this.#gateways = gatewaysByName(host.resources);
    this.#broadcast = createBroadcast(createVisibleChanges(host));
    this.#reader = createReader(host, (entries, upTo, lost) => this.#broadcastEntriesAndAdvance(entries, upTo, lost));
    this.#heartbeatSeconds = heartbeatSeconds;
    this.#metrics = metrics;
  }

  /** Whether the process is stopping and accepts no more streams. */
  get isStopped(): boolean {
    return this.#stopped;
  }

  /** Returns the number of subscriptions of all open streams. */
  countSubscriptions(): number {
    let count = 0;
    for (const { subscriptions } of this.#opened) count += subscriptions.length;
    return count;
  }

  /**
   * Adds a client's stream. A new client gets all changes from now on; a resuming client gets all changes after the event `after`.
   *
   * @param after the id of the last event that a resuming client has received
   */
  addStreamAndCatchUp(listener: Listener, after: string | undefined): void {
    if (this.#opened.size === 0) this.#startReaderAndHeartbeats();
    this.#opened.add(listener);
    listener.stream.onClose(() => {
      this.#opened.delete(listener);
      this.#groups.removeListener(listener);
      if (this.#opened.size === 0) this.#pauseReaderAndHeartbeats();
    });
    this.#sendMissedChangesAndJoin(listener, after).catch((error) => {
      this.#log.error({ err: error }, 'A stream could not be started');
      listener.stream.end('shutdown');
    });
  }

  /** Moves a listener to its new groups after its viewer or its subscriptions have changed. */
  regroupListener(listener: Listener): Promise<void> {
    return this.#runInOrder(async () => {
      if (!this.#groups.hasListener(listener)) return;
      this.#groups.removeListener(listener);
      this.#groups.addListener(listener);
    });
  }

  async endAllStreamsAndStop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#heartbeatTimer);
    for (const { stream } of this.#opened) stream.end('shutdown');
    this.#positionKnown.resolve();
    await this.#reader.stop();
  }

  #sendResetToAllListeners(id: string): void {
    const bytes = encodeResetEvent(id);
    for (const { stream } of this.#groups.allListeners()) stream.write(bytes);
  }

  /** Returns those changes that no erasure has removed from Redis meanwhile. If one was removed, sends a reset to all listeners. */
  async #resetAndDropErasedChanges(changes: readonly RecordChange[]): Promise<readonly RecordChange[]> {
    while (!this.#stopped) {
      try {
        const kept = await this.#reader.findRemaining(changes.map(({ id }) => id));
        const gone = changes.find(({ id }) => !kept.has(id));
        if (gone !== undefined) this.#sendResetToAllListeners(gone.id);
        return changes.filter(({ id }) => kept.has(id));
      } catch (error) {
        this.#warn({ err: error }, 'Redis is unreachable; open streams wait');
        await sleep(RETRY_MS);
      }
    }
    return [];
  }

  /**
   * If an erasure is among the entries, disconnects the clients with unsent bytes, because these bytes may contain erased values. When
   * such a client reconnects, it gets the remaining events.
   */
  #disconnectUnsentOnErasure(entries: readonly Entry[]): void {
    if (!entries.some(({ field }) => field === ENTRY_KIND_FIELDS.erased)) return;
    this.#erasures += 1;
    for (const { stream } of this.#opened) stream.disconnectIfUnsent();
  }

  /** Sends changes to the listeners that they concern. While the database is unreachable, retries until it is reachable again. */
  async #sendChanges(changes: readonly RecordChange[]): Promise<void> {
    let rest = changes;
    while (!this.#stopped && this.#groups.size > 0 && rest.length > 0) {
      const affected = this.#groups.findAffectedGroups(rest);
      const some = rest.slice(0, Math.max(1, Math.floor(MAX_VISIBILITY_CHECKS / affected.length)));
      try {
        await this.#broadcast.sendToGroups(affected, some);
        rest = rest.slice(some.length);
      } catch (error) {
        this.#log.warn({ err: error }, 'The database is unreachable; open streams wait');
        await sleep(RETRY_MS);
        rest = await this.#resetAndDropErasedChanges(rest);
      }
    }
  }

  #broadcastEntriesAndAdvance(entries: readonly Entry[], upTo: string, lost: boolean): Promise<void> {
    const readingAtCall = this.#readingNumber;
    return this.#runInOrder(async () => {
      if (this.#groups.size > 0) {
        const found = parseEntries(entries, this.#gateways, this.#log);
        if (lost || found.lost) this.#sendResetToAllListeners(entries[0]!.id);
        const changes = this.#deduplicate(found.changes);
        this.#metrics.countChanges(changes.length, changes.at(-1)?.at);
        if (changes.length > 0) await this.#sendChanges(changes);
      }
      this.#disconnectUnsentOnErasure(entries);
      // All client streams have closed meanwhile, so reading was paused and this position is out of date.
      if (readingAtCall !== this.#readingNumber) return;
      this.#position = upTo;
      this.#positionKnown.resolve();
    });
  }

  #sendHeartbeats(): void {
    const bytes = this.#position === undefined ? NO_BYTES : encodeHeartbeatEvent(this.#position);
    for (const listener of this.#opened)
      listener.stream.sendHeartbeatOrDisconnect(this.#groups.hasListener(listener) ? bytes : NO_BYTES);
  }

  #startReaderAndHeartbeats(): void {
    this.#positionKnown = Promise.withResolvers();
    this.#reader.startReading();
    this.#heartbeatTimer = setInterval(() => this.#sendHeartbeats(), this.#heartbeatSeconds * 1000);
  }

  #pauseReaderAndHeartbeats(): void {
    clearInterval(this.#heartbeatTimer);
    this.#readingNumber += 1;
    this.#position = undefined;
    this.#reader.pauseReading();
  }

  /**
   * Sends `ready` and adds the listener to the groups, so that it gets every change after `position`, as the other listeners do. Call it
   * within `runInOrder`.
   *
   * @param isReset sends `reset` first, because changes that the listener missed may no longer be in Redis
   */
  #sendReadyAndAddListener(listener: Listener, isReset: boolean): void {
    const { stream } = listener;
    if (!stream.isOpen) return;
    if (isReset) stream.write(encodeResetEvent(this.#position!));
    stream.write(encodeReadyEvent(this.#position!, this.#heartbeatSeconds));
    this.#groups.addListener(listener);
  }

  /**
   * Sends a resuming listener one page of the changes after the entry `after`, or adds it to the groups if it has got as far as the
   * other listeners.
   *
   * @param limit maximum number of entries to read
   * @returns the id of the last entry sent and the number of entries read; undefined if the listener was added to the groups
   */
  async #sendMissedPageOrJoin(
    listener: Listener,
    after: string,
    limit: number,
  ): Promise<{ cursor: string; entries: number } | undefined> {
    const upTo = await this.#runInOrder(async () => {
      if (this.#position !== after) return this.#position!;
      this.#sendReadyAndAddListener(listener, false);
      return undefined;
    });
    if (upTo === undefined) return undefined;
    const erasuresBefore = this.#erasures;
    const entries = await this.#reader.readRange(after, upTo, limit);
    if (entries === undefined) {
      await this.#runInOrder(async () => this.#sendReadyAndAddListener(listener, true));
      return undefined;
    }
    const some = takeEntriesWithinBytes(entries, MAX_PAGE_BYTES);
    const { changes, lost } = parseEntries(some, this.#gateways, this.#log);
    if (lost) listener.stream.write(encodeResetEvent(after));
    // If an erasure deleted the record, send only its id, not its erased values.
    const toSend = changes.map((one) => (one.byErasure && one.action === 'deleted' ? { ...one, idOnly: true } : one));
    const isSent = await this.#broadcast.sendToListener(listener, toSend, () => this.#erasures === erasuresBefore);
    if (!isSent) return { cursor: after, entries: some.length };
    if (some.length > 0) return { cursor: some.at(-1)!.id, entries: some.length };
    // The process that served this client before had read further in the Redis stream than this process, which will catch up soon.
    if (isEntryBefore(upTo, after)) await sleep(RETRY_MS);
    return { cursor: isEntryBefore(upTo, after) ? after : upTo, entries: 0 };
  }

  async #sendMissedChangesAndJoin(listener: Listener, after: string | undefined): Promise<void> {
    const { stream } = listener;
    let cursor = after;
    let limit = FIRST_PAGE_ENTRIES;
    while (stream.isOpen && !this.#stopped) {
      await this.#positionKnown.promise;
      if (cursor === undefined) return this.#runInOrder(async () => this.#sendReadyAndAddListener(listener, false));
      try {
        const from: string = cursor;
        const progress = await this.#catchUpSlots.run(() => this.#sendMissedPageOrJoin(listener, from, limit));
        if (progress === undefined) return;
        cursor = progress.cursor;
        // `MAX_PAGE_BYTES` cuts a page of large entries, so read fewer entries next time.
        limit = Math.min(MAX_PAGE_ENTRIES, Math.max(1, 2 * progress.entries));
        await stream.waitUntilDrained();
      } catch (error) {
        this.#warn({ err: error }, 'Could not send missed changes to a resuming stream; will retry');
        await sleep(RETRY_MS);
      }
    }
  }
}
