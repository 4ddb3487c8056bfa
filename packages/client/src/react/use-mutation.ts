'use client';
import type { QueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import { getOrigin } from '../origin.ts';
import type { ApiError } from '../request/errors.ts';
import type { WriteOptions } from '../resource.ts';
import type { ClientRecord } from '../schema/record.ts';
import type { Member } from '../schema/schema.ts';
import { getOrCreateLiveEntries } from './live-entries.ts';
import type { Mutation } from './mutate.ts';
import { useBelfry } from './provider.ts';
import type { AnyRecord, AnyResource, TypedResource, UntypedResource } from './resource.ts';
import { trackSession, userIdOf } from './session-state.ts';

/** The options of `useMutation`. */
export interface UseMutationOptions {
  /** Shows updates and deletions at once, in every list and record on the page. Default true. */
  optimistic?: boolean | undefined;
  /** Other resources whose lists and records are loaded again after a mutation. Those with `include` always are. */
  invalidates?: readonly { readonly path: string }[] | undefined;
}

/** The messages of a `VALIDATION_ERROR` by field, or by path in a field. */
export type FieldMessages<Names extends string = string> = { readonly [Name in Names]?: string } & {
  readonly [path: string]: string | undefined;
};

type CreateOf<Api, Key extends keyof Api> = Member<Api[Key], 'create', object>;
type UpdateOf<Api, Key extends keyof Api> = Member<Api[Key], 'update', object>;

/** The error of a mutation, with typed `details`. */
export type MutationError<Api, Key extends keyof Api> = ApiError<
  FieldMessages<(keyof CreateOf<Api, Key> | keyof UpdateOf<Api, Key>) & string>
>;

/** The state of the mutations of one `useMutation`. */
export interface MutationState<Failure, Input> {
  /** Whether a mutation is under way. */
  readonly isPending: boolean;
  /** Why the newest mutation failed; null if it has not. */
  readonly error: Failure | null;
  /** The records that are being created, until the lists on the page contain them. */
  readonly creating: readonly Input[];
  /** Forgets the error. */
  reset(): void;
}

interface CreateMethod<Api, Key extends keyof Api> {
  /** Creates a record. Rejects with an ApiError, which is also in `error`: it need not be caught. */
  create(data: CreateOf<Api, Key>): Promise<ClientRecord<Api, Key>>;
}

interface UpdateMethod<Api, Key extends keyof Api> {
  /** Changes fields of a record. Rejects with an ApiError, which is also in `error`: it need not be caught. */
  update(id: string, changes: UpdateOf<Api, Key>, options?: WriteOptions): Promise<ClientRecord<Api, Key>>;
}

interface RemoveMethod {
  /** Deletes a record. Rejects with an ApiError, which is also in `error`: it need not be caught. */
  remove(id: string, options?: WriteOptions): Promise<void>;
}

interface RestoreMethod<Api, Key extends keyof Api> {
  /** Restores a deleted record. Rejects with an ApiError, which is also in `error`: it need not be caught. */
  restore(id: string, options?: WriteOptions): Promise<ClientRecord<Api, Key>>;
}

type If<Api, Key extends keyof Api, Action extends string, Method> =
  Action extends Member<Api[Key], 'actions', never> ? Method : unknown;

/** What `useMutation` returns: the methods that the resource has, and their state. */
export type MutationResult<Api, Key extends keyof Api> = MutationState<MutationError<Api, Key>, CreateOf<Api, Key>> &
  If<Api, Key, 'create', CreateMethod<Api, Key>> &
  If<Api, Key, 'update', UpdateMethod<Api, Key>> &
  If<Api, Key, 'delete', RemoveMethod> &
  If<Api, Key, 'restore', RestoreMethod<Api, Key>>;

/** What `useMutation` returns for a resource without types. */
export interface UntypedMutationResult extends MutationState<ApiError, object> {
  create(data: object): Promise<AnyRecord>;
  update(id: string, changes: object, options?: WriteOptions): Promise<AnyRecord>;
  remove(id: string, options?: WriteOptions): Promise<void>;
  restore(id: string, options?: WriteOptions): Promise<AnyRecord>;
}

interface State {
  pending: number;
  error: ApiError | null;
  creating: readonly object[];
}

const IDLE: State = { pending: 0, error: null, creating: [] };
const NO_RESOURCES: readonly { readonly path: string }[] = [];

/** Pages that only show records do not load this code. */
const loadMutate = () => import('./mutate.ts');

/** Runs a mutation for the user who is signed in now. */
function start(queryClient: QueryClient, resource: AnyResource, mutation: Mutation, isOptimistic: boolean) {
  const { auth } = getOrigin(resource);
  const { current } = trackSession(getOrigin(resource));
  // While the storage of the session is being read, it is not known yet which user that is.
  const known = current().isPending ? auth?.ready().then(() => userIdOf(current())) : userIdOf(current());
  const running = Promise.all([loadMutate(), known]).then(([{ runMutation }, user]) =>
    runMutation(queryClient, resource, mutation, user ?? null, isOptimistic),
  );
  return {
    result: running.then(({ result }) => result),
    refreshed: running.then(({ refreshed }) => refreshed),
  };
}

/**
 * Returns functions that change records. Updates and deletions are shown at once, and taken back if the server refuses them. Afterwards, the lists
 * and records of the resource that are on the page are loaded again, unless they are live.
 *
 * @example
 * const { update, error } = useMutation(client.tickets);
 * <button onClick={() => update(ticket.id, { status: 'closed' }, { ifMatch: ticket })}>Close</button>
 */
export function useMutation(resource: UntypedResource, options?: UseMutationOptions): UntypedMutationResult;
export function useMutation<Api, Key extends keyof Api>(
  resource: TypedResource<Api, Key>,
  options?: UseMutationOptions,
): MutationResult<Api, Key>;
export function useMutation(
  resource: object,
  { optimistic = true, invalidates = NO_RESOURCES }: UseMutationOptions = {},
): object {
  const { queryClient } = useBelfry();
  const [state, setState] = useState(IDLE);
  const newest = useRef(0);
  const settings = useRef({ optimistic, invalidates });
  useEffect(() => {
    // Loaded before it is needed. If that fails, the first mutation tries again.
    loadMutate().catch(() => undefined);
  }, []);
  useEffect(() => {
    settings.current = { optimistic, invalidates };
  });

  const methods = useMemo(() => {
    function run(call: Pick<Mutation, 'op' | 'id' | 'data'>, options: WriteOptions = {}) {
      newest.current += 1;
      const number = newest.current;
      const { optimistic: isOptimistic, invalidates: others } = settings.current;
      const isLive = (hash: string) => getOrCreateLiveEntries(queryClient).get(hash)?.state.status === 'live';
      const mutation = { ...call, options, invalidates: others, isLive };
      const { result, refreshed } = start(queryClient, resource as AnyResource, mutation, isOptimistic);
      const { op, data } = call;
      const creating = op === 'create' ? [data!] : [];
      setState((before) => ({
        pending: before.pending + 1,
        error: null,
        creating: [...before.creating, ...creating],
      }));
      const settle = (error: ApiError | null) =>
        setState((before) => ({
          ...before,
          pending: before.pending - 1,
          error: number === newest.current ? error : before.error,
        }));
      const removeCreated = () =>
        setState((before) => ({ ...before, creating: before.creating.filter((one) => one !== data) }));
      // The state contains the error.
      result.then(
        () => {
          settle(null);
          if (op === 'create') void refreshed.then(removeCreated);
        },
        (error: ApiError) => {
          settle(error);
          if (op === 'create') removeCreated();
        },
      );
      return result;
    }
    return {
      create: (data: object) => run({ op: 'create', data }),
      update: (id: string, data: object, options?: WriteOptions) => run({ op: 'update', id, data }, options),
      remove: (id: string, options?: WriteOptions) => run({ op: 'delete', id }, options),
      restore: (id: string, options?: WriteOptions) => run({ op: 'restore', id }, options),
      reset: () => setState((before) => ({ ...before, error: null })),
    };
  }, [queryClient, resource]);

  return { ...methods, isPending: state.pending > 0, error: state.error, creating: state.creating };
}
