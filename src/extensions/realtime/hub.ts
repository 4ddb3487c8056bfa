import { setTimeout as sleep } from 'node:timers/promises';
import type { Host } from '../../declare/host.ts';
import { createSemaphore } from '../../platform/semaphore.ts';
import { createSerialQueue } from '../../platform/serial-queue.ts';
import { createBroadcast } from './broadcast.ts';
import { createDeduplicate } from './deduplicate.ts';
import { type Entry, FIELDS, firstOf, isBefore, type RecordChange, unpackEvent } from './entry.ts';
import { type EndReason, heartbeatFrame, readyFrame, resetFrame } from './frame.ts';
import { createGroups, type Listener } from './groups.ts';
import { createReader } from './reader.ts';
import type { RealtimeSettings } from './settings.ts';
import { createVisibleChanges } from './visible-change.ts';

/** The open streams of this process. */
export interface Hub {
  /** Whether no stream is taken in any longer: the process stops. */
  readonly isStopped: boolean;
  /**
   * Takes a stream in: it is told of all that happens from now on, or from the event on after which it broke off.
   *
   * @param after that event's id
   */
  open(listener: Listener, after: string | undefined): void;
  /** Puts a listener into the groups that it belongs to by now: who looks, or what they follow, has changed. */
  regroup(listener: Listener): Promise<void>;
  /** Ends all streams. */
  stop(): Promise<void>;
}

const AGAIN_MS = 300;
const CAUGHT_UP_AT_ONCE = 8;
const ENTRIES_AT_FIRST = 25;
const ENTRIES_AT_ONCE = 200;
// What is sent waits in memory for a client that may not read.
const BYTES_AT_ONCE = 1_048_576;
// What a group is told of a change stays in memory until all groups know of it.
const LOOKS_AT_ONCE = 10_000;
const EMPTY = Buffer.alloc(0);

/** Makes it. Redis is read while a stream is open. */
export function createHub(
  host: Pick<Host, 'redis' | 'env' | 'log' | 'service' | 'resources'>,
  { heartbeatSeconds }: Pick<RealtimeSettings, 'heartbeatSeconds'>,
): Hub {
  const { log } = host;
  const gateways = new Map(host.resources.map((gateway) => [gateway.name, gateway]));
  const broadcast = createBroadcast(createVisibleChanges(host));
  const groups = createGroups();
  const deduplicate = createDeduplicate();
  const catching = createSemaphore(CAUGHT_UP_AT_ONCE);
  /** Entries are sent, and listeners come in, one after the other: nobody misses what is sent meanwhile. */
  const inOrder = createSerialQueue();
  const opened = new Set<Listener>();
  const reader = createReader(host, (entries, upTo, lost) => take(entries, upTo, lost));
  let position: string | undefined;
  let reading = 0;
  let positioned = Promise.withResolvers<void>();
  let beating: NodeJS.Timeout | undefined;
  let stopped = false;
  /** The number of erasures that this process has seen. */
  let erasures = 0;

  /** The changes in entries, and whether some are missing: dropped before they came here, or not to be read. */
  function read(entries: readonly Entry[]): { changes: RecordChange[]; lost: boolean } {
    let lost = false;
    const changes = entries.flatMap((entry) => {
      lost ||= entry.field === FIELDS.lost;
      if (entry.field !== FIELDS.event) return [];
      try {
        return unpackEvent(entry, gateways) ?? [];
      } catch (error) {
        log.error({ err: error, entry: entry.id }, 'a change could not be read for open streams');
        lost = true;
        return [];
      }
    });
    return { changes, lost };
  }

  function reset(id: string): void {
    const bytes = resetFrame(id);
    for (const { stream } of groups.all()) stream.write(bytes);
  }

  /** Returns the changes that no erasure has removed while they waited. */
  async function withoutErased(changes: readonly RecordChange[]): Promise<readonly RecordChange[]> {
    while (!stopped) {
      try {
        const kept = await reader.kept(changes.map(({ id }) => id));
        const gone = changes.find(({ id }) => !kept.has(id));
        if (gone !== undefined) reset(gone.id);
        return changes.filter(({ id }) => kept.has(id));
      } catch (error) {
        log.warn({ err: error }, 'open streams wait for Redis');
        await sleep(AGAIN_MS);
      }
    }
    return [];
  }

  /** Disconnects clients with unsent bytes, which may hold erased values. When they reconnect, they get what is left. */
  function noteErasures(entries: readonly Entry[]): void {
    if (!entries.some(({ field }) => field === FIELDS.erased)) return;
    erasures += 1;
    for (const { stream } of opened) stream.cutIfWaiting();
  }

  /** Sends changes once the database answers, however long that takes. */
  async function send(changes: readonly RecordChange[]): Promise<void> {
    let rest = changes;
    while (!stopped && groups.size > 0 && rest.length > 0) {
      const affected = groups.affectedBy(rest);
      const some = rest.slice(0, Math.max(1, Math.floor(LOOKS_AT_ONCE / affected.length)));
      try {
        await broadcast.toGroups(affected, some);
        rest = rest.slice(some.length);
      } catch (error) {
        log.warn({ err: error }, 'open streams wait for the database');
        await sleep(AGAIN_MS);
        rest = await withoutErased(rest);
      }
    }
  }

  function take(entries: readonly Entry[], upTo: string, lost: boolean): Promise<void> {
    const mine = reading;
    return inOrder(async () => {
      if (groups.size > 0) {
        const found = read(entries);
        if (lost || found.lost) reset(entries[0]!.id);
        const changes = deduplicate(found.changes);
        if (changes.length > 0) await send(changes);
      }
      noteErasures(entries);
      // Those who wanted it are gone meanwhile.
      if (mine !== reading) return;
      position = upTo;
      positioned.resolve();
    });
  }

  function beat(): void {
    const bytes = position === undefined ? EMPTY : heartbeatFrame(position);
    for (const listener of opened) listener.stream.beat(groups.has(listener) ? bytes : EMPTY);
  }

  function begin(): void {
    positioned = Promise.withResolvers();
    reader.start();
    beating = setInterval(beat, heartbeatSeconds * 1000);
  }

  function pause(): void {
    clearInterval(beating);
    reading += 1;
    position = undefined;
    reader.pause();
  }

  /** Lets a listener in at the place up to which the others were told. */
  function enter(listener: Listener, isReset: boolean): void {
    const { stream } = listener;
    if (!stream.isOpen) return;
    if (isReset) stream.write(resetFrame(position!));
    stream.write(readyFrame(position!, heartbeatSeconds));
    groups.add(listener);
  }

  /**
   * Tells a listener of what is behind `after`, at most up to where the others are.
   *
   * @param most entries that are read
   * @returns how far it came, and by how many entries; undefined: it is let in
   */
  async function catchUp(
    listener: Listener,
    after: string,
    most: number,
  ): Promise<{ cursor: string; entries: number } | undefined> {
    const upTo = await inOrder(async () => {
      if (position !== after) return position!;
      enter(listener, false);
      return undefined;
    });
    if (upTo === undefined) return undefined;
    const erasuresBefore = erasures;
    const entries = await reader.range(after, upTo, most);
    if (entries === undefined) {
      await inOrder(async () => enter(listener, true));
      return undefined;
    }
    const some = firstOf(entries, BYTES_AT_ONCE);
    const { changes, lost } = read(some);
    if (lost) listener.stream.write(resetFrame(after));
    // The record was erased: do not send its values again.
    const told = changes.map((one) => (one.byErasure && one.action === 'deleted' ? { ...one, idOnly: true } : one));
    const isSent = await broadcast.toListener(listener, told, () => erasures === erasuresBefore);
    if (!isSent) return { cursor: after, entries: some.length };
    if (some.length > 0) return { cursor: some.at(-1)!.id, entries: some.length };
    // The process that it comes from had read further than this one: which will be there soon.
    if (isBefore(upTo, after)) await sleep(AGAIN_MS);
    return { cursor: isBefore(upTo, after) ? after : upTo, entries: 0 };
  }

  async function letIn(listener: Listener, after: string | undefined): Promise<void> {
    const { stream } = listener;
    let cursor = after;
    let most = ENTRIES_AT_FIRST;
    while (stream.isOpen && !stopped) {
      await positioned.promise;
      if (cursor === undefined) return inOrder(async () => enter(listener, false));
      try {
        const from: string = cursor;
        const come = await catching.run(() => catchUp(listener, from, most));
        if (come === undefined) return;
        cursor = come.cursor;
        // Large ones are read few at a time.
        most = Math.min(ENTRIES_AT_ONCE, Math.max(1, 2 * come.entries));
        await stream.drained();
      } catch (error) {
        log.warn({ err: error }, 'a stream that came back has to wait');
        await sleep(AGAIN_MS);
      }
    }
  }

  function end(reason: EndReason): void {
    for (const { stream } of opened) stream.end(reason);
  }

  return {
    get isStopped() {
      return stopped;
    },
    open(listener, after) {
      if (opened.size === 0) begin();
      opened.add(listener);
      listener.stream.onClose(() => {
        opened.delete(listener);
        groups.remove(listener);
        if (opened.size === 0) pause();
      });
      letIn(listener, after).catch((error) => {
        log.error({ err: error }, 'a stream could not be let in');
        listener.stream.end('shutdown');
      });
    },
    regroup: (listener) =>
      inOrder(async () => {
        if (!groups.has(listener)) return;
        groups.remove(listener);
        groups.add(listener);
      }),
    async stop() {
      stopped = true;
      clearInterval(beating);
      end('shutdown');
      positioned.resolve();
      await reader.stop();
    },
  };
}
