import { hashKey, type QueryClient } from '@tanstack/react-query';
import { getOrigin } from '../origin.ts';
import type { IfMatch } from '../records/versions.ts';
import type { WriteOptions } from '../resource.ts';
import { isSameViewer, keyOf, type ParsedKey, parseKey, type ResourceKey } from './keys.ts';
import { changeInList, changeView, definitelyLeaves, mergeRecord } from './merge.ts';
import { type CachedList, createRecordOptions } from './options.ts';
import { getOrCreatePendingChanges, type PendingChange } from './pending-changes.ts';
import type { AnyRecord, AnyResource } from './resource.ts';
import { assertUser, trackSession, userIdOf } from './session-state.ts';

/** A mutation of a record. */
export interface Mutation {
  op: 'create' | 'update' | 'delete' | 'restore';
  /** Undefined for `create`. */
  id?: string | undefined;
  /** The fields of `create` and `update`. */
  data?: object | undefined;
  options: WriteOptions;
  /** Other resources whose cached data the mutation changes. */
  invalidates: readonly { readonly path: string }[];
  /** Whether the query with a hash follows changes. */
  isLive(queryHash: string): boolean;
}

/** A mutation that was requested. */
interface RunningMutation {
  /** The record after the mutation; undefined after a deletion. Rejects with the ApiError of the request. */
  result: Promise<AnyRecord | undefined>;
  /** Resolves when the lists on the page have been loaded again. Never rejects. */
  refreshed: Promise<void>;
}

/** ms after which a mutation that has ended is removed from the cache, with the data that it contains. */
const GC_TIME_MS = 1000;

/** ms that the event about a created record may take. */
const MAX_EVENT_DELAY_MS = 1000;

const toVersion = (version: IfMatch | undefined): unknown =>
  typeof version === 'object' ? (version as { updatedAt?: unknown }).updatedAt : version;

/** Versions of records that a mutation of this page has replaced, and the records that have replaced them. */
const successors = new WeakMap<QueryClient, Map<string, AnyRecord>>();
const MAX_SUCCESSORS = 100;

function successorsIn(queryClient: QueryClient): Map<string, AnyRecord> {
  const known = successors.get(queryClient) ?? new Map<string, AnyRecord>();
  successors.set(queryClient, known);
  return known;
}

/** Returns the version to expect: the mutations of this page are no conflict with each other. */
function advanceVersion(queryClient: QueryClient, id: string, expected: IfMatch | undefined): IfMatch | undefined {
  const known = successorsIn(queryClient);
  let version = expected;
  for (let next = version; next !== undefined; next = known.get(`${id} ${toVersion(version)}`)) version = next;
  return version;
}

function rememberSuccessor(queryClient: QueryClient, id: string, expected: IfMatch | undefined, record: AnyRecord) {
  const version = toVersion(expected);
  if (typeof version !== 'string' || record.updatedAt === version) return;
  const known = successorsIn(queryClient);
  known.set(`${id} ${version}`, record);
  if (known.size > MAX_SUCCESSORS) known.delete(known.keys().next().value!);
}

async function send(
  resource: AnyResource,
  { op, id = '', data = {}, options }: Mutation,
): Promise<AnyRecord | undefined> {
  if (op === 'create') return resource.create(data);
  if (op === 'update') return resource.update(id, data, options);
  if (op === 'restore') return resource.restore(id, options);
  await resource.delete(id, options);
  return undefined;
}

/** Calls `visit` with each cached query of the same app and user that has data. */
function visitQueries(
  queryClient: QueryClient,
  key: ResourceKey,
  visit: (parsed: ParsedKey, queryKey: readonly unknown[]) => void,
): void {
  for (const { queryKey, state } of queryClient.getQueryCache().getAll()) {
    const parsed = parseKey(queryKey);
    if (parsed !== undefined && isSameViewer(parsed, key) && parsed.path === key[3] && state.data)
      visit(parsed, queryKey);
  }
}

/** Writes what the server has confirmed into all cached lists and records. */
function updateCache(
  queryClient: QueryClient,
  key: ResourceKey,
  mutation: Mutation,
  record: AnyRecord | undefined,
): void {
  const { id, op, data = {} } = mutation;
  visitQueries(queryClient, key, ({ list, record: cached }, queryKey) => {
    if (list !== undefined) {
      if (op === 'delete' && list.deleted !== undefined) return;
      queryClient.setQueryData<CachedList<AnyRecord>>(
        queryKey,
        (pages) =>
          pages &&
          changeInList(pages, id!, (one) => {
            const changed = record && mergeRecord(one, record, list);
            return changed && definitelyLeaves(changed, data, list.where) ? undefined : changed;
          }),
      );
    } else if (cached?.id === id)
      queryClient.setQueryData<AnyRecord | null>(queryKey, (one) =>
        record === undefined ? null : one && mergeRecord(one, record, cached!.selection),
      );
  });
}

/** Stops requests whose responses may be older than the mutation, and would overwrite it. */
async function cancelLoading(queryClient: QueryClient, key: ResourceKey): Promise<void> {
  await queryClient.cancelQueries({ queryKey: key, predicate: ({ state }) => state.data !== undefined });
}

/** Marks what a mutation may have changed as outdated, and loads what is on the page again. */
async function invalidate(
  queryClient: QueryClient,
  key: ResourceKey,
  { op, id, invalidates }: Mutation,
): Promise<void> {
  const [, , , path] = key;
  // The last one of several mutations renews the lists, when all are in the database.
  const isLast = queryClient.isMutating({ mutationKey: key }) === 0;
  const paths = new Set([...(isLast ? [path] : []), ...invalidates.map((one) => one.path)]);
  await queryClient.invalidateQueries({
    predicate: ({ queryKey }) => {
      const parsed = parseKey(queryKey);
      if (parsed === undefined || !isSameViewer(parsed, key)) return false;
      // A deleted record cannot be loaded.
      if (op === 'delete' && parsed.path === path && parsed.record?.id === id) return false;
      const { include = [] } = parsed.list ?? parsed.record?.selection ?? {};
      return paths.has(parsed.path) || (isLast && include.length > 0);
    },
  });
}

/** Waits until a live list contains a created record, which its event brings; not long, because it may belong to none. */
async function waitForLiveLists(
  queryClient: QueryClient,
  key: ResourceKey,
  { isLive }: Mutation,
  id: string,
): Promise<void> {
  const cache = queryClient.getQueryCache();
  const lists = cache.findAll({ queryKey: [...key, 'list'], predicate: ({ queryHash }) => isLive(queryHash) });
  const isListed = () =>
    lists.some(({ state }) =>
      (state.data as CachedList<AnyRecord> | undefined)?.pages.some(({ data }) => data.some((one) => one.id === id)),
    );
  if (lists.length === 0 || isListed()) return;
  await new Promise<void>((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      unsubscribe();
      resolve();
    };
    const timer = setTimeout(finish, MAX_EVENT_DELAY_MS);
    const unsubscribe = cache.subscribe(() => {
      if (isListed()) finish();
    });
  });
}

/**
 * Runs a mutation. Mutations of one record are sent one after the other, in their order.
 *
 * @param userId of the user who has requested it
 * @param isOptimistic whether to show the change before the server has confirmed it
 * @throws nothing: the error is that of `result`
 */
export function runMutation(
  queryClient: QueryClient,
  resource: AnyResource,
  mutation: Mutation,
  userId: string | null,
  isOptimistic: boolean,
): RunningMutation {
  const { op, id, data = {}, options } = mutation;
  const origin = getOrigin(resource);
  const changes = getOrCreatePendingChanges(origin);
  const key = keyOf(resource, userId);
  let change: PendingChange | undefined;
  if (isOptimistic && id !== undefined && (op === 'update' || op === 'delete')) {
    change = { userId, path: resource.path, recordId: id, op, changes: { ...data } };
    changes.add(change, changeView);
  }

  const running = queryClient.getMutationCache().build<AnyRecord | undefined, Error, Mutation, unknown>(queryClient, {
    mutationKey: [...key, op],
    ...(id !== undefined && { scope: { id: hashKey([...key, id]) } }),
    gcTime: GC_TIME_MS,
    async mutationFn() {
      // It may have waited for others, or for the network.
      await assertUser(origin, userId);
      const ifMatch = id === undefined ? undefined : advanceVersion(queryClient, id, options.ifMatch);
      const record = await send(resource, { ...mutation, options: { ...options, ifMatch } });
      if (record !== undefined) rememberSuccessor(queryClient, record.id, ifMatch, record);
      return record;
    },
    async onSuccess(record) {
      await cancelLoading(queryClient, key);
      if (userIdOf(trackSession(origin).current()) === userId) {
        if (op === 'create')
          queryClient.setQueryData(createRecordOptions(resource, record!.id, {}, userId).queryKey, record!);
        else updateCache(queryClient, key, mutation, record);
      }
      if (op === 'restore') changes.forget(resource.path, id!);
      if (change !== undefined) changes.confirm(change, record);
    },
    onError() {
      if (change !== undefined) changes.remove(change);
    },
  });
  const result = running.execute(mutation);
  const refresh = () => invalidate(queryClient, key, mutation);
  const refreshed = result.then(async (record) => {
    await refresh();
    if (op === 'create') await waitForLiveLists(queryClient, key, mutation, record!.id);
  }, refresh);
  return { result, refreshed };
}
