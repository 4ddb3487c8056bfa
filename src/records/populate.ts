import type { Looking, StoredRecord } from '../declare/host.ts';
import { allows } from '../declare/policy.ts';
import type { CompiledResource } from './compiled.ts';
import type { RecordsContext } from './context.ts';
import { scopeConditions } from './query/scope.ts';
import { owns, type Shown, show } from './view.ts';

/** The records of a reference field that this viewer may see expanded, as he sees them, by id. One query. */
async function targets(
  context: RecordsContext,
  name: string,
  ids: string[],
  looking: Looking,
): Promise<Map<string, Shown>> {
  const { resource, store } = context.entities.get(name)!;
  const found = await store.readMany(ids, scopeConditions(resource, looking));
  const visible: StoredRecord[] = [];
  for (const record of found) {
    const args = { user: looking.user, action: 'read', doc: record, req: looking.req };
    if (await allows(resource.policies.reference, args, owns(resource, record, looking))) visible.push(record);
  }
  const shown = await show(resource, visible, looking);
  return new Map(shown.map((record) => [record.id as string, record]));
}

/**
 * Replaces the ids of reference fields by the records that they name, with the target's own rules for this viewer. Where he
 * may not see the target, or it is gone, the plain id stays. One query per field, whatever the number of records.
 *
 * @param shown records that `show` made; changed in place
 */
async function populate(
  context: RecordsContext,
  resource: CompiledResource,
  shown: readonly Shown[],
  include: readonly string[],
  looking: Looking,
): Promise<void> {
  await Promise.all(
    include.map(async (name) => {
      const ids = [...new Set(shown.map((record) => record[name]).filter((id) => typeof id === 'string'))];
      if (ids.length === 0) return;
      const found = await targets(context, resource.field.get(name)!.spec.target!, ids, looking);
      for (const record of shown) {
        const target = found.get(record[name] as string);
        if (target !== undefined) record[name] = target;
      }
    }),
  );
}

/** Shows records and expands their references: those that are always populated and those that were asked for. */
export async function present(
  context: RecordsContext,
  resource: CompiledResource,
  records: readonly StoredRecord[],
  looking: Looking,
  query: { include: readonly string[]; fields: ReadonlySet<string> | undefined } = { include: [], fields: undefined },
): Promise<Shown[]> {
  const shown = await show(resource, records, looking, query.fields);
  const include =
    query.include.length === 0 ? resource.populated : [...new Set([...resource.populated, ...query.include])];
  if (include.length > 0) await populate(context, resource, shown, include, looking);
  return shown;
}
