import type { RecordSubscription, ResourceGateway } from '../../declare/host.ts';
import type { Viewer } from '../../declare/policy.ts';
import type { RecordChange } from './entry.ts';
import type { Stream } from './stream.ts';

/** Who looks: a user as they are now, or nobody who is signed in. */
export interface Person {
  user: Viewer | undefined;
}

/** What a client follows, and as whom. */
export interface Subscription {
  /** As the client wrote it. */
  text: string;
  gateway: ResourceGateway;
  /** Of a single record. */
  id: string | undefined;
  filters: Readonly<Record<string, unknown>>;
  following: RecordSubscription;
}

/** A stream, who looks at it, and what they follow. */
export interface Listener {
  stream: Stream;
  person: Person;
  subscriptions: Subscription[];
}

/** Subscriptions that are told the same of every change, but for those of the users who own its record. */
export interface Group extends Pick<Subscription, 'text' | 'gateway' | 'id' | 'following'> {
  key: string;
  /**
   * By their ids, as they were when they came in, and how often each is in it; `''`: nobody who is signed in. Who has got other
   * roles since is looked at as they were until they are sorted anew: others of the group see through their eyes.
   */
  people: Map<string, { user: Viewer | undefined; times: number }>;
  bundles: Set<Bundle>;
}

/** Listeners whose subscriptions are in the same groups: the same bytes go to them. */
export interface Bundle {
  key: string;
  groups: readonly Group[];
  listeners: Set<Listener>;
}

/** The listeners of a process, sorted by what they are told. */
export interface Groups {
  readonly size: number;
  has(listener: Listener): boolean;
  add(listener: Listener): void;
  /** Undoes an `add`; does nothing when there was none. */
  remove(listener: Listener): void;
  all(): Iterable<Listener>;
  /** Those that any of these changes may be of interest to. */
  affectedBy(changes: readonly RecordChange[]): Group[];
}

/** Of one resource. */
interface Place {
  lists: Set<Group>;
  /** By the id of the record that is followed. */
  records: Map<string, Set<Group>>;
}

const idOf = ({ user }: Person) => user?.id ?? '';

function groupKey({ text, gateway, id, following }: Subscription, { user }: Person): string {
  return JSON.stringify([gateway.name, id, text, following.key, user === undefined, gateway.visibilityKey(user)]);
}

/** Makes it, without anybody. */
export function createGroups(): Groups {
  const groups = new Map<string, Group>();
  const bundles = new Map<string, Bundle>();
  const bundleOf = new Map<Listener, Bundle>();
  const places = new Map<string, Place>();

  /** The set in which a group stands. */
  function shelf({ gateway, id }: Group): Set<Group> {
    const place = places.get(gateway.name) ?? { lists: new Set(), records: new Map() };
    places.set(gateway.name, place);
    if (id === undefined) return place.lists;
    const records = place.records.get(id) ?? new Set();
    place.records.set(id, records);
    return records;
  }

  function enter(subscription: Subscription, person: Person): Group {
    const key = groupKey(subscription, person);
    const { text, gateway, id, following } = subscription;
    let group = groups.get(key);
    if (group === undefined) {
      group = { key, text, gateway, id, following, people: new Map(), bundles: new Set() };
      groups.set(key, group);
      shelf(group).add(group);
    }
    const here = group.people.get(idOf(person));
    group.people.set(idOf(person), { user: person.user, times: (here?.times ?? 0) + 1 });
    return group;
  }

  function leave(group: Group, personId: string): void {
    const here = group.people.get(personId)!;
    here.times -= 1;
    if (here.times === 0) group.people.delete(personId);
    if (group.people.size > 0) return;
    groups.delete(group.key);
    shelf(group).delete(group);
    if (group.id !== undefined && shelf(group).size === 0) places.get(group.gateway.name)!.records.delete(group.id);
  }

  return {
    get size() {
      return bundleOf.size;
    },
    has: (listener) => bundleOf.has(listener),
    add(listener) {
      const entered = listener.subscriptions.map((one) => enter(one, listener.person));
      const key = JSON.stringify(entered.map((group) => group.key));
      let bundle = bundles.get(key);
      if (bundle === undefined) {
        bundle = { key, groups: entered, listeners: new Set() };
        bundles.set(key, bundle);
        for (const group of entered) group.bundles.add(bundle);
      }
      bundle.listeners.add(listener);
      bundleOf.set(listener, bundle);
    },
    remove(listener) {
      const bundle = bundleOf.get(listener);
      if (bundle === undefined) return;
      bundleOf.delete(listener);
      bundle.listeners.delete(listener);
      if (bundle.listeners.size === 0) {
        bundles.delete(bundle.key);
        for (const group of bundle.groups) group.bundles.delete(bundle);
      }
      for (const group of bundle.groups) leave(group, idOf(listener.person));
    },
    all: () => bundleOf.keys(),
    affectedBy(changes) {
      const touched = new Set<Group>();
      for (const [{ name }, own] of Map.groupBy(changes, ({ gateway }) => gateway)) {
        const place = places.get(name);
        for (const group of place?.lists ?? []) touched.add(group);
        for (const { record } of own) for (const group of place?.records.get(record.id) ?? []) touched.add(group);
      }
      return [...touched];
    },
  };
}
