import type { StoredRecord } from '../../declare/host.ts';
import { ApiError } from '../../platform/errors.ts';
import { isId } from '../../platform/ids.ts';
import { loadAuthorized } from '../access.ts';
import type { Acting } from '../acting.ts';
import type { Entity } from '../context.ts';

/** Reads a record that the caller may read. */
export async function read({ resource, store }: Entity, id: string, acting: Acting): Promise<StoredRecord> {
  if (acting.system) {
    const record = isId(id) ? await store.read(id) : undefined;
    if (record === undefined) throw new ApiError('NOT_FOUND');
    return record;
  }
  return loadAuthorized(resource, store, id, 'read', resource.policies.read, acting);
}
