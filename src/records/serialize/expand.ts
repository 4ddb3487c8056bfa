import type { StoredRecord } from '../../declare/host.ts';
import { reserveResponseBytes } from '../../platform/http/pending-responses.ts';
import type { ResolvedViewContext } from '../access/operation-context.ts';
import { relatedViewContext } from '../access/related-visibility.ts';
import { scopeConditions } from '../access/scope.ts';
import { isRecordVisible } from '../access/visibility.ts';
import type { Includes } from '../query/list-query.ts';
import type { EntityContext } from '../store/entity.ts';
import {
  type Budget,
  type ExpansionLevel,
  isByteBudgetSpent,
  type LevelBytes,
  readAndReserveBytes,
} from './expansion-budget.ts';
import { addRelatedRecords, collectRelations, readRelatedRecords } from './related-records.ts';
import { countJsonBytes } from './response-bytes.ts';
import { type SerializedRecord, serializeFields } from './serialize-fields.ts';

// Maximum array items to expand in one response. An array may hold thousands of ids, a page a hundred arrays, and each level multiplies
// them.
const MAX_ITEMS = 10_000;
// Maximum JSON bytes of expanded records in one response. A record may be large, and appears once for each reference to it.
const MAX_BYTES = 4 * 1024 * 1024;

// Policies that depend on related records are checked together in one statement. Policies that call services make calls of their own.
const CHECKS_AT_ONCE = 50;

/** An id in a serialized record that may be replaced by the record that it refers to. */
interface ReferenceSlot {
  holder: Record<PropertyKey, unknown>;
  key: PropertyKey;
  id: string;
  times: number;
}

/** The slots of one reference field on one level. */
interface FieldSlots {
  target: string;
  includes: Includes;
  slots: readonly ReferenceSlot[];
}

/** A referenced record, serialized for the viewer. */
interface ReferencedRecord {
  serialized: SerializedRecord;
  /** The size of the serialized record in JSON bytes; undefined until it is counted. */
  bytes?: number;
}

/**
 * Shares a read between viewers if the same change is serialized for them at the same time. `dependsOn` lists everything that the read depends
 * on.
 */
function shareReadBetweenViewers(
  { sharedReads }: ResolvedViewContext,
  dependsOn: readonly unknown[],
  read: () => Promise<StoredRecord[]>,
): Promise<StoredRecord[]> {
  if (sharedReads === undefined) return read();
  const key = JSON.stringify(dependsOn);
  const reading = sharedReads.get(key) ?? read();
  sharedReads.set(key, reading);
  return reading;
}

/** Reads the records of a reference field that the viewer may see expanded, by id, in one query. */
async function readReferencedRecords(
  context: EntityContext,
  { target, slots }: FieldSlots,
  level: LevelBytes,
  given: ResolvedViewContext,
): Promise<Map<string, ReferencedRecord>> {
  const entity = context.entities.get(target)!;
  const { resource, store } = entity;
  const viewContext = relatedViewContext(given, resource);
  const scope = scopeConditions(resource, viewContext, 'visibility');
  const ids = [...new Set(slots.map((slot) => slot.id))];
  const conditions = scope instanceof Promise ? await scope : scope;
  const found = await shareReadBetweenViewers(viewContext, [target, ids, conditions, level.max], async () => {
    const read = (bytes: () => number) => store.readManyWithin(ids, conditions, bytes);
    return (await readAndReserveBytes(read, level, viewContext)).records;
  });
  const visible: StoredRecord[] = [];
  for (let at = 0; at < found.length; at += CHECKS_AT_ONCE) {
    const some = found.slice(at, at + CHECKS_AT_ONCE);
    const checks = await Promise.all(some.map((one) => isRecordVisible(entity, 'reference', one, viewContext)));
    visible.push(...some.filter((_, i) => checks[i]));
  }
  const serialized = await serializeFields(entity, visible, viewContext);
  return new Map(serialized.map((record) => [record.id as string, { serialized: record }]));
}

/** Collects the slots of one reference field, up to the budget of items. */
function collectReferenceSlots(places: ExpansionLevel['places'], name: string, budget: Budget): ReferenceSlot[] {
  const slots: ReferenceSlot[] = [];
  for (const [record, times] of places) {
    const value = record[name];
    if (typeof value === 'string') slots.push({ holder: record, key: name, id: value, times });
    else if (Array.isArray(value)) {
      // Copy the array, because it belongs to the stored record, which must not change.
      const holder = [...value] as unknown as Record<PropertyKey, unknown>;
      record[name] = holder;
      for (const [key, id] of (value as string[]).entries()) {
        if (budget.items < times) {
          budget.exceeded = true;
          break;
        }
        budget.items -= times;
        slots.push({ holder, key, id, times });
      }
    }
  }
  return slots;
}

function collectFieldSlots({ resource, includes, places }: ExpansionLevel, budget: Budget): FieldSlots[] {
  const references = [...includes].filter(([name]) => resource.field.has(name));
  const fields = references.map(([name, below]) => ({
    target: resource.field.get(name)!.target!,
    includes: below,
    slots: collectReferenceSlots(places, name, budget),
  }));
  return fields.filter(({ slots }) => slots.length > 0);
}

/** Replaces the ids of one reference field with the records that they refer to, up to the budget of bytes. Returns these records. */
function replaceIdsWithRecords(
  slots: readonly ReferenceSlot[],
  found: ReadonlyMap<string, ReferencedRecord>,
  budget: Budget,
): ExpansionLevel['places'] {
  const places = new Map<SerializedRecord, number>();
  for (const { holder, key, id, times } of slots) {
    const target = found.get(id);
    if (target === undefined) continue;
    if (isByteBudgetSpent(budget)) {
      budget.exceeded = true;
      continue;
    }
    target.bytes ??= countJsonBytes(target.serialized);
    // The last record may exceed the budget: a single record is expanded however large it is.
    if (target.bytes * (times - 1) >= budget.bytes) {
      budget.exceeded = true;
      continue;
    }
    budget.bytes -= target.bytes * times;
    holder[key] = target.serialized;
    places.set(target.serialized, (places.get(target.serialized) ?? 0) + times);
  }
  return places;
}

/**
 * Replaces the ids of reference fields with the referenced records, level by level, under the target resource's own rules for this viewer.
 * An id stays an id if the viewer may not see its record, or if the record no longer exists. A field that the viewer does not see is not
 * expanded. One query per field and level, for any number of records.
 *
 * @returns whether the budget sufficed for every reference
 */
export async function expandReferences(
  context: EntityContext,
  first: ExpansionLevel,
  viewContext: ResolvedViewContext,
): Promise<boolean> {
  const budget: Budget = { items: MAX_ITEMS, bytes: MAX_BYTES, exceeded: false };
  let levels = [first];
  while (levels.length > 0 && !isByteBudgetSpent(budget)) {
    const fields = levels.flatMap((level) => collectFieldSlots(level, budget));
    const bytes: LevelBytes = { max: budget.bytes, reserved: 0 };
    const relations = levels.flatMap(collectRelations);
    const [found, related] = await Promise.all([
      Promise.all(fields.map((field) => readReferencedRecords(context, field, bytes, viewContext))),
      Promise.all(relations.map((one) => readRelatedRecords(context, one, { budget, bytes }, viewContext))),
    ]);
    const nextOfRelations = relations.map((one, i) => ({
      resource: context.entities.get(one.relation.target)!.resource,
      includes: one.includes,
      places: addRelatedRecords(one, related[i], budget),
    }));
    const next = fields.map(({ target, includes, slots }, i) => {
      const places = replaceIdsWithRecords(slots, found[i]!, budget);
      return { resource: context.entities.get(target)!.resource, includes, places };
    });
    reserveResponseBytes(viewContext.req, bytes.max - budget.bytes - bytes.reserved);
    levels = [...next, ...nextOfRelations].filter(({ includes }) => includes.size > 0);
  }
  return !budget.exceeded && !isByteBudgetSpent(budget);
}
