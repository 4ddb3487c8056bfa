import {
  type OrganisationChoice,
  type ReadLimit,
  type RecordSubscription,
  type ResourceGateway,
  type Viewer,
  withOrganisationChoice,
  withReadLimit,
} from '../../../extension/index.ts';
import type { RecordChange } from '../events/entry.ts';
import type { Stream } from './stream.ts';

/** The viewer of a stream: the current state of a user, or undefined for an anonymous client. */
export interface CurrentViewer {
  user: Viewer | undefined;
}

/** A client's subscription to the records of a resource, or to a single record. */
export interface Subscription {
  /** The subscription as the client wrote it: `post`, `post/<id>` or `post?field=value`. */
  text: string;
  gateway: ResourceGateway;
  /** The id of the record, for a subscription to a single record. */
  id: string | undefined;
  filters: Readonly<Record<string, unknown>>;
  recordSubscription: RecordSubscription;
}

/** An open client stream with its viewer and its subscriptions. */
export interface Listener {
  stream: Stream;
  viewer: CurrentViewer;
  subscriptions: Subscription[];
  /** The resources that the credential of the stream may read; undefined if it is not limited. */
  readLimit?: ReadLimit | undefined;
  /** The organisation of the key, and the one that the request named; undefined for the records of all organisations of the user. */
  organisation?: OrganisationChoice | undefined;
}

/** Equal subscriptions of viewers who get the same events for every change. Only a viewer who owns the changed record may get others. */
export interface Group extends Pick<Subscription, 'text' | 'gateway' | 'id' | 'recordSubscription'> {
  key: string;
  /**
   * Viewers by user id (`''` for anonymous clients), with the number of their subscriptions. `user` is the state when they joined: a
   * viewer may represent the group, so a change of roles must not take effect here before the viewer is regrouped.
   */
  viewers: Map<string, { user: Viewer | undefined; subscriptionCount: number }>;
  bundles: Set<Bundle>;
}

/** Listeners whose subscriptions are in the same groups, so that the same bytes are sent to all of them. */
export interface Bundle {
  key: string;
  groups: readonly Group[];
  listeners: Set<Listener>;
}

/** The listeners of a process, grouped by the events that they get. */
interface Groups {
  readonly size: number;
  hasListener(listener: Listener): boolean;
  addListener(listener: Listener): void;
  /** Removes a listener from its groups; does nothing if the listener was not added. */
  removeListener(listener: Listener): void;
  allListeners(): Iterable<Listener>;
  /** Returns the groups that any of these changes may concern. */
  findAffectedGroups(changes: readonly RecordChange[]): Group[];
}

/** The subscription groups of one resource. */
interface ResourceGroups {
  lists: Set<Group>;
  /** Groups that subscribe to a single record, by the id of the record. */
  records: Map<string, Set<Group>>;
}

/**
 * The viewer of a listener with the limits of its request: that of the credential, which decides which related records are expanded, and the
 * organisation.
 */
export function limitViewer({
  viewer,
  readLimit,
  organisation,
}: Pick<Listener, 'viewer' | 'readLimit' | 'organisation'>): CurrentViewer {
  const user = withReadLimit(viewer.user, readLimit);
  return { user: user && organisation ? withOrganisationChoice(user, organisation) : user };
}

const viewerIdOf = ({ user }: CurrentViewer) => user?.id ?? '';

function createGroupKey({ text, gateway, id, recordSubscription }: Subscription, { user }: CurrentViewer): string {
  return JSON.stringify([
    gateway.name,
    id,
    text,
    recordSubscription.key,
    user === undefined,
    gateway.visibilityKey(user),
  ]);
}

/** Creates the groups of a process, with no listeners yet. */
export function createGroups(): Groups {
  const groups = new Map<string, Group>();
  const bundles = new Map<string, Bundle>();
  const bundleByListener = new Map<Listener, Bundle>();
  const byResource = new Map<string, ResourceGroups>();

  /** Returns the set that contains a group: the list subscriptions of its resource, or the subscriptions to its record. */
  function getOrCreateGroupSet({ gateway, id }: Group): Set<Group> {
    const resourceGroups = byResource.get(gateway.name) ?? { lists: new Set(), records: new Map() };
    byResource.set(gateway.name, resourceGroups);
    if (id === undefined) return resourceGroups.lists;
    const records = resourceGroups.records.get(id) ?? new Set();
    resourceGroups.records.set(id, records);
    return records;
  }

  function addSubscriptionToGroup(subscription: Subscription, viewer: CurrentViewer): Group {
    const key = createGroupKey(subscription, viewer);
    const { text, gateway, id, recordSubscription } = subscription;
    let group = groups.get(key);
    if (group === undefined) {
      group = { key, text, gateway, id, recordSubscription, viewers: new Map(), bundles: new Set() };
      groups.set(key, group);
      getOrCreateGroupSet(group).add(group);
    }
    const member = group.viewers.get(viewerIdOf(viewer));
    group.viewers.set(viewerIdOf(viewer), {
      user: viewer.user,
      subscriptionCount: (member?.subscriptionCount ?? 0) + 1,
    });
    return group;
  }

  function removeSubscriptionFromGroup(group: Group, viewerId: string): void {
    const member = group.viewers.get(viewerId)!;
    member.subscriptionCount -= 1;
    if (member.subscriptionCount === 0) group.viewers.delete(viewerId);
    if (group.viewers.size > 0) return;
    groups.delete(group.key);
    getOrCreateGroupSet(group).delete(group);
    if (group.id !== undefined && getOrCreateGroupSet(group).size === 0)
      byResource.get(group.gateway.name)!.records.delete(group.id);
  }

  return {
    get size() {
      return bundleByListener.size;
    },
    hasListener: (listener) => bundleByListener.has(listener),
    addListener(listener) {
      const viewer = limitViewer(listener);
      const joined = listener.subscriptions.map((one) => addSubscriptionToGroup(one, viewer));
      const key = JSON.stringify(joined.map((group) => group.key));
      let bundle = bundles.get(key);
      if (bundle === undefined) {
        bundle = { key, groups: joined, listeners: new Set() };
        bundles.set(key, bundle);
        for (const group of joined) group.bundles.add(bundle);
      }
      bundle.listeners.add(listener);
      bundleByListener.set(listener, bundle);
    },
    removeListener(listener) {
      const bundle = bundleByListener.get(listener);
      if (bundle === undefined) return;
      bundleByListener.delete(listener);
      bundle.listeners.delete(listener);
      if (bundle.listeners.size === 0) {
        bundles.delete(bundle.key);
        for (const group of bundle.groups) group.bundles.delete(bundle);
      }
      for (const group of bundle.groups) removeSubscriptionFromGroup(group, viewerIdOf(listener.viewer));
    },
    allListeners: () => bundleByListener.keys(),
    findAffectedGroups(changes) {
      const touched = new Set<Group>();
      for (const [{ name }, changesOfResource] of Map.groupBy(changes, ({ gateway }) => gateway)) {
        const resourceGroups = byResource.get(name);
        for (const group of resourceGroups?.lists ?? []) touched.add(group);
        for (const { record } of changesOfResource)
          for (const group of resourceGroups?.records.get(record.id) ?? []) touched.add(group);
      }
      return [...touched];
    },
  };
}
