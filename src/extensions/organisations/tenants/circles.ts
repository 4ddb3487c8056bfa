import { ApiError, type Fields, type Host, type StoredRecord } from '../../../extension/index.ts';
import type { TenantFields } from './tenant.ts';

/** A record of an organisation. */
interface TenantRecord {
  resource: string;
  id: string;
}

/** References with `onDelete: 'restrict'` from records of an organisation. */
interface References {
  /** The records that refer to others. */
  places: readonly TenantRecord[];
  /** By the key of a record: the records to which it refers. */
  targets: ReadonlyMap<string, readonly TenantRecord[]>;
  /** By the key of a record: the records that refer to it. */
  referrers: ReadonlyMap<string, readonly TenantRecord[]>;
}

const keyOf = ({ resource, id }: TenantRecord) => `${resource} ${id}`;

/** The ids of records in a field that restricts their deletion, with their resource. */
function restrictedPlaces(fields: Fields, record: StoredRecord): TenantRecord[] {
  return Object.entries(fields).flatMap(([name, { spec }]) => {
    const target = spec.target ?? spec.inner?.spec.target;
    if (spec.onDelete !== 'restrict' || target === undefined) return [];
    return [record[name] ?? []].flat().map((id) => ({ resource: target, id: String(id) }));
  });
}

/** Records with all that can be reached from them, directly or through others, by key. */
function withReachable(
  start: readonly TenantRecord[],
  next: ReadonlyMap<string, readonly TenantRecord[]>,
): Map<string, TenantRecord> {
  const found = new Map(start.map((place) => [keyOf(place), place]));
  for (const place of found.values())
    for (const one of next.get(keyOf(place)) ?? []) if (!found.has(keyOf(one))) found.set(keyOf(one), one);
  return found;
}

/**
 * Creates the function that deletes records of an organisation that refer to each other in a circle, so that none of them can be deleted by itself:
 * all of a circle in one transaction, each with its hooks and its event.
 *
 * @returns whether any record was deleted; the records of a circle to which others refer with `restrict` stay
 */
export function createCircleDeletion(
  { service, resources, transaction }: Pick<Host, 'service' | 'resources' | 'transaction'>,
  tenantFields: TenantFields,
): (organisation: string) => Promise<boolean> {
  async function findReferences(organisation: string): Promise<References> {
    const places: TenantRecord[] = [];
    const [targets, referrers] = [new Map<string, TenantRecord[]>(), new Map<string, TenantRecord[]>()];
    for (const [resource, field] of tenantFields) {
      const fields = resources.find(({ name }) => name === resource)!.declaration.fields as Fields;
      for await (const record of service(resource).each({ [field]: organisation }, { as: 'system' })) {
        const place = { resource, id: record.id };
        const restricted = restrictedPlaces(fields, record);
        if (restricted.length === 0) continue;
        places.push(place);
        targets.set(keyOf(place), restricted);
        for (const one of restricted) {
          const known = referrers.get(keyOf(one));
          if (known === undefined) referrers.set(keyOf(one), [place]);
          else known.push(place);
        }
      }
    }
    return { places, targets, referrers };
  }

  async function deleteTogether(places: readonly TenantRecord[]): Promise<void> {
    const groups = Map.groupBy(places, ({ resource }) => resource);
    const deletedWith = new Map(Array.from(groups, ([name, list]) => [name, new Set(list.map(({ id }) => id))]));
    await transaction(async (tx) => {
      for (const { resource, id } of places) await tx.service(resource).delete(id, { as: 'system', deletedWith });
    });
  }

  return async (organisation) => {
    const { places, targets, referrers } = await findReferences(organisation);
    // A record without referring records of the organisation is restricted by others, and restricts those to which it refers.
    const isEnd = (place: TenantRecord) => !referrers.has(keyOf(place));
    const stays = withReachable(places.filter(isEnd), targets);
    for (const start of places) {
      if (stays.has(keyOf(start))) continue;
      try {
        await deleteTogether([...withReachable([start], referrers).values()]);
        return true;
      } catch (error) {
        // Others refer to a record of this circle, or a record was deleted meanwhile.
        if (!(error instanceof ApiError) || (error.code !== 'NOT_FOUND' && error.code !== 'CONFLICT')) throw error;
      }
    }
    return false;
  };
}
