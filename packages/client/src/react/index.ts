// The public API of `@belfry/client/react`. It has no 'use client', so that server components can use listOptions and recordOptions.
export { type ResourceKey, resourceKey } from './keys.ts';
export type { LiveStatus } from './live-feeds.ts';
export {
  type CachedList,
  type CachedPage,
  type CachedRecord,
  type ListOptions,
  listOptions,
  type RecordOptions,
  recordOptions,
} from './options.ts';
export { BelfryProvider, type BelfryProviderProps } from './provider.ts';
export type { AnyRecord, TypedResource, UntypedResource } from './resource.ts';
export { type SessionResult, useSession } from './use-client-state.ts';
export { type ListMeta, type ListResult, type UseListOptions, useList } from './use-list.ts';
export {
  type FieldMessages,
  type MutationError,
  type MutationResult,
  type MutationState,
  type UntypedMutationResult,
  type UseMutationOptions,
  useMutation,
} from './use-mutation.ts';
export { type RecordResult, type UseRecordOptions, useRecord } from './use-record.ts';
