import type { RecordMark } from '@belfry/client/declarations';
import type { Request, RequestHandler, Response } from 'express';
import { z } from 'zod';
import type { ErrorCode } from '../platform/helpers/errors.ts';
import type { StandardSchema } from '../platform/helpers/standard-schema.ts';
import type { Logger } from '../platform/observability/log.ts';
import type { LimitRule } from '../platform/work/limits/rule.ts';
import type { BinaryBody, BodyContent, MultipartBody } from './body.ts';
import type { Deprecation } from './deprecation.ts';
import type { Policy, Viewer } from './policy.ts';
import type { PushSender } from './push.ts';
import type { Senders } from './senders.ts';
import type { Services, Transact } from './service.ts';

/**
 * How a request is signed in. `id` is the id of the session, key or link; a session has scopes `['*']`. A key without scopes may do nothing.
 * A `portal` link can be used only with the routes of its feature, which decide what it may do.
 */
export interface Auth {
  via: 'session' | 'api-key' | 'portal';
  scopes: readonly string[];
  id: string;
  /** The id of an organisation. For a session, its default organisation; for a key, the only one that the key can reach. */
  organisation?: string | undefined;
  /** The role as which a credential of the organisation itself acts; left out if it belongs to a user. */
  organisationRole?: string | undefined;
}

/**
 * The return type of custom route handlers and of hooks. It is `any` instead of `unknown`, because the compiler then does not infer the
 * return type. The function can use declarations that depend on it, even the one that contains it.
 */
// biome-ignore lint/suspicious/noExplicitAny: see above
export type Anything = any;

/** The parameters of a list or a read of a resource inside the query of another route. */
export interface RecordQuery {
  resource: string;
  query: Readonly<Record<string, unknown>>;
}

/** A raw query string: flat, with null prototype; a repeated parameter is an array. */
type RawQuery = Record<string, string | string[]>;

/** The context of every handler, built in or custom. */
// biome-ignore lint/suspicious/noExplicitAny: handlers are written against their own input and record
export interface RouteContext<Input = any, Doc = any, Query = RawQuery> extends Senders {
  /** The caller; undefined if nobody is signed in. */
  user: Viewer | undefined;
  /** The session, API key or portal link of the caller. */
  auth: Auth | undefined;
  /**
   * The body, checked by `input`. Without an `input`: the raw JSON body, or the value that the route's middleware left in `req.body`.
   * Undefined if there is neither.
   */
  input: Input;
  /** The raw JSON body, or the content of a binary or multipart body, if the route accepts one. */
  body: unknown;
  /** The parameters of the path: `id` for `/:id`. */
  params: Record<string, string>;
  /** The query string, checked by `query`; the raw one if the route declares none. */
  query: Query;
  /** The stored record of a custom route with `:id`, or the result of the route's `load`; else undefined. */
  doc: Doc;
  req: Request;
  res: Response;
  /** The service of a resource, with system privilege unless a call says otherwise. */
  service: Services;
  /** Runs changes of several records in one transaction. */
  transaction: Transact;
  push: PushSender;
  log: Logger;
  /**
   * Signs the caller in again, checks the scope and the policy again, and loads `doc` again. Only for routes with `waits`.
   *
   * @returns the context as it is now
   * @throws ApiError if the request would be refused now
   */
  authorizeAgain?: () => Promise<RouteContext<Input, Doc, Query>>;
}

/** The request data that is available before the body is read. */
export type AuthorizationRequest = Pick<RouteContext, 'user' | 'auth' | 'params' | 'req' | 'service'>;

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The common type of all routes. */
export interface Route {
  method: HttpMethod;
  /** Below `/api` (a page has its full path), in express style: `/posts/:id/publish`. */
  path: string;
  /** Default `authenticated`. */
  policy?: Policy | undefined;
  /** `handler`: the handler authorizes the request itself, by the policy. */
  authorize?: 'handler';
  /** Checks the body; its output is `ctx.input`. A route without `input` does not read the body, unless `body` says otherwise. */
  input?: StandardSchema;
  /** Checks the parameters of the query string; its output is `ctx.query`. Without `query`, the handler gets the raw query. */
  query?: StandardSchema;
  /**
   * - `json`: the handler checks `ctx.body` itself.
   * - `any`: a JSON body is parsed unless middleware has read it; other bodies are not read.
   * - `raw`: no body is read; the handler reads `ctx.req`.
   * - an object: a body of bytes or a form with files, which `ctx.body` streams.
   *
   * Left out: no body is read, except for `input`.
   */
  body?: 'json' | 'any' | 'raw' | BinaryBody | MultipartBody;
  /** Maximum bytes of the body, after decompression. Default: the setting `http.bodyLimit`. */
  bodyLimit?: number;
  /** Whether the handler waits for something, for up to minutes. Before it returns data, it calls `ctx.authorizeAgain`. */
  waits?: boolean;
  /** The number of requests that a request with this body counts as, for rate limits. Default 1. */
  weight?: (body: unknown) => number;
  /** Other routes whose work a request can do. A credential also needs the scopes of those that `select` returns for the body. */
  performs?: { routes: readonly Route[]; select(body: unknown): readonly Route[] };
  /** Requests with another method are passed on to the routes whose paths also match, instead of being refused with 405. */
  passesOtherMethods?: boolean;
  /** Headers of the response to `OPTIONS` for the path, besides `Allow`. */
  optionsHeaders?: Readonly<Record<string, string>>;
  /**
   * Reads a body of the type multipart/form-data, which the route accepts as well as JSON. Its `values` are `ctx.body`; requests with equal
   * content have the same `fingerprint`. `discard` is called if the request ends before its handler runs.
   */
  form?: (
    request: AuthorizationRequest,
  ) => Promise<{ values: unknown; fingerprint: unknown; discard(): Promise<void> }>;
  /** The schema of that form, for the OpenAPI document. */
  formShape?: Readonly<Record<string, unknown>>;
  /** The schema of a body that the handler checks itself, for the OpenAPI document. */
  bodyShape?: z.ZodType;
  /** The query parameters that the handler checks itself, for the OpenAPI document. */
  queryShape?: z.ZodObject;
  /** The schema of `data` in the response, for the OpenAPI document. */
  output?: z.ZodType;
  /** The response is a stream of server-sent events, which the handler itself writes; for the OpenAPI document. */
  eventStream?: boolean;
  /** The response has `meta` with `limit` and `next`, for the OpenAPI document. */
  paged?: boolean;
  /** The route computes aggregates of `resource`, for the OpenAPI document. */
  aggregates?: boolean;
  /** The response may be 202 while the requested result is not ready, for the OpenAPI document. */
  pending?: boolean;
  /** The response is a file of this media type, sent by the handler itself, for the OpenAPI document. */
  file?: string;
  /** The errors that the handler itself throws, for the OpenAPI document. Left out: the handler may throw any error. */
  errors?: readonly ErrorCode[];
  /** The status of a response with a value; not 204, 205 or 304. Default 200; a response without a value is 204. */
  status?: number;
  /** The operation name in the OpenAPI document, and therefore the client's method name. Default: derived from method and path. */
  operationId?: string;
  summary?: string;
  description?: string;
  tags?: readonly string[];
  middleware?: readonly RequestHandler[];
  /** The limit per client on this route, in addition to the global limit. `auth`: the setting `rateLimit.auth`. */
  rateLimit?: LimitRule | 'auth';
  /**
   * For a POST: repeated requests with the same `Idempotency-Key` are carried out once. `create`: the request creates a record, with an id
   * that is reserved for the request.
   */
  idempotent?: boolean | 'create';
  /**
   * Requires a session whose user has signed in within the setting `auth.recentSignIn`, for sensitive actions. Other requests get
   * the error RECENT_SIGN_IN_REQUIRED.
   */
  recentSignIn?: boolean;
  /** The handler checks `If-Match` itself. Otherwise only routes of a single record of a resource accept it. */
  checksIfMatch?: boolean;
  /** The scope that an API key needs. */
  scope?: string;
  /**
   * API keys of an organisation may use the route, because it only concerns records of their organisation. Default: true for routes of records that
   * belong to organisations; else false.
   */
  organisationKeys?: boolean;
  /** Left out of the OpenAPI document. */
  hidden?: boolean;
  /** Responses announce that clients should stop using the route. It works as before. */
  deprecated?: Deprecation | undefined;
  /**
   * The queries of records in the query of this route, which are searched for deprecated fields. May throw the `ApiError` that the handler
   * would throw.
   */
  recordQueries?: (query: RawQuery) => readonly RecordQuery[];
  /**
   * Loads the object that the path names, before the body is read and before body and query are checked: a caller that may not know of the
   * object gets NOT_FOUND, not validation errors. The handler receives the result as `ctx.doc`. Not for routes with `resource`.
   */
  load?: (request: AuthorizationRequest) => Promise<unknown>;
  /** The resource whose `:id` record is loaded, checked against the policy and passed as `doc`. */
  resource?: string;
  /** The CRUD action of the resource that this route performs. */
  crud?: 'list' | 'read' | 'create' | 'update' | 'delete';
  /** The route's own action name, passed to policy functions as `action`. */
  action?: string;
  /** Returns the response's `data`, with stored records serialized for the caller; undefined for 204. */
  handler: (ctx: RouteContext) => unknown;
}

/** The options that custom routes share with other routes. */
const SHARED_ROUTE_OPTIONS = [
  'policy',
  'input',
  'query',
  'output',
  'errors',
  'status',
  'operationId',
  'summary',
  'description',
  'tags',
  'middleware',
  'rateLimit',
  'recentSignIn',
  'hidden',
  'scope',
  'organisationKeys',
  'deprecated',
] as const satisfies readonly (keyof Route)[];

/** The names of the options of a custom route. */
export const ROUTE_OPTIONS = [...SHARED_ROUTE_OPTIONS, 'idempotent', 'body'] as const;

/** Options of a custom route. */
type RouteOptions = Pick<Route, (typeof SHARED_ROUTE_OPTIONS)[number]> & {
  /** false: a POST is carried out every time, whatever its `Idempotency-Key`. */
  idempotent?: boolean;
  /**
   * `raw`: the body is not read, not even JSON; the handler reads `ctx.req`. An object declares a body of bytes or a form with files, which
   * `ctx.body` streams.
   */
  body?: 'raw' | BinaryBody | MultipartBody;
};

/** The type of `ctx.doc`: the record type `D` if the path has `:id`, else undefined. */
type DocOf<P extends string, D> = P extends `${string}/:id` | `${string}/:id/${string}` ? D : undefined;

/** The schemas of a route: the input and output types of body and query, and the type of the response. */
interface RouteTypes<I, Q, Body, Params, Data> {
  input?: StandardSchema<I, Body> | undefined;
  query?: StandardSchema<Q, Params> | undefined;
  output?: z.ZodType<Data>;
}

/** Options of a route whose checked body is `I` and whose checked query string is `Q`. */
type TypedOptions<I, Q, Body, Params, Data> = Omit<RouteOptions, 'input' | 'query' | 'output' | 'body'> &
  RouteTypes<I, Q, Body, Params, Data> & { body?: 'raw' };

/** Options of a route whose body is streamed. */
type StreamedOptions<B, Q, Params, Data> = Omit<RouteOptions, 'input' | 'query' | 'output' | 'body'> &
  Omit<RouteTypes<unknown, Q, unknown, Params, Data>, 'input'> & { body: B };

/**
 * A custom route, with what clients send and get: its name, such as `POST /:id/publish`, and the types of its body, query and response.
 * `unknown`: not declared.
 */
export interface TypedRoute<Name extends string, Body, Params, Data> extends Route {
  /** Type-level only. */
  readonly $call?: { name: Name; input: Body; query: Params; output: Data };
}

interface AddRoute<D, Method extends string> {
  <const P extends string>(
    path: P,
    handler: (ctx: RouteContext<unknown, DocOf<P, D>>) => Anything,
  ): TypedRoute<`${Method} ${P}`, unknown, unknown, unknown>;
  <const P extends string, I = unknown, Q = RawQuery, Body = unknown, Params = unknown, Data = unknown>(
    path: P,
    options: TypedOptions<I, Q, Body, Params, Data>,
    handler: (ctx: RouteContext<I, DocOf<P, D>, Q>) => Anything,
  ): TypedRoute<`${Method} ${P}`, Body, Params, Data>;
  <const P extends string, const B extends BinaryBody | MultipartBody, Q = RawQuery, Params = unknown, Data = unknown>(
    path: P,
    options: StreamedOptions<B, Q, Params, Data>,
    handler: (ctx: RouteContext<undefined, DocOf<P, D>, Q> & { body: BodyContent<B> }) => Anything,
  ): TypedRoute<`${Method} ${P}`, unknown, Params, Data>;
}

/** Creates custom routes of a resource with records of type `D`. Paths are below the resource's own. */
// biome-ignore lint/suspicious/noExplicitAny: stands for the records of any resource
export type RouteBuilder<D = any> = {
  [Method in 'get' | 'post' | 'put' | 'patch' | 'delete']: AddRoute<D, Uppercase<Method>>;
};

/** Methods whose requests have bodies. */
const WITH_BODY: ReadonlySet<HttpMethod> = new Set(['POST', 'PUT', 'PATCH']);

/** Creates a builder of routes below `base`, for the given resource. */
export function createRouteBuilder(base: string, resource: string): RouteBuilder {
  const createRouteFactory =
    // biome-ignore lint/suspicious/noExplicitAny: stands for the records and types of any route
      (method: HttpMethod): AddRoute<any, any> =>
      (path: string, second: RouteOptions | Route['handler'], third?: Route['handler']) => {
        const options = typeof second === 'function' ? {} : second;
        const handler = typeof second === 'function' ? second : third!;
        const hasRecord = /\/:id(\/|$)/.test(path);
        return {
          ...(method === 'POST' ? { idempotent: true } : {}),
          ...(WITH_BODY.has(method) && options.input === undefined ? { body: 'any' as const } : {}),
          ...options,
          method,
          path: base + (path === '/' ? '' : path),
          ...(hasRecord ? { resource } : {}),
          handler,
        };
      };
  return {
    get: createRouteFactory('GET'),
    post: createRouteFactory('POST'),
    put: createRouteFactory('PUT'),
    patch: createRouteFactory('PATCH'),
    delete: createRouteFactory('DELETE'),
  };
}

/** A representation of a resource's records. `register`: the body of a registration. */
export type RecordView = 'read' | 'create' | 'update' | 'register';

/** The resource and representation that a schema of `recordShape` stands for. */
export interface RecordShape {
  resource: string;
  view: RecordView;
}

/** Maps the schemas that `recordShape` returns to the resource and representation that they stand for. */
export const recordShapes = z.registry<RecordShape>();

/**
 * Returns a schema that stands for a record of a resource in the schema of a response or a body. It only describes the record: records are
 * validated and serialized by the declaration itself.
 *
 * @example output: z.object({ user: recordShape('user'), token: z.string() })
 */
export function recordShape<const N extends string>(resource: N, view: RecordView = 'read'): z.ZodType<RecordMark<N>> {
  return z.unknown().register(recordShapes, { resource, view }) as unknown as z.ZodType<RecordMark<N>>;
}
