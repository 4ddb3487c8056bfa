import { formerResourceNames } from '../../declare/gateways.ts';
import type { StoredRecord } from '../../declare/host.ts';
import type { ResolvedViewContext } from '../access/operation-context.ts';
import { expandedRecordsIn, isStillReadable } from '../access/still-readable.ts';
import { isInScope, isRecordVisible } from '../access/visibility.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import type { Entity, EntityContext } from '../store/entity.ts';
import { collectStoredRecords } from './serialize.ts';

/** A stored record in the data of a response. */
export interface ResponseRecord {
  resource: string;
  id: string;
  /** The keys that lead to the record in the data. */
  path: readonly string[];
}

type Data = Readonly<Record<string, unknown>>;

/**
 * Finds the stored records in a handler's value that its caller may read. They are checked before a stored response is sent again. A
 * handler may also return records that the caller may not read; these are not checked again.
 */
export async function findReadableRecords(
  context: EntityContext,
  value: unknown,
  viewContext: ResolvedViewContext,
): Promise<ResponseRecord[]> {
  const found: ResponseRecord[] = [];
  for (const { resource, record, path } of collectStoredRecords(value)) {
    const entity = context.entities.get(resource)!;
    if (await isReadable(entity, record, viewContext)) found.push({ resource, id: record.id, path });
  }
  return found;
}

async function isReadable(entity: Entity, record: StoredRecord, viewContext: ResolvedViewContext): Promise<boolean> {
  return (await isInScope(entity, record, viewContext)) && isRecordVisible(entity, 'read', record, viewContext);
}

/** For a record that no longer exists: the record at the time of the response, with the fields that its viewer saw. */
function toRecord(data: Data): StoredRecord {
  const toId = (value: unknown): unknown =>
    typeof value === 'object' && value !== null && typeof (value as Data).id === 'string' ? (value as Data).id : value;
  const values = Object.entries(data).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.map(toId) : toId(value),
  ]);
  return Object.fromEntries(values) as StoredRecord;
}

function dataAt(root: unknown, path: readonly string[]): Data | undefined {
  return path.reduce<unknown>((at, key) => (at as Record<string, unknown> | null | undefined)?.[key], root) as
    | Data
    | undefined;
}

/** Loads records by resource and id, also deleted ones that are kept. */
async function loadRecords(
  context: EntityContext,
  wanted: readonly { resource: string; id: string }[],
): Promise<(resource: string, id: string) => StoredRecord | undefined> {
  const loaded = new Map<string, StoredRecord>();
  for (const [resource, list] of Map.groupBy(wanted, (one) => one.resource)) {
    const { store, archive } = context.entities.get(resource)!;
    const ids = [...new Set(list.map(({ id }) => id))];
    for (const record of await (archive?.with ?? store).readMany(ids)) loaded.set(`${resource}/${record.id}`, record);
  }
  return (resource, id) => loaded.get(`${resource}/${id}`);
}

/** The resource of a stored response, which has the name that the resource had then; undefined if it is no longer declared. */
function findResource({ entities, names }: EntityContext, name: string): CompiledResource | undefined {
  const resources = names.map((one) => entities.get(one)!.resource);
  return entities.get(name)?.resource ?? resources.find((resource) => formerResourceNames(resource).includes(name));
}

/**
 * Whether the caller may still read the records in the data of an earlier response, with all of their fields. A record that no longer exists
 * is judged by the values in the response.
 */
export async function mayReadAgain(
  context: EntityContext,
  records: readonly ResponseRecord[],
  data: unknown,
  viewContext: ResolvedViewContext,
): Promise<boolean> {
  const placed = [];
  for (const record of records) {
    const of = findResource(context, record.resource);
    if (of === undefined) return false;
    const own = dataAt(data, record.path);
    if (own !== undefined) placed.push({ ...record, resource: of.name, data: own, of });
  }
  const find = await loadRecords(context, [
    ...placed,
    ...placed.flatMap((one) => expandedRecordsIn(context, one.of, one.data)),
  ]);
  for (const { resource, id, data: own, of } of placed) {
    const record = find(resource, id) ?? toRecord(own);
    if (!(await isStillReadable(context, of, { data: own, record, find }, viewContext, false))) return false;
  }
  return true;
}
