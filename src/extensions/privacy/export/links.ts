import { isActive } from '../../../declare/actor.ts';
import type { ResourceGateway, StoredRecord } from '../../../declare/host.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { Export } from './store.ts';

/** Builds the download links of exports. */
export interface Links {
  /** The host of the links, to show to people. */
  host: string;
  of(one: Pick<Export, 'seal'>): string;
}

/** Creates the links. They never use the host of a request, because any client can forge its headers. */
export function createLinks({ env }: Pick<Platform, 'env'>): Links {
  const base = new URL(env.appUrl ?? `http://localhost:${env.port}`);
  return { host: base.host, of: ({ seal }) => new URL(`/api/auth/exports/${seal.token}`, base).href };
}

/**
 * Returns the requester of an export if the link still works for them: both accounts exist, the requester is active, the exported user
 * is not being erased, and a requester of another user's data is still an admin.
 */
export async function mayFetch(
  { userId, requestedBy }: Pick<Export, 'userId' | 'requestedBy'>,
  users: ResourceGateway,
): Promise<StoredRecord | undefined> {
  const found = await users.load([...new Set([userId, requestedBy])]);
  const user = found.find(({ id }) => id === userId);
  const asker = found.find(({ id }) => id === requestedBy);
  if (user === undefined || asker === undefined || user.status === 'deleting' || !isActive(asker)) return undefined;
  const isAdmin = Array.isArray(asker.roles) && asker.roles.includes('admin');
  return userId === requestedBy || isAdmin ? asker : undefined;
}
