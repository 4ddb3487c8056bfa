import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ViewContext, Viewer } from '../../../extension/index.ts';
import { isEntryBefore, type RecordChange, recordBeforeChange } from '../events/entry.ts';
import { createChangeFrame, encodeFrames, type Frame } from './frame.ts';
import { type Bundle, type Group, type Listener, limitViewer, type Subscription } from './groups.ts';
import type { ViewerCache, VisibleChanges } from './visible-change.ts';

/** The server-sent events of a batch of changes for the members of a subscription group. */
interface GroupFrames {
  common: readonly Frame[];
  /** By user id: all events for a user who owns the record of at least one change, and may therefore see more of that record. */
  own: ReadonlyMap<string, readonly Frame[]>;
}

const GROUPS_AT_ONCE = 32;

function mergeFrames(lists: readonly (readonly Frame[])[]): readonly Frame[] {
  if (lists.length < 2) return lists[0] ?? [];
  return lists.flat().sort((a, b) => (isEntryBefore(a.id, b.id) ? -1 : Number(isEntryBefore(b.id, a.id))));
}

/** Whether a change matches the resource, record id and filters of a subscription. Policies and field visibility are checked later. */
async function matchesSubscription(
  { recordSubscription }: Pick<Subscription, 'recordSubscription'>,
  change: RecordChange,
): Promise<boolean> {
  const { record, previous } = change;
  if (await recordSubscription.includes(record)) return true;
  if (previous !== undefined && (await recordSubscription.includes(previous))) return true;
  const before = recordBeforeChange(change);
  return (
    change.erasedFields.size > 0 && before !== undefined && recordSubscription.mayInclude(before, change.erasedFields)
  );
}

/** The changes that match a subscription. */
async function selectMatchingChanges(
  subscription: Pick<Subscription, 'gateway' | 'id' | 'recordSubscription'>,
  all: readonly RecordChange[],
): Promise<RecordChange[]> {
  const { gateway, id } = subscription;
  const candidates = all.filter((one) => one.gateway === gateway && (id === undefined || one.record.id === id));
  if (candidates.length === 0) return [];
  const matches = await Promise.all(candidates.map((one) => matchesSubscription(subscription, one)));
  return candidates.filter((_, i) => matches[i]);
}

/** Returns the cache of visibility results for a viewer. Viewers with the same visibility share one cache. */
type ViewerCacheLookup = (gateway: Group['gateway'], user: Viewer | undefined, isOwner: boolean) => ViewerCache;

function createViewerCacheLookup(visibleChanges: VisibleChanges): ViewerCacheLookup {
  const cacheFor = new Map<unknown, ViewerCache>();
  const sharedReads: ViewContext['sharedReads'] = new Map();
  return (gateway, user, isOwner) => {
    const visibility = gateway.visibilityKey(user);
    const isPersonal = user === undefined || isOwner || visibility === user.id;
    const key = isPersonal ? user : `${gateway.name} ${visibility}`;
    const cache = cacheFor.get(key) ?? visibleChanges.createViewerCache(user, sharedReads);
    cacheFor.set(key, cache);
    return cache;
  };
}

function recordOwnersOf({ record, previous }: RecordChange, gateway: Group['gateway']): string[] {
  return [...new Set([...gateway.ownersIn(record), ...(previous === undefined ? [] : gateway.ownersIn(previous))])];
}

async function computeGroupFrames(
  group: Group,
  all: readonly RecordChange[],
  visibleChanges: VisibleChanges,
  cacheFor: ViewerCacheLookup,
): Promise<GroupFrames | undefined> {
  const changes = await selectMatchingChanges(group, all);
  if (changes.length === 0) return undefined;
  const { gateway, recordSubscription, text } = group;
  // Copied, because a viewer who leaves the group during the following awaits must not be treated as a non-owner.
  const viewers = new Map(group.viewers);
  const owners = new Map(changes.map((one) => [one, recordOwnersOf(one, gateway).filter((id) => viewers.has(id))]));
  const computeFramesFor = async (id: string, isOwner: boolean, list: readonly RecordChange[]) => {
    const found = await visibleChanges.selectVisibleChanges(
      gateway,
      recordSubscription,
      list,
      cacheFor(gateway, viewers.get(id)!.user, isOwner),
    );
    return found.map((one) => [one.change, createChangeFrame(one, text)] as const);
  };
  // All viewers who do not own the record of a change get the same result, so compute it once, for one of them.
  const changesByRepresentative = Map.groupBy(changes, (one) =>
    viewers.keys().find((id) => !owners.get(one)!.includes(id)),
  );
  const common = new Map<RecordChange, Frame>();
  for (const [id, list] of changesByRepresentative) {
    if (id === undefined) continue;
    for (const [change, frame] of await computeFramesFor(id, false, list)) common.set(change, frame);
  }
  const own = new Map<string, readonly Frame[]>();
  for (const id of new Set([...owners.values()].flat())) {
    const list = changes.filter((one) => owners.get(one)!.includes(id));
    const frames = new Map(await computeFramesFor(id, true, list));
    const findFrame = (one: RecordChange) => (list.includes(one) ? frames.get(one) : common.get(one));
    own.set(
      id,
      changes.flatMap((one) => findFrame(one) ?? []),
    );
  }
  return { common: changes.flatMap((one) => common.get(one) ?? []), own };
}

function sendFramesToBundle({ groups, listeners }: Bundle, framesByGroup: ReadonlyMap<Group, GroupFrames>): void {
  const parts = groups.flatMap((group) => framesByGroup.get(group) ?? []);
  let common: Buffer | undefined;
  for (const { stream, viewer } of listeners) {
    const id = viewer.user?.id ?? '';
    const isOwn = parts.some(({ own }) => own.has(id));
    if (!isOwn) common ??= encodeFrames(mergeFrames(parts.map((part) => part.common)));
    const bytes = isOwn ? encodeFrames(mergeFrames(parts.map((part) => part.own.get(id) ?? part.common))) : common!;
    if (bytes.length > 0) stream.write(bytes);
  }
}

/** Creates the functions that send changes to listeners, which are the open client streams of this process. */
export function createBroadcast(visibleChanges: VisibleChanges) {
  return {
    /**
     * Sends changes to groups. Each change is serialized once for all viewers with the same visibility.
     *
     * @throws if the database is unreachable; in that case nothing was sent
     */
    async sendToGroups(groups: readonly Group[], changes: readonly RecordChange[]): Promise<void> {
      const framesByGroup = new Map<Group, GroupFrames>();
      const cacheFor = createViewerCacheLookup(visibleChanges);
      for (let at = 0; at < groups.length; at += GROUPS_AT_ONCE) {
        const some = groups.slice(at, at + GROUPS_AT_ONCE);
        const found = await Promise.all(
          some.map((group) => computeGroupFrames(group, changes, visibleChanges, cacheFor)),
        );
        for (const [i, one] of found.entries()) if (one !== undefined) framesByGroup.set(some[i]!, one);
        // Let the event loop serve requests between two parts: policies without I/O would otherwise block it.
        await nextTurn();
      }
      const bundles = new Set([...framesByGroup.keys()].flatMap((group) => [...group.bundles]));
      let written = 0;
      for (const bundle of bundles) {
        sendFramesToBundle(bundle, framesByGroup);
        if (++written % GROUPS_AT_ONCE === 0) await nextTurn();
      }
    },
    /**
     * Sends changes to one listener.
     *
     * @param isCurrent called right before sending; if it returns false, nothing is sent
     * @returns whether the changes were sent
     * @throws if the database is unreachable; in that case nothing was sent
     */
    async sendToListener(
      listener: Listener,
      changes: readonly RecordChange[],
      isCurrent: () => boolean,
    ): Promise<boolean> {
      const { stream, subscriptions } = listener;
      const cache = visibleChanges.createViewerCache(limitViewer(listener).user, new Map());
      const lists = subscriptions.map(async (subscription) => {
        const { gateway, recordSubscription, text } = subscription;
        const own = await selectMatchingChanges(subscription, changes);
        const found =
          own.length === 0 ? [] : await visibleChanges.selectVisibleChanges(gateway, recordSubscription, own, cache);
        return found.map((one) => createChangeFrame(one, text));
      });
      const bytes = encodeFrames(mergeFrames(await Promise.all(lists)));
      if (!isCurrent()) return false;
      if (bytes.length > 0) stream.write(bytes);
      return true;
    },
  };
}
