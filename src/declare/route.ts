import type { Request, RequestHandler, Response } from 'express';
import type { z } from 'zod';
import type { ErrorCode } from '../platform/errors.ts';
import type { LimitRule } from '../platform/limits/rule.ts';
import type { Logger } from '../platform/log.ts';
import type { Policy, Viewer } from './policy.ts';
import type { PushSender } from './push.ts';
import type { Services } from './service.ts';
import type { StandardSchema } from './standard-schema.ts';
import type { Transact } from './transaction.ts';

/** How a request is signed in. `id` is that of the session or key; a session has scopes `['*']`. A key without scopes may do nothing. */
export interface Auth {
  via: 'session' | 'api-key';
  scopes: readonly string[];
  id: string;
}

/**
 * What a handler of a custom route, or a hook, gives. Not `unknown`: what may be anything the compiler does not ask for, and so
 * the function can use declarations that are made with it, the one that it stands in among them.
 */
// biome-ignore lint/suspicious/noExplicitAny: see above
export type Anything = any;

/** A query string as it came: flat, with null prototype; a repeated parameter is an array. */
export type RawQuery = Record<string, string | string[]>;

/** What every handler gets, built in or custom. */
// biome-ignore lint/suspicious/noExplicitAny: handlers are written against their own input and record
export interface RouteContext<Input = any, Doc = any, Query = RawQuery> {
  user: Viewer | undefined;
  auth: Auth | undefined;
  /**
   * The body after `input` has checked it. Without an `input`: the JSON body as it came, or what the route's middleware has left in
   * `req.body`; undefined when there is neither.
   */
  input: Input;
  /** The JSON body as it came, of a route that takes one. */
  body: unknown;
  params: Record<string, string>;
  /** The query string after `query` has checked it; as it came where the route declares none. */
  query: Query;
  /** The stored record of a custom route with `:id`, or what the route's `load` gave; else undefined. */
  doc: Doc;
  req: Request;
  res: Response;
  /** The service of a resource, as the system unless a call says otherwise. */
  service: Services;
  /** Changes of several records, all or nothing. */
  transaction: Transact;
  push: PushSender;
  log: Logger;
}

/** What is known of a request before its body is read. */
export type Asking = Pick<RouteContext, 'user' | 'auth' | 'params' | 'req' | 'service'>;

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The one shape of everything that has a route. */
export interface Route {
  method: HttpMethod;
  /** Below `/api` (that of a page is whole), express style: `/posts/:id/publish`. */
  path: string;
  /** Default `authenticated`. */
  policy?: Policy | undefined;
  /** `handler`: the handler authorizes the request itself, by the policy. */
  authorize?: 'handler';
  /** Checks the body; its output is `ctx.input`. A route without it does not read the body, unless `body` says otherwise. */
  input?: StandardSchema;
  /** Checks the parameters of the query string; its output is `ctx.query`. Without it the handler gets what came. */
  query?: StandardSchema;
  /**
   * `json`: the handler checks `ctx.body` itself. `any`: a JSON body is parsed unless middleware has read it; other bodies are not read.
   * `raw`: no body is read; the handler reads `ctx.req`. Default: no body is read.
   */
  body?: 'json' | 'any' | 'raw';
  /** The shape of a body that the handler checks itself, for the OpenAPI document. */
  bodyShape?: z.ZodType;
  /** The query parameters that the handler checks itself, for the OpenAPI document. */
  queryShape?: z.ZodObject;
  /** The shape of `data` in the answer, for the OpenAPI document. */
  output?: z.ZodType;
  /** The answer is a stream of server-sent events, which the handler writes. */
  eventStream?: boolean;
  /** The answer has `meta` with `limit` and `next`, for the OpenAPI document. */
  paged?: boolean;
  /** The answer may be 202, as long as what was asked for is not there, for the OpenAPI document. */
  pending?: boolean;
  /** The answer is a file of this media type, which the handler sends itself, for the OpenAPI document. */
  file?: string;
  /** The errors that the handler itself throws, for the OpenAPI document. Left out: it may throw any. */
  errors?: readonly ErrorCode[];
  /** Status of an answer with a value, which 204, 205 and 304 leave out. Default 200; an answer without a value is 204. */
  status?: number;
  /** Name of the operation in the OpenAPI document, and so of a client's method. Default: made from method and path. */
  operationId?: string;
  summary?: string;
  description?: string;
  tags?: readonly string[];
  middleware?: readonly RequestHandler[];
  /** Of each client on this route, on top of the global limit. `auth`: the setting `rateLimit.auth`. */
  rateLimit?: LimitRule | 'auth';
  /**
   * Of a POST: repeated with the same `Idempotency-Key`, it is carried out once. `create`: it makes a record with the id that
   * is reserved for the request.
   */
  idempotent?: boolean | 'create';
  /** An API key needs this scope. */
  scope?: string;
  /** Left out of the OpenAPI document. */
  hidden?: boolean;
  /**
   * Finds what a path names, before the body is read and anything of it or of the query is checked: who may not know of it is
   * told so (NOT_FOUND), and not what is wrong with a body. Its result is `ctx.doc`. Not for routes of a `resource`.
   */
  load?: (asking: Asking) => Promise<unknown>;
  /** The resource whose `:id` record is loaded, checked against the policy and handed over as `doc`. */
  resource?: string;
  /** Which of the resource's CRUD actions it is. */
  crud?: 'list' | 'read' | 'create' | 'update' | 'delete';
  /** The route's own name in policy functions' `action`. */
  action?: string;
  /** Returns the response's `data`, in which stored records are serialized for the caller; undefined for 204. */
  handler: (ctx: RouteContext) => unknown;
}

/** Options of a custom route. */
export type RouteOptions = Pick<
  Route,
  | 'policy'
  | 'input'
  | 'query'
  | 'output'
  | 'errors'
  | 'status'
  | 'operationId'
  | 'summary'
  | 'description'
  | 'tags'
  | 'middleware'
  | 'rateLimit'
  | 'hidden'
  | 'scope'
> & {
  /** false: a POST is carried out each time it comes, whatever its `Idempotency-Key`. */
  idempotent?: boolean;
  /** `raw`: the body is not read, not even JSON; the handler reads `ctx.req`. */
  body?: 'raw';
};

/** A path with `:id` has a record. */
type DocOf<P extends string, D> = P extends `${string}/:id` | `${string}/:id/${string}` ? D : undefined;

/** Options of a route whose body, checked, is `I` and whose query string, checked, is `Q`. */
type TypedOptions<I, Q> = Omit<RouteOptions, 'input' | 'query'> & {
  input?: StandardSchema<I> | undefined;
  query?: StandardSchema<Q> | undefined;
};

interface AddRoute<D> {
  <const P extends string>(path: P, handler: (ctx: RouteContext<unknown, DocOf<P, D>>) => Anything): Route;
  <const P extends string, I = unknown, Q = RawQuery>(
    path: P,
    options: TypedOptions<I, Q>,
    handler: (ctx: RouteContext<I, DocOf<P, D>, Q>) => Anything,
  ): Route;
}

/** Makes custom routes of a resource, whose records are `D`; paths are below the resource's own. */
// biome-ignore lint/suspicious/noExplicitAny: stands for the records of any resource
export type RouteBuilder<D = any> = Record<'get' | 'post' | 'put' | 'patch' | 'delete', AddRoute<D>>;

/** Methods whose requests have bodies. */
const WITH_BODY: ReadonlySet<HttpMethod> = new Set(['POST', 'PUT', 'PATCH']);

/** A builder of routes below `base`, for the given resource. */
export function routeBuilder(base: string, resource: string): RouteBuilder {
  const add =
    // biome-ignore lint/suspicious/noExplicitAny: stands for the records of any resource
      (method: HttpMethod): AddRoute<any> =>
      (path: string, second: RouteOptions | Route['handler'], third?: Route['handler']) => {
        const options = typeof second === 'function' ? {} : second;
        const handler = typeof second === 'function' ? second : third!;
        const loads = /\/:id(\/|$)/.test(path);
        return {
          ...(method === 'POST' ? { idempotent: true } : {}),
          ...(WITH_BODY.has(method) && options.input === undefined ? { body: 'any' as const } : {}),
          ...options,
          method,
          path: base + (path === '/' ? '' : path),
          ...(loads ? { resource } : {}),
          handler,
        };
      };
  return { get: add('GET'), post: add('POST'), put: add('PUT'), patch: add('PATCH'), delete: add('DELETE') };
}
