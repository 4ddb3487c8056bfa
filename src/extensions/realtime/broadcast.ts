import type { RecordChange } from './entry.ts';
import { isBefore } from './entry.ts';
import { bytesOf, changeFrame, type Frame } from './frame.ts';
import type { Bundle, Group, Listener, Subscription } from './groups.ts';
import type { VisibleChanges } from './visible-change.ts';

/** What a group is told. */
interface Told {
  common: readonly Frame[];
  /** Of users who are told of some change otherwise, all that they are told. */
  own: ReadonlyMap<string, readonly Frame[]>;
}

const GROUPS_AT_ONCE = 32;

function merged(lists: readonly (readonly Frame[])[]): readonly Frame[] {
  if (lists.length < 2) return lists[0] ?? [];
  return lists.flat().sort((a, b) => (isBefore(a.id, b.id) ? -1 : Number(isBefore(b.id, a.id))));
}

/** Whether a change can be of interest to a subscription, whoever looks. */
function isAbout({ view, id, following }: Pick<Subscription, 'view' | 'id' | 'following'>, change: RecordChange) {
  const { record, previous } = change;
  if (change.view !== view || (id !== undefined && record.id !== id)) return false;
  return following.includes(record) || (previous !== undefined && following.includes(previous));
}

/** Makes what sends changes to listeners. */
export function createBroadcast(visibleChanges: VisibleChanges) {
  /** Through whose eyes each change is looked at: those of one who owns nothing of it for all like them, and of each who does. */
  function eyes({ view, people }: Group, changes: readonly RecordChange[]): Map<string, RecordChange[]> {
    const looks = new Map<string, RecordChange[]>();
    for (const change of changes) {
      const owners = people.size < 2 ? [] : ownersOf(change, view).filter((id) => people.has(id));
      const common = people.keys().find((id) => !owners.includes(id));
      for (const id of common === undefined ? owners : [common, ...owners]) {
        const list = looks.get(id) ?? [];
        looks.set(id, list);
        list.push(change);
      }
    }
    return looks;
  }

  function ownersOf({ record, previous }: RecordChange, view: Group['view']): string[] {
    return [...new Set([...view.ownersIn(record), ...(previous === undefined ? [] : view.ownersIn(previous))])];
  }

  async function toldTo(group: Group, all: readonly RecordChange[]): Promise<Told | undefined> {
    const changes = all.filter((change) => isAbout(group, change));
    if (changes.length === 0) return undefined;
    const { view, following, people, text } = group;
    const seen = new Map<string, Map<RecordChange, Frame>>();
    for (const [id, list] of eyes(group, changes)) {
      const found = await visibleChanges(view, following, list, people.get(id)?.user);
      seen.set(id, new Map(found.map((one) => [one.change, changeFrame(one, text)])));
    }
    if (people.size < 2) {
      const [only] = seen.values();
      return { common: [...(only?.values() ?? [])], own: new Map() };
    }
    const ownersBy = new Map(changes.map((change) => [change, new Set(ownersOf(change, view))]));
    const common = new Map<RecordChange, Frame>();
    for (const [id, frames] of seen)
      for (const [change, frame] of frames) if (!ownersBy.get(change)!.has(id)) common.set(change, frame);
    const owners = new Set([...ownersBy.values()].flatMap((ids) => [...ids].filter((id) => people.has(id))));
    const framesOf = (id: string) =>
      changes.flatMap((change) =>
        ownersBy.get(change)!.has(id) ? (seen.get(id)?.get(change) ?? []) : (common.get(change) ?? []),
      );
    return {
      common: changes.flatMap((change) => common.get(change) ?? []),
      own: new Map([...owners].map((id) => [id, framesOf(id)])),
    };
  }

  function write({ groups, listeners }: Bundle, told: ReadonlyMap<Group, Told>): void {
    const parts = groups.flatMap((group) => told.get(group) ?? []);
    let common: Buffer | undefined;
    for (const { stream, person } of listeners) {
      const id = person.user?.id ?? '';
      const isOwn = parts.some(({ own }) => own.has(id));
      if (!isOwn) common ??= bytesOf(merged(parts.map((part) => part.common)));
      const bytes = isOwn ? bytesOf(merged(parts.map((part) => part.own.get(id) ?? part.common))) : common!;
      if (bytes.length > 0) stream.write(bytes);
    }
  }

  return {
    /**
     * Sends changes to groups: each is looked at once for all who see the same.
     *
     * @throws when the database is away; nothing is sent then
     */
    async toGroups(groups: readonly Group[], changes: readonly RecordChange[]): Promise<void> {
      const told = new Map<Group, Told>();
      for (let at = 0; at < groups.length; at += GROUPS_AT_ONCE) {
        const some = groups.slice(at, at + GROUPS_AT_ONCE);
        const found = await Promise.all(some.map((group) => toldTo(group, changes)));
        for (const [i, one] of found.entries()) if (one !== undefined) told.set(some[i]!, one);
      }
      const bundles = new Set([...told.keys()].flatMap((group) => [...group.bundles]));
      for (const bundle of bundles) write(bundle, told);
    },
    /**
     * Sends changes to one listener.
     *
     * @throws when the database is away; nothing is sent then
     */
    async toListener({ stream, person, subscriptions }: Listener, changes: readonly RecordChange[]): Promise<void> {
      const lists = subscriptions.map(async (subscription) => {
        const { view, following, text } = subscription;
        const own = changes.filter((change) => isAbout(subscription, change));
        const found = own.length === 0 ? [] : await visibleChanges(view, following, own, person.user);
        return found.map((one) => changeFrame(one, text));
      });
      const bytes = bytesOf(merged(await Promise.all(lists)));
      if (bytes.length > 0) stream.write(bytes);
    },
  };
}
