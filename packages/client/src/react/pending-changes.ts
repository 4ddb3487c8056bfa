import type { Origin } from '../origin.ts';
import { createListeners } from '../realtime/listeners.ts';
import type { ListQuery, RecordSelection } from '../records/list-query.ts';
import type { AnyRecord } from './resource.ts';

/** A change that was requested in this page, shown before the server has confirmed it. */
export interface PendingChange {
  readonly userId: string | null;
  readonly path: string;
  readonly recordId: string;
  readonly op: 'update' | 'delete';
  /** The changed fields of an update. */
  readonly changes: Readonly<Record<string, unknown>>;
  /**
   * Set when the server has confirmed the change. Live lists show it until the event about it arrives.
   */
  readonly confirmed?: { readonly record: AnyRecord | undefined } | undefined;
}

/** How changes are shown. Its code is loaded with that of mutations, because most pages have no pending changes most of the time. */
export interface ChangeView {
  /** The records of a list with changes. Returns the same array if no change concerns it. */
  applyToList(records: AnyRecord[], changes: readonly PendingChange[], query: ListQuery): AnyRecord[];
  /** A record with all changes of it, in their order; undefined if it is deleted. */
  applyToRecord(
    record: AnyRecord,
    changes: readonly PendingChange[],
    selection: RecordSelection,
  ): AnyRecord | undefined;
}

/** The changes of a client that are not yet part of the data it shows, in the order in which they were requested. */
export interface PendingChanges {
  /** The changes: the same list until something changes. */
  current(): readonly PendingChange[];
  subscribe(listener: () => void): () => void;
  /** How the changes are shown; undefined if there has been none. */
  readonly view: ChangeView | undefined;
  /** Adds a change. */
  add(change: PendingChange, view: ChangeView): void;
  /** The server has performed the change. @param record as it is now; undefined after a deletion */
  confirm(change: PendingChange, record: AnyRecord | undefined): void;
  /** Forgets a change: it failed. */
  remove(change: PendingChange): void;
  /** Forgets the confirmed changes of a record, which has changed since. */
  forget(path: string, recordId: string): void;
}

/** How long a live list may take to receive the event about a change. */
const CONFIRMED_MS = 5000;

const changesByOrigin = new WeakMap<Origin, PendingChanges>();

function createPendingChanges(): PendingChanges {
  let list: readonly PendingChange[] = [];
  let view: ChangeView | undefined;
  const { subscribe, notify } = createListeners();

  function set(next: readonly PendingChange[]): void {
    list = next;
    notify();
  }
  const remove = (change: PendingChange) => {
    if (list.includes(change)) set(list.filter((one) => one !== change));
  };

  return {
    current: () => list,
    subscribe,
    get view() {
      return view;
    },
    add(change, how) {
      view = how;
      set([...list, change]);
    },
    confirm(change, record) {
      const confirmed = { ...change, confirmed: { record } };
      set(list.map((one) => (one === change ? confirmed : one)));
      setTimeout(() => remove(confirmed), CONFIRMED_MS);
    },
    remove,
    forget(path, recordId) {
      set(list.filter((one) => one.confirmed === undefined || one.path !== path || one.recordId !== recordId));
    },
  };
}

/** Returns the pending changes of a client. */
export function getOrCreatePendingChanges(origin: Origin): PendingChanges {
  const changes = changesByOrigin.get(origin) ?? createPendingChanges();
  changesByOrigin.set(origin, changes);
  return changes;
}
