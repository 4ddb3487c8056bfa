import type { Request } from 'express';
import type { Viewer } from './viewer.ts';

/** On whose behalf a service acts. Without `user` it acts as the system: everything is validated, no policy is asked. */
export interface ActAs {
  /** Given as undefined (`{ user: ctx.user }` of a visitor), it acts as somebody who is not signed in. */
  user?: Viewer | undefined;
  /** The request behind the call: policy functions and scope filters see it, events carry its id. */
  req?: Request | undefined;
}

/** On whose behalf a record is changed. */
export interface ActAsOn extends ActAs {
  /** Only while its `updatedAt` is still this; else PRECONDITION_FAILED. */
  ifMatch?: string | undefined;
}

/** A list query, in the words of the query string: `{ status: 'draft', sort: '-createdAt', limit: 10 }`. */
export type ListInput = Record<string, string | number | boolean | undefined>;

/** What is told of a numbered page. */
export interface PageMeta {
  total: number;
  page: number;
  limit: number;
  pages: number;
  /** The cursor that goes on behind this page; absent on the last one. */
  next?: string;
}

/** What is told of a page behind a cursor, and of one that was asked for without the total. */
export interface CursorMeta {
  limit: number;
  /** What `after` takes to go on; null when there is no more. */
  next: string | null;
}

/** What is told of the answer to a list query: `after` and `count: 'none'` leave out the total. */
export type MetaOf<Q> = Q extends { after: string } | { count: 'none' } ? CursorMeta : PageMeta;

/** A page of records, as the query `Q` asked for it. */
export interface Page<R, Q = unknown> {
  data: R[];
  meta: MetaOf<Q>;
}

/** What a service does, by what it takes to create a record and to change one, and what records hold. */
export interface RecordService<Input, Changes, Data> {
  /** Validates and stores a record, emits `<resource>.created`. */
  create(input: Input, as?: ActAs): Promise<Data>;
  /** @throws ApiError NOT_FOUND when there is no such record or it is out of reach */
  read(id: string, as?: ActAs): Promise<Data>;
  list<const Q extends ListInput>(query?: Q, as?: ActAs): Promise<Page<Data, Q>>;
  /** Changes the given fields, emits `<resource>.updated`. */
  update(id: string, input: Changes, as?: ActAsOn): Promise<Data>;
  /** Removes a record, emits `<resource>.deleted`. Gives the record as it was. */
  delete(id: string, as?: ActAsOn): Promise<Data>;
}

// biome-ignore lint/suspicious/noExplicitAny: stands for the values of any resource
type AnyValues = Record<string, any>;

/** A service whose fields aren't known at compile time. */
export type AnyService = RecordService<AnyValues, AnyValues, AnyValues & { id: string }>;
