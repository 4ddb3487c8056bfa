import { type AuthOptions, type ClientAuth, createAuth } from './auth/index.ts';
import type { AuthUser } from './auth/session.ts';
import { withOrigin } from './origin.ts';
import { type ClientPush, createPush } from './push.ts';
import type { SessionSource } from './realtime/hub.ts';
import { createLazyRealtime } from './realtime/lazy.ts';
import type { ApiRequest, ApiResponse, Requester } from './request/request.ts';
import { createRequester, type RequestOptions } from './request/requester.ts';
import { createResource } from './resource.ts';
import type { ResourceMethods } from './resource-methods.ts';
import type { ApiOf } from './schema/infer.ts';
import type { ClientRecord } from './schema/record.ts';
import type { Member } from './schema/schema.ts';

/** The options of `createClient`. */
export interface ClientOptions extends RequestOptions, AuthOptions {
  /** The address of the app: `https://api.example.com`, or a path on the origin of the page. Default: the origin of the page. */
  url?: string | undefined;
  /**
   * The token of every request, such as an API key; a function returns the current one. Requests then do not use the session of
   * `client.auth`.
   */
  token?: string | (() => string | undefined | Promise<string | undefined>) | undefined;
}

/** The methods of an untyped resource. */
export type ResourceClient = ReturnType<typeof createResource>;

/** The user of a session, the fields of a registration, and those of a change of the profile. */
type UserOf<Api> = 'users' extends keyof Api
  ? ClientRecord<Api, 'users'> & AuthUser
  : AuthUser & Record<string, unknown>;
type RegistrationOf<Api> = 'users' extends keyof Api
  ? Extract<Member<Api['users'], 'create', never>, object>
  : Record<string, unknown>;
type ChangesOf<Api> = 'users' extends keyof Api
  ? Extract<Member<Api['users'], 'update', never>, object>
  : Record<string, unknown>;

/** The members of a client besides its resources. */
export interface ClientMembers<Api = unknown> {
  /** The address of the app. */
  readonly url: string;
  /** Sign-in, and the account of the signed-in user. */
  readonly auth: ClientAuth<UserOf<Api>, RegistrationOf<Api>, ChangesOf<Api>>;
  /** Push messages to the devices of the signed-in user. */
  readonly push: ClientPush;
  /**
   * Sends a request to any route of the app, with the token, the time-out and the retries of the client.
   *
   * @throws ApiError as `Requester.send`
   * @example const { data } = await client.request({ method: 'GET', path: '/reports/today' })
   */
  request<Data = unknown, Meta = unknown>(request: ApiRequest): Promise<ApiResponse<Data, Meta>>;
  /** Returns the methods of a resource by its path: `/blog-posts`. */
  resource(path: string): ResourceClient;
}

/**
 * A client of an app: `client.posts` has the methods of the resource at `/api/posts`.
 *
 * @typeParam A the app, a function that creates it, or an interface that `npx belfry types` wrote. Left out: any resource, without types
 * @example type AppClient = Client<typeof app>
 */
export type Client<A = unknown> =
  unknown extends ApiOf<A>
    ? ClientMembers & { readonly [resource: string]: ResourceClient }
    : ClientMembers<ApiOf<A>> & {
        readonly [Key in Exclude<keyof ApiOf<A>, keyof ClientMembers>]: ResourceMethods<ApiOf<A>, Key>;
      };

/** @throws TypeError for an address that requests cannot be sent to */
function normalizeUrl(given: string | undefined): string {
  const { origin = '' } = (globalThis as { location?: { origin?: string } }).location ?? {};
  const url = given === undefined || given.startsWith('/') ? origin + (given ?? '') : given;
  if (/^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/i.test(url)) return url.replace(/\/+$/, '');
  throw new TypeError(`url must be the address of the app, such as "https://api.example.com", not "${url}"`);
}

/** The path of the resource with a key: `blogPosts` → `/blog-posts`. Keys with a hyphen or slash are paths: `shop/articles`. */
function pathOf(key: string): string {
  if (key.startsWith('/')) return key;
  return `/${/[-/]/.test(key) ? key : key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** The token in the options takes the place of the session. */
function createTokenSource({ token }: ClientOptions, session: SessionSource): SessionSource {
  if (token === undefined) return session;
  return {
    getToken: () => (typeof token === 'function' ? token() : token),
    onTokenRefused: () => undefined,
  };
}

/**
 * Creates a client of an app. Nothing is sent yet.
 *
 * @throws TypeError for an invalid `url`
 * @example const client = createClient<typeof app>({ url: 'https://api.example.com' })
 */
export function createClient<A = unknown>(options: ClientOptions = {}): Client<A> {
  const url = normalizeUrl(options.url);
  const auth = createAuth({ ...options, url, requester: () => requester });
  const tokens = createTokenSource(options, auth);
  const requester: Requester = createRequester(url, tokens, options);
  const realtime = createLazyRealtime(requester, tokens);
  const origin = { url, auth: options.token === undefined ? auth : undefined };
  const resources = new Map<string, ResourceClient>();
  const resource = (path: string): ResourceClient => {
    const known = resources.get(path) ?? withOrigin(createResource(requester, realtime, path), origin);
    resources.set(path, known);
    return known;
  };
  const members: ClientMembers = {
    url,
    auth,
    push: createPush(requester),
    request: requester.send,
    resource: (path) => resource(pathOf(path)),
  };
  return new Proxy(withOrigin(members, origin), {
    // `then` must be missing, or `await client` would call it.
    get: (target, key) =>
      typeof key === 'symbol' || key === 'then' || key in target ? Reflect.get(target, key) : resource(pathOf(key)),
  }) as unknown as Client<A>;
}
