import type { EventsOptions } from './realtime/event-iterator.ts';
import type { Realtime, SubscribeHandlers } from './realtime/index.ts';
import type { LiveListQuery } from './realtime/list-source.ts';
import type { RecordSubscription } from './realtime/record-change.ts';
import { type AggregateQuery, type AggregateResult, encodeAggregateQuery } from './records/aggregate.ts';
import {
  type BatchOperation,
  type BatchResult,
  encodeOperations,
  type RawResult,
  toBatchResult,
} from './records/batch.ts';
import { encodeListQuery, encodeSelection, type ListQuery, type RecordSelection } from './records/list-query.ts';
import { Page, type PageMeta } from './records/page.ts';
import type { UploadedFile, UploadOptions, UploadSource } from './records/upload.ts';
import { type IfMatch, rememberTag, toEntityTag } from './records/versions.ts';
import { encodeSegment } from './request/query-string.ts';
import type { ApiRequest, CallOptions, Requester } from './request/request.ts';
import { createRouteRequest, type RouteCall } from './request/route.ts';

/** The options of a write that depends on the version of the record. */
export interface WriteOptions extends CallOptions {
  /** The write fails with 412 `PRECONDITION_FAILED` if the record has changed since: a record as it was read, or an entity tag. */
  ifMatch?: IfMatch | undefined;
}

type LooseRecord = Record<string, unknown>;

/**
 * Creates the methods of a resource.
 *
 * @param path the path of the resource below `/api`: `/blog-posts`
 */
export function createResource(requester: Requester, realtime: Realtime, path: string) {
  const send = (request: Omit<ApiRequest, 'path'>, below = '') =>
    requester.send<unknown, unknown>({ ...request, path: path + below });
  const below = (id: string) => `/${encodeSegment(id, 'The id')}`;

  /** Sends a request whose response is a record. */
  async function sendForRecord(request: Omit<ApiRequest, 'path'>, belowPath = ''): Promise<LooseRecord> {
    const { data, headers } = await send(request, belowPath);
    rememberTag(data, headers);
    return data as LooseRecord;
  }

  const withIfMatch = ({ ifMatch, ...options }: WriteOptions = {}): CallOptions =>
    ifMatch === undefined ? options : { ...options, headers: { ...options.headers, 'If-Match': toEntityTag(ifMatch) } };

  async function list(query: ListQuery = {}, options: CallOptions = {}): Promise<Page<LooseRecord>> {
    const { data, meta } = await send({ ...options, method: 'GET', query: encodeListQuery(query) });
    const { page: _, ...rest } = query;
    return new Page(data as LooseRecord[], meta as PageMeta, (after) => list({ ...rest, after }, options));
  }

  async function* each(query: ListQuery = {}, options: CallOptions = {}): AsyncGenerator<LooseRecord, void, undefined> {
    let page: Page<LooseRecord> | undefined = await list({ count: 'none', ...query }, options);
    while (page !== undefined) {
      yield* page.data;
      page = await page.next();
    }
  }

  async function batch(
    operations: readonly BatchOperation[],
    { mode, ...options }: CallOptions & { mode?: 'atomic' | 'perItem' | undefined } = {},
  ): Promise<BatchResult<unknown>[]> {
    const json = { mode, operations: encodeOperations(operations) };
    const { data, headers } = await send({ ...options, method: 'POST', json, retry: 'safe' }, '/batch');
    const requestId = headers.get('x-request-id') ?? undefined;
    return (data as RawResult[]).map((result) => toBatchResult(result, requestId));
  }

  async function upsert(by: string, data: object, options: CallOptions = {}): Promise<LooseRecord> {
    const [result] = await batch([{ op: 'upsert', by, data }], { ...options, mode: 'perItem' });
    if (!result!.ok) throw result!.error;
    return result!.data as LooseRecord;
  }

  return {
    path,
    list,
    each,
    batch,
    upsert,
    async get(id: string, selection: RecordSelection = {}, options: CallOptions = {}): Promise<LooseRecord> {
      return sendForRecord({ ...options, method: 'GET', query: encodeSelection(selection) }, below(id));
    },
    async first(query: ListQuery = {}, options: CallOptions = {}): Promise<LooseRecord | undefined> {
      const { data } = await list({ count: 'none', ...query, limit: 1 }, options);
      return data[0];
    },
    create: (data: object, options: CallOptions = {}) =>
      sendForRecord({ ...options, method: 'POST', json: data, retry: 'safe' }),
    async update(id: string, changes: object, options: WriteOptions = {}): Promise<LooseRecord> {
      const retry = options.ifMatch === undefined ? 'never' : 'safe';
      return sendForRecord({ ...withIfMatch(options), method: 'PATCH', json: changes, retry }, below(id));
    },
    async delete(id: string, options: WriteOptions = {}): Promise<void> {
      await send({ ...withIfMatch(options), method: 'DELETE' }, below(id));
    },
    async restore(id: string, options: WriteOptions = {}): Promise<LooseRecord> {
      return sendForRecord({ ...withIfMatch(options), method: 'POST' }, `${below(id)}/restore`);
    },
    async aggregate(query: AggregateQuery = {}, options: CallOptions = {}): Promise<AggregateResult> {
      const { data, meta } = await send(
        { ...options, method: 'GET', query: encodeAggregateQuery(query) },
        '/aggregate',
      );
      return { data, meta } as AggregateResult;
    },
    async upload(field: string, file: UploadSource, options: UploadOptions = {}): Promise<UploadedFile> {
      const { uploadFile } = await import('./records/upload-file.ts');
      return uploadFile(requester, `${path}.${field}`, file, options);
    },
    async call(name: string, options: RouteCall = {}): Promise<unknown> {
      const { data } = await requester.send(createRouteRequest(path, name, options));
      return data;
    },
    subscribe: (subscription: RecordSubscription, handlers: SubscribeHandlers<LooseRecord>) =>
      realtime.subscribe(path, subscription, handlers),
    events: (subscription?: EventsOptions, options?: EventsOptions) =>
      realtime.events<LooseRecord>(path, subscription, options),
    liveList: (query?: LiveListQuery) => realtime.liveList<LooseRecord>(path, query),
  };
}
