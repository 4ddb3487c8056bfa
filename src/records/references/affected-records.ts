import type { CompiledField } from '../schema/compiled.ts';
import type { Referrer, Referrers } from '../schema/references.ts';
import { createReferrerSearchStatement, type ReferrerSearch } from '../store/referring-rows.ts';
import type { LookupContext } from './record-lookup.ts';

/** What deletions need to find the records that refer to the deleted ones. */
export interface ReferrerContext extends LookupContext {
  /** The references that must stay valid when the records of a resource are deleted, by the name of that resource. */
  referrers: Referrers;
}

/** The maximum number of other records that one deletion deletes or changes. */
export const MAX_AFFECTED = 10_000;

/** The maximum number of records per field that are examined to explain why a deletion is refused. */
const MAX_RESTRICTING = 100;

/** The records of a resource that are being deleted, in the transaction of the context. */
export interface Deletion {
  /** The name of the resource. */
  resource: string;
  ids: readonly string[];
  /**
   * Whether the deletion cannot be refused, because it erases an account: `restrict` clears the reference, and any number of records may be
   * affected.
   */
  erases?: boolean;
  /** The ids of other records, by resource, that the caller deletes in the same transaction. */
  deletedWith?: ReadonlyMap<string, ReadonlySet<string>> | undefined;
}

/** Records that refer to deleted ones by a field with `onDelete: 'restrict'`. */
export interface RestrictingRecords {
  /** The name of their resource. */
  resource: string;
  field: CompiledField;
  ids: string[];
}

/** The other records that a deletion affects. */
export interface AffectedRecords {
  /** The ids of the records to delete, by resource. */
  deleted: Map<string, string[]>;
  /** The records whose references are cleared, by resource, and the fields that hold these references. */
  cleared: Map<string, { ids: string[]; fields: ReadonlySet<CompiledField> }>;
  restricting: RestrictingRecords[];
  /** Whether the search ended early, because the deletion affects too many records. */
  isTooMany: boolean;
}

/** Sets of ids by resource. */
class IdsByResource extends Map<string, Set<string>> {
  idsOf(resource: string): Set<string> {
    const known = this.get(resource);
    if (known !== undefined) return known;
    const ids = new Set<string>();
    this.set(resource, ids);
    return ids;
  }
}

/** What happens to a record that refers to a deleted one. An erasure cannot be refused, so it clears references that restrict deletions. */
function chooseAction({ onDelete }: Referrer, { erases }: Deletion): 'restrict' | 'delete' | 'clear' {
  if (onDelete === 'cascade') return 'delete';
  return onDelete === 'restrict' && !erases ? 'restrict' : 'clear';
}

/** Whether a deletion deletes or changes other records. */
export function affectsOthers({ deleted, cleared }: AffectedRecords): boolean {
  return deleted.size + cleared.size > 0;
}

/**
 * Finds and locks the records that a deletion deletes or changes, level by level: records that refer to the deleted records, then records
 * that refer to records deleted with them, and so on. One statement per level.
 */
export async function findAffectedRecords(context: ReferrerContext, deletion: Deletion): Promise<AffectedRecords> {
  const deleted = new IdsByResource();
  const cleared = new IdsByResource();
  const clearedFields = new Map<string, Set<CompiledField>>();
  const restricting: RestrictingRecords[] = [];
  const roots = new Set(deletion.ids);
  const isDeleted = (resource: string, id: string) =>
    (resource === deletion.resource && roots.has(id)) ||
    deleted.get(resource)?.has(id) === true ||
    deletion.deletedWith?.get(resource)?.has(id) === true;
  const max = deletion.erases ? Number.POSITIVE_INFINITY : MAX_AFFECTED;
  let found = 0;
  let level = new Map<string, readonly string[]>([[deletion.resource, deletion.ids]]);
  while (level.size > 0 && found <= max) {
    const searches = [...level].flatMap(([target, ids]) =>
      (context.referrers.get(target) ?? []).map((referrer) => {
        const action = chooseAction(referrer, deletion);
        const { resource } = context.entities.get(referrer.resource)!;
        const locks = action !== 'restrict';
        // Records that are deleted as well do not restrict the deletion, so any of all referring ones may.
        const limit = action === 'restrict' && deletion.deletedWith === undefined ? MAX_RESTRICTING : max + 1;
        return { referrer, action, search: { resource, field: referrer.field, deleted: ids, locks, limit } };
      }),
    );
    const next = new IdsByResource();
    const rows = await findAndLockReferrers(
      context,
      searches.map(({ search }) => search),
    );
    for (const [at, ids] of rows) {
      const { referrer, action } = searches[at]!;
      const { resource, field } = referrer;
      if (action === 'restrict') restricting.push({ resource, field, ids });
      for (const id of action === 'restrict' ? [] : ids) {
        if (isDeleted(resource, id)) continue;
        if (action === 'delete') {
          deleted.idsOf(resource).add(id);
          next.idsOf(resource).add(id);
          found += cleared.get(resource)?.delete(id) ? 0 : 1;
          continue;
        }
        if (!cleared.idsOf(resource).has(id)) found++;
        cleared.idsOf(resource).add(id);
        clearedFields.set(resource, (clearedFields.get(resource) ?? new Set()).add(field));
      }
    }
    level = new Map([...next].map(([resource, ids]) => [resource, [...ids]]));
  }
  return {
    deleted: new Map([...deleted].map(([resource, ids]) => [resource, [...ids]])),
    cleared: new Map(
      [...cleared]
        .filter(([, ids]) => ids.size > 0)
        .map(([resource, ids]) => [resource, { ids: [...ids], fields: clearedFields.get(resource)! }]),
    ),
    restricting: restricting
      .map(({ ids, ...at }) => ({ ...at, ids: ids.filter((id) => !isDeleted(at.resource, id)) }))
      .filter(({ ids }) => ids.length > 0),
    isTooMany: found > max,
  };
}

/** Locks the records that the searches find. Returns their ids by the index of the search. */
async function findAndLockReferrers(
  context: LookupContext,
  searches: readonly ReferrerSearch[],
): Promise<Map<number, string[]>> {
  if (searches.length === 0) return new Map();
  const { text, values } = createReferrerSearchStatement(searches);
  const rows = await context.database.write<[search: number, id: string]>(context.statement(text, values));
  const found = new Map<number, string[]>();
  for (const [at, id] of rows) {
    const ids = found.get(at);
    if (ids === undefined) found.set(at, [id]);
    else ids.push(id);
  }
  return found;
}
