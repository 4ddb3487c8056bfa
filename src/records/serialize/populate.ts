import type { StoredRecord } from '../../declare/host.ts';
import { answerRoom, noAnswerRoom, reserveAnswerBytes } from '../../platform/http/pending-answers.ts';
import type { ResolvedViewContext } from '../access/operation-context.ts';
import type { RecordsContext } from '../context.ts';
import type { Includes, ListQuery } from '../query/list-query.ts';
import { scopeConditions } from '../query/scope.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import { jsonBytes } from './json-bytes.ts';
import { isVisible, type SerializedRecord, serializeFields } from './serialize.ts';

// An array may name thousands of records, a page holds a hundred arrays, and each level multiplies.
const MAX_ITEMS = 10_000;
// A record may be large, and stand in the answer as often as it is named.
const MAX_BYTES = 4 * 1024 * 1024;

/** What may still be expanded in an answer; the rest stays ids. */
interface Budget {
  /** Items of arrays. */
  items: number;
  /** Of the records that take the places of ids, as JSON. */
  bytes: number;
  /** Whether something stayed an id for want of them. */
  short: boolean;
}

/** Whether nothing more is even read. */
function isSpent({ bytes }: Budget): boolean {
  return bytes <= 0;
}

/** Shown records of one resource, and what of them is to be expanded. */
interface Task {
  resource: CompiledResource;
  includes: Includes;
  /** Each record, with how often it will stand in the answer. */
  places: ReadonlyMap<SerializedRecord, number>;
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

/** A record as the viewer sees it. */
interface Target {
  shown: SerializedRecord;
  /** As JSON; undefined until it was counted. */
  bytes?: number;
}

/** Reads what others who look at the same moment may have read already, by all that it depends on. */
function readTogether(
  { sharedReads: together }: ResolvedViewContext,
  by: readonly unknown[],
  read: () => Promise<StoredRecord[]>,
): Promise<StoredRecord[]> {
  if (together === undefined) return read();
  const key = JSON.stringify(by);
  const reading = together.get(key) ?? read();
  together.set(key, reading);
  return reading;
}

/** What the records of one level may have, and what was reserved for them in the answer. */
interface LevelBytes {
  /** About how much of each reference field is read at most. */
  most: number;
  reserved: number;
}

/** Reads what there is room for in the answer, and reserves it before anything is made of it. */
async function readReserved(
  read: (bytes: () => number) => Promise<{ records: StoredRecord[]; bytes: number }>,
  level: LevelBytes,
  { req }: ResolvedViewContext,
): Promise<StoredRecord[]> {
  let room = level.most;
  const { records, bytes } = await read(() => {
    room = Math.min(level.most, answerRoom(req));
    return room;
  });
  // What was left out for want of room must not look like records that stay ids.
  if (room < level.most && bytes >= room) throw noAnswerRoom();
  reserveAnswerBytes(req, bytes);
  level.reserved += bytes;
  return records;
}

/** The records of a reference field that this viewer may see expanded, by id. One query. */
async function targets(
  context: RecordsContext,
  { target, slots }: Gathered,
  level: LevelBytes,
  viewContext: ResolvedViewContext,
): Promise<Map<string, Target>> {
  const { resource, store } = context.entities.get(target)!;
  const scope = scopeConditions(resource, viewContext, 'visibility');
  const ids = [...new Set(slots.map((slot) => slot.id))];
  const conditions = scope instanceof Promise ? await scope : scope;
  const found = await readTogether(viewContext, [target, ids, conditions, level.most], () =>
    readReserved((bytes) => store.readManyWithin(ids, conditions, bytes), level, viewContext),
  );
  const visible: StoredRecord[] = [];
  for (const record of found) {
    if (await isVisible(resource, 'reference', record, viewContext)) visible.push(record);
  }
  const shown = await serializeFields(resource, visible, viewContext);
  return new Map(shown.map((record) => [record.id as string, { shown: record }]));
}

/** The slots of one reference field, as far as the budget of items goes. */
function slotsOf(places: Task['places'], name: string, budget: Budget): Slot[] {
  const slots: Slot[] = [];
  for (const [record, times] of places) {
    const value = record[name];
    if (typeof value === 'string') slots.push({ holder: record, key: name, id: value, times });
    else if (Array.isArray(value)) {
      // A copy: the array belongs to the stored record.
      const holder = [...value] as unknown as Record<PropertyKey, unknown>;
      record[name] = holder;
      for (const [key, id] of (value as string[]).entries()) {
        if (budget.items < times) {
          budget.short = true;
          break;
        }
        budget.items -= times;
        slots.push({ holder, key, id, times });
      }
    }
  }
  return slots;
}

function gather({ resource, includes, places }: Task, budget: Budget): Gathered[] {
  const gathered = [...includes].map(([name, below]) => ({
    target: resource.field.get(name)!.target!,
    includes: below,
    slots: slotsOf(places, name, budget),
  }));
  return gathered.filter(({ slots }) => slots.length > 0);
}

/** Replaces the ids of one field, as far as the budget of bytes goes. Gives the records that now stand in their place. */
function fill(slots: readonly Slot[], found: ReadonlyMap<string, Target>, budget: Budget): Task['places'] {
  const places = new Map<SerializedRecord, number>();
  for (const { holder, key, id, times } of slots) {
    const target = found.get(id);
    if (target === undefined) continue;
    if (isSpent(budget)) {
      budget.short = true;
      continue;
    }
    target.bytes ??= jsonBytes(target.shown);
    // The last one may go beyond: a single record is shown however large it is.
    if (target.bytes * (times - 1) >= budget.bytes) {
      budget.short = true;
      continue;
    }
    budget.bytes -= target.bytes * times;
    holder[key] = target.shown;
    places.set(target.shown, (places.get(target.shown) ?? 0) + times);
  }
  return places;
}

/**
 * Replaces the ids of reference fields by the records that they name, with the target's own rules for this viewer, level by
 * level. Where they may not see the target, or it is gone, the plain id stays; what they do not see of a record is not followed.
 * One query per field and level, whatever the number of records.
 *
 * @returns whether there was room for all
 */
async function expand(context: RecordsContext, first: Task, viewContext: ResolvedViewContext): Promise<boolean> {
  const budget: Budget = { items: MAX_ITEMS, bytes: MAX_BYTES, short: false };
  let level = [first];
  while (level.length > 0 && !isSpent(budget)) {
    const gathered = level.flatMap((task) => gather(task, budget));
    const bytes: LevelBytes = { most: budget.bytes, reserved: 0 };
    const found = await Promise.all(gathered.map((one) => targets(context, one, bytes, viewContext)));
    const next = gathered.map(({ target, includes, slots }, i) => {
      const places = fill(slots, found[i]!, budget);
      return { resource: context.entities.get(target)!.resource, includes, places };
    });
    reserveAnswerBytes(viewContext.req, bytes.most - budget.bytes - bytes.reserved);
    level = next.filter(({ includes }) => includes.size > 0);
  }
  return !budget.short && !isSpent(budget);
}

const PLAIN: Pick<ListQuery, 'include' | 'fields'> = { include: new Map(), fields: undefined };

async function presented(
  context: RecordsContext,
  resource: CompiledResource,
  records: readonly StoredRecord[],
  viewContext: ResolvedViewContext,
  query: typeof PLAIN,
): Promise<{ shown: SerializedRecord[]; whole: boolean }> {
  const shown = await serializeFields(resource, records, viewContext, query.fields);
  const always = resource.populated.map((name) => [name, PLAIN.include] as const);
  const includes = new Map([...always, ...query.include]);
  if (includes.size === 0) return { shown, whole: true };
  const places = new Map(shown.map((record) => [record, 1]));
  return { shown, whole: await expand(context, { resource, includes, places }, viewContext) };
}

/** Shows records and expands their references: those that are always populated and those that were asked for. */
export async function serializeRecords(
  context: RecordsContext,
  resource: CompiledResource,
  records: readonly StoredRecord[],
  viewContext: ResolvedViewContext,
  query = PLAIN,
): Promise<SerializedRecord[]> {
  return (await presented(context, resource, records, viewContext, query)).shown;
}

/** The same for records that go out apart, each as it would be in an answer of its own, whatever the others take in. */
export async function serializeSeparately(
  context: RecordsContext,
  resource: CompiledResource,
  records: readonly StoredRecord[],
  viewContext: ResolvedViewContext,
): Promise<SerializedRecord[]> {
  const { shown, whole } = await presented(context, resource, records, viewContext, PLAIN);
  if (whole || records.length < 2) return shown;
  const apart: SerializedRecord[] = [];
  for (const record of records) apart.push(...(await serializeRecords(context, resource, [record], viewContext)));
  return apart;
}
