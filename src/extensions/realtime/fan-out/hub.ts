import { setTimeout as sleep } from 'node:timers/promises';
import { gatewaysByName } from '../../../declare/gateways.ts';
import type { Host } from '../../../declare/host.ts';
import { createSemaphore } from '../../../platform/helpers/concurrency/semaphore.ts';
import { createSerialQueue } from '../../../platform/helpers/concurrency/serial-queue.ts';
import { createLimitedWarning } from '../../../platform/observability/limited-warning.ts';
import {
  ENTRY_KIND_FIELDS,
  type Entry,
  isEntryBefore,
  type RecordChange,
  takeEntriesWithinBytes,
  unpackRecordChange,
} from '../events/entry.ts';
import { createReader } from '../events/reader.ts';
import type { RealtimeSettings } from '../settings/settings.ts';
import { createBroadcast } from './broadcast.ts';
import { type EndReason, encodeHeartbeatEvent, encodeReadyEvent, encodeResetEvent } from './frame.ts';
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

/** The open client streams of this process, and the reader that supplies them with changes. */
export interface Hub {
  /** Whether the process is stopping and accepts no more streams. */
  readonly isStopped: boolean;
  /** Returns the number of subscriptions of all open streams. */
  countSubscriptions(): number;
  /**
   * Adds a client's stream. A new client gets all changes from now on; a resuming client gets all changes after the event `after`.
   *
   * @param after the id of the last event that a resuming client has received
   */
  addStreamAndCatchUp(listener: Listener, after: string | undefined): void;
  /** Moves a listener to its new groups after its viewer or its subscriptions have changed. */
  regroupListener(listener: Listener): Promise<void>;
  /** Ends all streams. */
  endAllStreamsAndStop(): Promise<void>;
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

/** Creates the hub. It reads events from Redis only while a client's stream is open. */
export function createHub(
  host: Pick<Host, 'redis' | 'env' | 'log' | 'service' | 'resources'>,
  { heartbeatSeconds }: Pick<RealtimeSettings, 'heartbeatSeconds'>,
  metrics: Pick<RealtimeMetrics, 'countChanges'>,
): Hub {
  const { log } = host;
  const warn = createLimitedWarning(log, WARNING_INTERVAL_MS);
  const gateways = gatewaysByName(host.resources);
  const broadcast = createBroadcast(createVisibleChanges(host));
  const groups = createGroups();
  const deduplicate = createDeduplicator();
  const catchUpSlots = createSemaphore(MAX_CATCH_UPS);
  /** Runs one task at a time, either sending changes or adding a listener to the groups, so that a new listener misses no change. */
  const runInOrder = createSerialQueue();
  const opened = new Set<Listener>();
  const reader = createReader(host, (entries, upTo, lost) => broadcastEntriesAndAdvance(entries, upTo, lost));
  let position: string | undefined;
  let readingNumber = 0;
  let positionKnown = Promise.withResolvers<void>();
  let heartbeatTimer: NodeJS.Timeout | undefined;
  let stopped = false;
  /** How often this process has read `erased` entries from the Redis stream. */
  let erasures = 0;

  /** Parses entries of the Redis stream. `lost` in the result: changes are missing, because they were dropped or cannot be parsed. */
  function parseEntries(entries: readonly Entry[]): { changes: RecordChange[]; lost: boolean } {
    let lost = false;
    const changes = entries.flatMap((entry) => {
      lost ||= entry.field === ENTRY_KIND_FIELDS.lost;
      if (entry.field !== ENTRY_KIND_FIELDS.event) return [];
      try {
        return unpackRecordChange(entry, gateways) ?? [];
      } catch (error) {
        log.error({ err: error, entry: entry.id }, 'Could not parse a change for open streams');
        lost = true;
        return [];
      }
    });
    return { changes, lost };
  }

  function sendResetToAllListeners(id: string): void {
    const bytes = encodeResetEvent(id);
    for (const { stream } of groups.allListeners()) stream.write(bytes);
  }

  /** Returns those changes that no erasure has removed from Redis meanwhile. If one was removed, sends a reset to all listeners. */
  async function resetAndDropErasedChanges(changes: readonly RecordChange[]): Promise<readonly RecordChange[]> {
    while (!stopped) {
      try {
        const kept = await reader.findRemaining(changes.map(({ id }) => id));
        const gone = changes.find(({ id }) => !kept.has(id));
        if (gone !== undefined) sendResetToAllListeners(gone.id);
        return changes.filter(({ id }) => kept.has(id));
      } catch (error) {
        warn({ err: error }, 'Redis is unreachable; open streams wait');
        await sleep(RETRY_MS);
      }
    }
    return [];
  }

  /**
   * If an erasure is among the entries, disconnects the clients with unsent bytes, because these bytes may contain erased values. When
   * such a client reconnects, it gets the remaining events.
   */
  function disconnectUnsentOnErasure(entries: readonly Entry[]): void {
    if (!entries.some(({ field }) => field === ENTRY_KIND_FIELDS.erased)) return;
    erasures += 1;
    for (const { stream } of opened) stream.disconnectIfUnsent();
  }

  /** Sends changes to the listeners that they concern. While the database is unreachable, retries until it is reachable again. */
  async function sendChanges(changes: readonly RecordChange[]): Promise<void> {
    let rest = changes;
    while (!stopped && groups.size > 0 && rest.length > 0) {
      const affected = groups.findAffectedGroups(rest);
      const some = rest.slice(0, Math.max(1, Math.floor(MAX_VISIBILITY_CHECKS / affected.length)));
      try {
        await broadcast.sendToGroups(affected, some);
        rest = rest.slice(some.length);
      } catch (error) {
        log.warn({ err: error }, 'The database is unreachable; open streams wait');
        await sleep(RETRY_MS);
        rest = await resetAndDropErasedChanges(rest);
      }
    }
  }

  function broadcastEntriesAndAdvance(entries: readonly Entry[], upTo: string, lost: boolean): Promise<void> {
    const readingAtCall = readingNumber;
    return runInOrder(async () => {
      if (groups.size > 0) {
        const found = parseEntries(entries);
        if (lost || found.lost) sendResetToAllListeners(entries[0]!.id);
        const changes = deduplicate(found.changes);
        metrics.countChanges(changes.length, changes.at(-1)?.at);
        if (changes.length > 0) await sendChanges(changes);
      }
      disconnectUnsentOnErasure(entries);
      // All client streams have closed meanwhile, so reading was paused and this position is out of date.
      if (readingAtCall !== readingNumber) return;
      position = upTo;
      positionKnown.resolve();
    });
  }

  function sendHeartbeats(): void {
    const bytes = position === undefined ? NO_BYTES : encodeHeartbeatEvent(position);
    for (const listener of opened)
      listener.stream.sendHeartbeatOrDisconnect(groups.hasListener(listener) ? bytes : NO_BYTES);
  }

  function startReaderAndHeartbeats(): void {
    positionKnown = Promise.withResolvers();
    reader.startReading();
    heartbeatTimer = setInterval(sendHeartbeats, heartbeatSeconds * 1000);
  }

  function pauseReaderAndHeartbeats(): void {
    clearInterval(heartbeatTimer);
    readingNumber += 1;
    position = undefined;
    reader.pauseReading();
  }

  /**
   * Sends `ready` and adds the listener to the groups, so that it gets every change after `position`, as the other listeners do. Call it
   * within `runInOrder`.
   *
   * @param isReset sends `reset` first, because changes that the listener missed may no longer be in Redis
   */
  function sendReadyAndAddListener(listener: Listener, isReset: boolean): void {
    const { stream } = listener;
    if (!stream.isOpen) return;
    if (isReset) stream.write(encodeResetEvent(position!));
    stream.write(encodeReadyEvent(position!, heartbeatSeconds));
    groups.addListener(listener);
  }

  /**
   * Sends a resuming listener one page of the changes after the entry `after`, or adds it to the groups if it has got as far as the
   * other listeners.
   *
   * @param limit maximum number of entries to read
   * @returns the id of the last entry sent and the number of entries read; undefined if the listener was added to the groups
   */
  async function sendMissedPageOrJoin(
    listener: Listener,
    after: string,
    limit: number,
  ): Promise<{ cursor: string; entries: number } | undefined> {
    const upTo = await runInOrder(async () => {
      if (position !== after) return position!;
      sendReadyAndAddListener(listener, false);
      return undefined;
    });
    if (upTo === undefined) return undefined;
    const erasuresBefore = erasures;
    const entries = await reader.readRange(after, upTo, limit);
    if (entries === undefined) {
      await runInOrder(async () => sendReadyAndAddListener(listener, true));
      return undefined;
    }
    const some = takeEntriesWithinBytes(entries, MAX_PAGE_BYTES);
    const { changes, lost } = parseEntries(some);
    if (lost) listener.stream.write(encodeResetEvent(after));
    // If an erasure deleted the record, send only its id, not its erased values.
    const toSend = changes.map((one) => (one.byErasure && one.action === 'deleted' ? { ...one, idOnly: true } : one));
    const isSent = await broadcast.sendToListener(listener, toSend, () => erasures === erasuresBefore);
    if (!isSent) return { cursor: after, entries: some.length };
    if (some.length > 0) return { cursor: some.at(-1)!.id, entries: some.length };
    // The process that served this client before had read further in the Redis stream than this process, which will catch up soon.
    if (isEntryBefore(upTo, after)) await sleep(RETRY_MS);
    return { cursor: isEntryBefore(upTo, after) ? after : upTo, entries: 0 };
  }

  async function sendMissedChangesAndJoin(listener: Listener, after: string | undefined): Promise<void> {
    const { stream } = listener;
    let cursor = after;
    let limit = FIRST_PAGE_ENTRIES;
    while (stream.isOpen && !stopped) {
      await positionKnown.promise;
      if (cursor === undefined) return runInOrder(async () => sendReadyAndAddListener(listener, false));
      try {
        const from: string = cursor;
        const progress = await catchUpSlots.run(() => sendMissedPageOrJoin(listener, from, limit));
        if (progress === undefined) return;
        cursor = progress.cursor;
        // `MAX_PAGE_BYTES` cuts a page of large entries, so read fewer entries next time.
        limit = Math.min(MAX_PAGE_ENTRIES, Math.max(1, 2 * progress.entries));
        await stream.waitUntilDrained();
      } catch (error) {
        warn({ err: error }, 'Could not send missed changes to a resuming stream; will retry');
        await sleep(RETRY_MS);
      }
    }
  }

  function endAllStreams(reason: EndReason): void {
    for (const { stream } of opened) stream.end(reason);
  }

  return {
    countSubscriptions() {
      let count = 0;
      for (const { subscriptions } of opened) count += subscriptions.length;
      return count;
    },
    get isStopped() {
      return stopped;
    },
    addStreamAndCatchUp(listener, after) {
      if (opened.size === 0) startReaderAndHeartbeats();
      opened.add(listener);
      listener.stream.onClose(() => {
        opened.delete(listener);
        groups.removeListener(listener);
        if (opened.size === 0) pauseReaderAndHeartbeats();
      });
      sendMissedChangesAndJoin(listener, after).catch((error) => {
        log.error({ err: error }, 'A stream could not be started');
        listener.stream.end('shutdown');
      });
    },
    regroupListener: (listener) =>
      runInOrder(async () => {
        if (!groups.hasListener(listener)) return;
        groups.removeListener(listener);
        groups.addListener(listener);
      }),
    async endAllStreamsAndStop() {
      stopped = true;
      clearInterval(heartbeatTimer);
      endAllStreams('shutdown');
      positionKnown.resolve();
      await reader.stop();
    },
  };
}
