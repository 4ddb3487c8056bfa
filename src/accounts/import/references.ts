import type { ErrorDetails } from '../../platform/helpers/errors.ts';
import type { RecordsContext } from '../../records/operations/context.ts';
import { findMissingReferences } from '../../records/references/check-references.ts';
import type { CompiledResource } from '../../records/schema/compiled.ts';
import { missingReferenceMessage } from '../../records/schema/references.ts';
import type { ImportRow } from './row.ts';

/** Finds the references of rows to records that do not exist. Returns the errors of each row, in order; undefined for a row without any. */
export async function findReferenceErrors(
  context: RecordsContext,
  resource: CompiledResource,
  rows: readonly ImportRow[],
): Promise<(ErrorDetails | undefined)[]> {
  if (resource.checkedReferences.length === 0) return rows.map(() => undefined);
  const records = rows.map(({ values }) => ({ values, isChosenByCaller: () => true }));
  const operation = { user: undefined, system: true, service: context.service };
  const missing = await findMissingReferences(context, resource, records, operation);
  return missing.map((all, i) => {
    // A user may refer to themselves, for example as their own manager.
    const references = all.filter(({ id, field }) => id !== rows[i]!.id || field.target !== resource.name);
    return references.length === 0
      ? undefined
      : Object.fromEntries(references.map(({ path, field }) => [path, missingReferenceMessage(field)]));
  });
}

/** Whether a row refers to a user in other rows, which must then be stored first. */
export function refersToRows(
  { name, checkedReferences }: CompiledResource,
  { values }: ImportRow,
  others: readonly ImportRow[],
): boolean {
  const own = checkedReferences.filter(({ target }) => target === name);
  const ids = new Set(own.flatMap((field) => (values[field.name] ?? []) as string | string[]));
  return ids.size > 0 && others.some(({ id }) => ids.has(id));
}
