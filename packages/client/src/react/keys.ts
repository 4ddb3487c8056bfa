import { getOrigin } from '../origin.ts';
import type { ListQuery, RecordSelection } from '../records/list-query.ts';
import { trackSession, userIdOf } from './session-state.ts';

/** The beginning of every key of a resource: the address of the app, the signed-in user, and the path. */
export type ResourceKey = readonly ['belfry', url: string, userId: string | null, path: string];
/** The key of a list. */
export type ListKey = readonly [...ResourceKey, 'list', ListQuery];
/** The key of a record. */
export type RecordKey = readonly [...ResourceKey, 'record', id: string, RecordSelection];

/** What a key of a cache stands for. */
export interface ParsedKey {
  url: string;
  userId: string | null;
  path: string;
  /** The query of a list. */
  list: ListQuery | undefined;
  /** The id and the selection of a record. */
  record: { id: string; selection: RecordSelection } | undefined;
}

/** Returns the key of a resource for a user. */
export function keyOf(resource: { readonly path: string }, userId: string | null): ResourceKey {
  return ['belfry', getOrigin(resource).url, userId, resource.path];
}

/**
 * Returns the beginning of all cache keys of a resource, for the user who is signed in now. Queries of your own whose keys begin with it are
 * loaded again after a mutation of the resource.
 *
 * @example
 * useQuery({
 *   queryKey: [...resourceKey(client.tickets), 'by status'],
 *   queryFn: () => client.tickets.aggregate({ group: ['status'] }),
 * });
 */
export function resourceKey(resource: { readonly path: string }): ResourceKey {
  return keyOf(resource, userIdOf(trackSession(getOrigin(resource)).current()));
}

/** Parses a key of a cache. Returns undefined for a key that is not one of this package. */
export function parseKey(key: readonly unknown[] | undefined): ParsedKey | undefined {
  if (key?.[0] !== 'belfry' || key.length < 4) return undefined;
  const [, url, userId, path, kind, first, second] = key as unknown as [...ResourceKey, unknown, unknown, unknown];
  return {
    url,
    userId,
    path,
    list: kind === 'list' ? (first as ListQuery) : undefined,
    record: kind === 'record' ? { id: first as string, selection: (second ?? {}) as RecordSelection } : undefined,
  };
}

/** Whether a parsed key belongs to the same app and user as the key of a resource. */
export const isSameViewer = (parsed: ParsedKey, [, url, userId]: ResourceKey): boolean =>
  parsed.url === url && parsed.userId === userId;
