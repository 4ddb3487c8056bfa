import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ViewContext } from '../../declare/host.ts';
import type { Viewer } from '../../declare/policy.ts';
import { asItWas, isBefore, type RecordChange } from './entry.ts';
import { bytesOf, changeFrame, type Frame } from './frame.ts';
import type { Bundle, Group, Listener, Subscription } from './groups.ts';
import type { Sight, VisibleChanges } from './visible-change.ts';

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
function isAbout({ gateway, id, following }: Pick<Subscription, 'gateway' | 'id' | 'following'>, change: RecordChange) {
  const { record, previous } = change;
  if (change.gateway !== gateway || (id !== undefined && record.id !== id)) return false;
  if (following.includes(record) || (previous !== undefined && following.includes(previous))) return true;
  const before = asItWas(change);
  return change.untold.size > 0 && before !== undefined && following.mayInclude(before, change.untold);
}

/** Gives the sight of somebody; those who see the same share one. */
type Sights = (gateway: Group['gateway'], user: Viewer | undefined, isOwner: boolean) => Sight;

/** Makes what sends changes to listeners. */
export function createBroadcast(visibleChanges: VisibleChanges) {
  function createSights(): Sights {
    const sights = new Map<unknown, Sight>();
    const together: ViewContext['sharedReads'] = new Map();
    return (gateway, user, isOwner) => {
      const visibility = gateway.visibilityKey(user);
      const isPersonal = user === undefined || isOwner || visibility === user.id;
      const key = isPersonal ? user : `${gateway.name} ${visibility}`;
      const sight = sights.get(key) ?? visibleChanges.sightOf(user, together);
      sights.set(key, sight);
      return sight;
    };
  }

  function ownersOf({ record, previous }: RecordChange, gateway: Group['gateway']): string[] {
    return [...new Set([...gateway.ownersIn(record), ...(previous === undefined ? [] : gateway.ownersIn(previous))])];
  }

  async function toldTo(group: Group, all: readonly RecordChange[], sights: Sights): Promise<Told | undefined> {
    const changes = all.filter((change) => isAbout(group, change));
    if (changes.length === 0) return undefined;
    const { gateway, following, text } = group;
    // As it is now: who goes meanwhile must not make the others see what is theirs.
    const people = new Map(group.people);
    const owners = new Map(changes.map((one) => [one, ownersOf(one, gateway).filter((id) => people.has(id))]));
    const seenBy = async (id: string, isOwner: boolean, list: readonly RecordChange[]) => {
      const found = await visibleChanges.of(gateway, following, list, sights(gateway, people.get(id)!.user, isOwner));
      return found.map((one) => [one.change, changeFrame(one, text)] as const);
    };
    // Those who own nothing of a change see it through the eyes of one of them.
    const eyes = Map.groupBy(changes, (one) => people.keys().find((id) => !owners.get(one)!.includes(id)));
    const common = new Map<RecordChange, Frame>();
    for (const [id, list] of eyes) {
      if (id === undefined) continue;
      for (const [change, frame] of await seenBy(id, false, list)) common.set(change, frame);
    }
    const own = new Map<string, readonly Frame[]>();
    for (const id of new Set([...owners.values()].flat())) {
      const list = changes.filter((one) => owners.get(one)!.includes(id));
      const frames = new Map(await seenBy(id, true, list));
      const frameOf = (one: RecordChange) => (list.includes(one) ? frames.get(one) : common.get(one));
      own.set(
        id,
        changes.flatMap((one) => frameOf(one) ?? []),
      );
    }
    return { common: changes.flatMap((one) => common.get(one) ?? []), own };
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
      const sights = createSights();
      for (let at = 0; at < groups.length; at += GROUPS_AT_ONCE) {
        const some = groups.slice(at, at + GROUPS_AT_ONCE);
        const found = await Promise.all(some.map((group) => toldTo(group, changes, sights)));
        for (const [i, one] of found.entries()) if (one !== undefined) told.set(some[i]!, one);
        // Policies that ask nobody else would keep requests waiting until all are through.
        await nextTurn();
      }
      const bundles = new Set([...told.keys()].flatMap((group) => [...group.bundles]));
      let written = 0;
      for (const bundle of bundles) {
        write(bundle, told);
        if (++written % GROUPS_AT_ONCE === 0) await nextTurn();
      }
    },
    /**
     * Sends changes to one listener.
     *
     * @param isCurrent called right before sending; false: nothing is sent
     * @returns whether the changes were sent
     * @throws when the database is away; nothing is sent then
     */
    async toListener(
      { stream, person, subscriptions }: Listener,
      changes: readonly RecordChange[],
      isCurrent: () => boolean,
    ): Promise<boolean> {
      const sight = visibleChanges.sightOf(person.user, new Map());
      const lists = subscriptions.map(async (subscription) => {
        const { gateway, following, text } = subscription;
        const own = changes.filter((change) => isAbout(subscription, change));
        const found = own.length === 0 ? [] : await visibleChanges.of(gateway, following, own, sight);
        return found.map((one) => changeFrame(one, text));
      });
      const bytes = bytesOf(merged(await Promise.all(lists)));
      if (!isCurrent()) return false;
      if (bytes.length > 0) stream.write(bytes);
      return true;
    },
  };
}
