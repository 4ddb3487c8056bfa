import type { StoredRecord } from '../declare/host.ts';
import { allows } from '../declare/policy.ts';
import { type Looker, policyArguments } from './acting.ts';
import type { CompiledResource } from './compiled.ts';
import type { RecordsContext } from './context.ts';
import type { Includes, ListQuery } from './query/list-query.ts';
import { scopeConditions } from './query/scope.ts';
import { owns, type Shown, show } from './view.ts';

// An array may name thousands of records, a page holds a hundred arrays, and each level multiplies.
const MOST_ITEMS = 10_000;

/** Shown records of one resource, and what of them is to be expanded. */
interface Task {
  resource: CompiledResource;
  includes: Includes;
  /** Each record, with how often it will stand in the answer. */
  places: ReadonlyMap<Shown, number>;
}

/** An id in a shown record that may be replaced by the record that it names. */
interface Slot {
  holder: Record<PropertyKey, unknown>;
  key: PropertyKey;
  id: string;
  times: number;
}

/** All that one reference field names on one level. */
interface Gathered {
  target: string;
  includes: Includes;
  slots: readonly Slot[];
}

/** The records of a reference field that this viewer may see expanded, as he sees them, by id. One query. */
async function targets(
  context: RecordsContext,
  name: string,
  ids: string[],
  looking: Looker,
): Promise<Map<string, Shown>> {
  const { resource, store } = context.entities.get(name)!;
  const scope = scopeConditions(resource, looking);
  const found = await store.readMany(ids, scope instanceof Promise ? await scope : scope);
  const visible: StoredRecord[] = [];
  for (const record of found) {
    const args = policyArguments(looking, 'read', record);
    if (await allows(resource.policies.reference, args, owns(resource, record, looking))) visible.push(record);
  }
  const shown = await show(resource, visible, looking);
  return new Map(shown.map((record) => [record.id as string, record]));
}

/**
 * The slots of one reference field.
 *
 * @param budget how many items of arrays may still be expanded in this answer; the others stay ids
 */
function slotsOf(places: Task['places'], name: string, budget: { items: number }): Slot[] {
  const slots: Slot[] = [];
  for (const [record, times] of places) {
    const value = record[name];
    if (typeof value === 'string') slots.push({ holder: record, key: name, id: value, times });
    else if (Array.isArray(value)) {
      // A copy: the array belongs to the stored record.
      const holder = [...value] as unknown as Record<PropertyKey, unknown>;
      record[name] = holder;
      for (const [key, id] of (value as string[]).entries()) {
        if (budget.items < times) break;
        budget.items -= times;
        slots.push({ holder, key, id, times });
      }
    }
  }
  return slots;
}

function gather({ resource, includes, places }: Task, budget: { items: number }): Gathered[] {
  return [...includes].map(([name, below]) => ({
    target: resource.field.get(name)!.target!,
    includes: below,
    slots: slotsOf(places, name, budget),
  }));
}

/** Replaces the ids of one field. Gives the next task: the records that now stand in their place. */
async function fill(
  context: RecordsContext,
  { target, includes, slots }: Gathered,
  looking: Looker,
): Promise<Task | undefined> {
  if (slots.length === 0) return undefined;
  const found = await targets(context, target, [...new Set(slots.map((slot) => slot.id))], looking);
  const places = new Map<Shown, number>();
  for (const { holder, key, id, times } of slots) {
    const record = found.get(id);
    if (record === undefined) continue;
    holder[key] = record;
    places.set(record, (places.get(record) ?? 0) + times);
  }
  return { resource: context.entities.get(target)!.resource, includes, places };
}

/**
 * Replaces the ids of reference fields by the records that they name, with the target's own rules for this viewer, level by
 * level. Where he may not see the target, or it is gone, the plain id stays; what he does not see of a record is not followed.
 * One query per field and level, whatever the number of records.
 */
async function expand(context: RecordsContext, first: Task, looking: Looker): Promise<void> {
  const budget = { items: MOST_ITEMS };
  let level = [first];
  while (level.length > 0) {
    const gathered = level.flatMap((task) => gather(task, budget));
    const next = await Promise.all(gathered.map((one) => fill(context, one, looking)));
    level = next.filter((task) => task !== undefined && task.includes.size > 0) as Task[];
  }
}

const PLAIN: Pick<ListQuery, 'include' | 'fields'> = { include: new Map(), fields: undefined };

/** Shows records and expands their references: those that are always populated and those that were asked for. */
export async function present(
  context: RecordsContext,
  resource: CompiledResource,
  records: readonly StoredRecord[],
  looking: Looker,
  query = PLAIN,
): Promise<Shown[]> {
  const shown = await show(resource, records, looking, query.fields);
  const always = resource.populated.map((name) => [name, PLAIN.include] as const);
  const includes = new Map([...always, ...query.include]);
  if (includes.size > 0) {
    await expand(context, { resource, includes, places: new Map(shown.map((record) => [record, 1])) }, looking);
  }
  return shown;
}
