import { isTransient } from '../../../platform/data/postgres/errors.ts';
import {
  assertNoMissingReferences,
  findMissingReferences,
  hadReference,
  type MissingReference,
} from '../../references/check-references.ts';
import type { CompiledResource, Values } from '../../schema/compiled.ts';
import type { Entity } from '../../store/entity.ts';
import type { RecordsContext } from '../context.ts';
import type { BatchItem, Preparation, PreparedChange } from './item.ts';

/** A create or update whose references are checked. */
type ReferencingChange = PreparedChange & { change: { action: 'created' | 'updated' } };

function isReferencing(preparation: Preparation): preparation is ReferencingChange {
  return preparation !== 'alone' && !('error' in preparation) && preparation.change.action !== 'deleted';
}

/** The ids of records of the same resource that an item refers to. */
export function findOwnReferences({ checkedReferences, name }: CompiledResource, { data }: BatchItem): string[] {
  const own = checkedReferences.filter(({ target }) => target === name);
  const values = own.map((field) => (data as Values | null | undefined)?.[field.name]);
  return values.filter((value) => typeof value === 'string');
}

/**
 * Checks the references of prepared changes, with one query for all of them. A change with a reference that is not valid gets the error of its
 * own route.
 */
export async function checkReferences(
  context: RecordsContext,
  { resource }: Entity,
  prepared: Map<BatchItem, Preparation>,
): Promise<void> {
  const changes = resource.checkedReferences.length === 0 ? [] : [...prepared.values()].filter(isReferencing);
  if (changes.length === 0) return;
  // Functions of the target's policies use the services of the transaction.
  const operation = { ...changes[0]!.item.operation, service: context.service };
  const records = changes.map(({ item, change }) => ({
    values: change.values,
    isChosenByCaller: (name: string) => Object.hasOwn(Object(item.data), name),
  }));
  let missing: MissingReference[][];
  try {
    missing = await findMissingReferences(context, resource, records, operation);
  } catch (error) {
    if (isTransient(error)) throw error;
    // A policy of a target failed. Only the items that refer to its record fail.
    for (const { item } of changes) prepared.set(item, 'alone');
    return;
  }
  for (const [i, { item, before }] of changes.entries()) {
    // A reference that the record holds already may be sent back, even if its record is hidden from the caller.
    const added = missing[i]!.filter((reference) => before === undefined || !hadReference(reference, before));
    try {
      assertNoMissingReferences(resource, added, operation);
    } catch (error) {
      prepared.set(item, { error });
    }
  }
}
