// The public API of `belfry/client`.
export { type Client, type ClientMembers, type ClientOptions, createClient, type ResourceClient } from './client.ts';
export { ApiError, type ApiErrorOptions, type ClientErrorCode } from './errors.ts';
export type { AggregateQuery, AggregateResult } from './records/aggregate.ts';
export type { BatchFailure, BatchOperation, BatchResult, BatchSuccess } from './records/batch.ts';
export type { Condition, ListQuery, ListSelection, RecordSelection, Where } from './records/list-query.ts';
export type { Page, PageMeta } from './records/page.ts';
export type { WriteOptions } from './records/resource.ts';
export type { RouteCall } from './records/route.ts';
export type { IfMatch } from './records/versions.ts';
export type { ApiRequest, ApiResponse, CallOptions, QueryParameters, Requester, TokenSource } from './request.ts';
export type { Changing, RequestOptions } from './requester.ts';
