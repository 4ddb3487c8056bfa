import { ApiError } from '../../platform/helpers/errors.ts';
import { listPolicyConditions } from '../access/authorize.ts';
import type { ResolvedViewContext } from '../access/operation-context.ts';
import { relatedViewContext } from '../access/related-visibility.ts';
import { scopeConditions } from '../access/scope.ts';
import { fieldVisibilityCondition } from '../query/filter.ts';
import type { Condition, Includes } from '../query/list-query.ts';
import type { CompiledResource, Relation } from '../schema/compiled.ts';
import { countNameOf, findIncludedRelation } from '../schema/relations.ts';
import type { EntityContext } from '../store/entity.ts';
import {
  type Budget,
  type ExpansionLevel,
  isByteBudgetSpent,
  type LevelBytes,
  readAndReserveBytes,
} from './expansion-budget.ts';
import { countJsonBytes } from './response-bytes.ts';
import { type SerializedRecord, serializeFields } from './serialize-fields.ts';

/** The highest number that an include of a count returns: it stands for this number or more. */
export const MAX_COUNTED = 10_000;

/** A reverse relation of the records of one level. */
interface LevelRelation {
  relation: Relation;
  /** Whether only the number of related records is returned. */
  counts: boolean;
  includes: Includes;
  places: ExpansionLevel['places'];
}

/** The related records of one level that were read. */
interface RelatedRecords {
  /** Serialized for the viewer, by the id of the parent. */
  byParent: ReadonlyMap<string, SerializedRecord[]>;
  /** The ids of parents whose related records were not all read, because of the budget. */
  incomplete: ReadonlySet<string>;
}

/** What was read for a reverse relation: records, or numbers by the id of the parent. Undefined: the viewer may not list the target. */
type ReadRelation = RelatedRecords | ReadonlyMap<string, number> | undefined;

/** Collects the reverse relations of a level that were requested. */
export function collectRelations({ resource, includes, places }: ExpansionLevel): LevelRelation[] {
  if (places.size === 0) return [];
  return [...includes].flatMap(([name, below]) => {
    const included = resource.field.has(name) ? undefined : findIncludedRelation(resource, name);
    return included === undefined ? [] : [{ ...included, includes: below, places }];
  });
}

/** A policy function that throws an ApiError refuses a list. Here it must not refuse the whole response. */
function undefinedIfRefused(error: unknown): undefined {
  if (!(error instanceof ApiError)) throw error;
}

/**
 * The conditions of the records that the viewer would get from a list of the target, filtered by the field of the relation. Undefined if the
 * viewer may not list the target.
 */
async function conditionsOfRelatedRecords(
  target: CompiledResource,
  { field }: Relation,
  viewContext: ResolvedViewContext,
): Promise<Condition[] | undefined> {
  const allowed = await listPolicyConditions(target, viewContext).catch(undefinedIfRefused);
  if (allowed === undefined) return undefined;
  const scope = await scopeConditions(target, viewContext, 'visibility');
  const visibility = fieldVisibilityCondition(target, field, viewContext.user);
  return [...allowed, ...scope, ...(visibility === undefined ? [] : [visibility])];
}

/** Reads the records of a reverse relation, or their numbers, in one query, whatever the number of parents. */
export async function readRelatedRecords(
  context: EntityContext,
  { relation, counts, places }: LevelRelation,
  { budget, bytes }: { budget: Budget; bytes: LevelBytes },
  given: ResolvedViewContext,
): Promise<ReadRelation> {
  const entity = context.entities.get(relation.target)!;
  const { resource, store } = entity;
  const viewContext = relatedViewContext(given, resource);
  const conditions = await conditionsOfRelatedRecords(resource, relation, viewContext);
  if (conditions === undefined) return undefined;
  const parents = [...new Set([...places.keys()].map((record) => record.id as string))];
  const list = { relation, parents, conditions };
  if (counts) return store.countRelated(list, MAX_COUNTED);
  // One more record for each parent, and for all, shows whether more follow.
  const limits = { each: relation.limit! + 1, total: budget.items + 1 };
  const page = await readAndReserveBytes((room) => store.listRelatedWithin(list, limits, room), bytes, viewContext);
  const isCut = page.isCut || page.records.length > budget.items;
  const last = parents.indexOf(page.records.at(-1)?.parent ?? '');
  const serialized = await serializeFields(
    entity,
    page.records.map(({ record }) => record),
    viewContext,
  );
  const byParent = new Map<string, SerializedRecord[]>();
  for (const [i, { parent }] of page.records.entries()) {
    const records = byParent.get(parent);
    if (records === undefined) byParent.set(parent, [serialized[i]!]);
    else records.push(serialized[i]!);
  }
  return { byParent, incomplete: new Set(isCut ? parents.slice(Math.max(last, 0)) : []) };
}

/** The number of the first records that the budget has room for, if each appears `times` times. Takes their room from the budget. */
function takeFromBudget(records: readonly SerializedRecord[], times: number, budget: Budget): number {
  for (const [i, record] of records.entries()) {
    if (budget.items < times || isByteBudgetSpent(budget)) return i;
    budget.items -= times;
    budget.bytes -= countJsonBytes(record) * times;
  }
  return records.length;
}

/**
 * Adds the related records, or their numbers, to the records of a level, up to the budget. A list says whether more records follow: clients
 * must not mistake it for complete.
 *
 * @returns the added records, with the number of times that each appears in the response
 */
export function addRelatedRecords(
  { relation: { name, limit }, counts, places }: LevelRelation,
  read: ReadRelation,
  budget: Budget,
): ExpansionLevel['places'] {
  const added = new Map<SerializedRecord, number>();
  if (read === undefined) return added;
  for (const [holder, times] of places) {
    const id = holder.id as string;
    if (!('byParent' in read)) {
      if (counts) holder[countNameOf(name)] = read.get(id) ?? 0;
      continue;
    }
    const found = read.byParent.get(id) ?? [];
    const fitting = found.slice(0, takeFromBudget(found.slice(0, limit), times, budget));
    const isIncomplete = read.incomplete.has(id) || fitting.length < Math.min(found.length, limit!);
    if (isIncomplete) budget.exceeded = true;
    holder[name] = { data: fitting, meta: { limit, more: isIncomplete || found.length > fitting.length } };
    for (const record of fitting) added.set(record, (added.get(record) ?? 0) + times);
  }
  return added;
}
