export type { ApiRequest, ApiResponse, CallOptions, QueryParameters, Requester, TokenSource } from './request.ts';
