import type { ApiError } from '../request/errors.ts';

/** What a live list says about itself. */
export interface LiveListMeta {
  /** The number of records that the query finds; undefined with `count: 'none'`, and before the list is loaded. */
  readonly total: number | undefined;
  /** Whether there are more records than `total` counts. */
  readonly totalCapped: boolean;
  /** Whether changes of records that are not shown may have made `total` inexact. It is exact again after the next load. */
  readonly totalEstimated: boolean;
  /** Whether more records follow. */
  readonly hasMore: boolean;
}

/** The state of a live list at one moment. */
export interface LiveListSnapshot<Data> {
  /** The records. Those that have not changed are the same objects as before. */
  readonly data: readonly Data[];
  readonly meta: LiveListMeta;
  /** `reconnecting`: changes are missing until the connection is back. `closed`: by `close()`, or because of `error`. */
  readonly status: 'loading' | 'live' | 'reconnecting' | 'closed';
  /** Why the list could not be loaded or followed. With the status `loading` or `live`, it is tried again. */
  readonly error: ApiError | undefined;
}

/** The snapshot of a list that is being loaded. */
export const LOADING_SNAPSHOT: LiveListSnapshot<never> = {
  data: [],
  meta: { total: undefined, totalCapped: false, totalEstimated: false, hasMore: false },
  status: 'loading',
  error: undefined,
};
