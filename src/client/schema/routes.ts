import type { RecordMark } from '../../declare/route.ts';
import type { CallOptions } from '../request.ts';
import type { ClientRecord } from './record.ts';
import type { Member, RouteSchema } from './schema.ts';

/** The names of the parameters in a path: `id` of `/:id/publish`. */
type ParamsOf<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamsOf<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

type Calls<Routes> = Routes extends readonly (infer One)[]
  ? One extends { readonly $call?: infer Call }
    ? Extract<NonNullable<Call>, { name: string; input: unknown; query: unknown; output: unknown }>
    : never
  : never;

/** A response as JSON, whose records are marked by the keys of their resources. `Keys`: the keys by the names of resources. */
type Sent<Data, Keys> =
  Data extends RecordMark<infer Name>
    ? RecordMark<Name extends keyof Keys ? Keys[Name] & string : string>
    : Data extends Date
      ? string
      : Data extends object
        ? { [K in keyof Data]: Sent<Data[K], Keys> }
        : Data;

/** The custom routes of a resource, by name. Routes that the compiler does not know are left out. */
export type InferredRoutes<Facts, Keys> = Facts extends { routes: infer Routes }
  ? {
      [Call in Calls<Routes> as Call['name']]: {
        params: ParamsOf<Call['name']>;
        input: Call['input'];
        query: Call['query'];
        output: Sent<Call['output'], Keys>;
      };
    }
  : Record<never, never>;

/** A response with its marks replaced by records. */
type Received<Api, Data> =
  Data extends RecordMark<infer Key>
    ? Key extends keyof Api
      ? ClientRecord<Api, Key>
      : { id: string; [field: string]: unknown }
    : Data extends object
      ? { [K in keyof Data]: Received<Api, Data[K]> }
      : Data;

/** An option of a call: it can be left out if undefined is a value of it. */
type Option<Name extends string, Value> = undefined extends Value
  ? { [N in Name]?: Value | undefined }
  : { [N in Name]: Value };

type Arguments<Route extends RouteSchema> = ([Route['params']] extends [never]
  ? { params?: undefined }
  : { params: { readonly [P in Route['params']]: string | number } }) &
  Option<'input', Route['input']> &
  Option<'query', Route['query']> &
  CallOptions & {
    /** `safe`: the request may be sent again after a network error, a 429 or a 503. Default: `safe` for GET, else `never`. */
    retry?: 'safe' | 'never' | undefined;
  };

/** The arguments of a call whose route is not known. */
export interface UnknownRouteCall extends CallOptions {
  params?: Readonly<Record<string, string | number>> | undefined;
  query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  input?: unknown;
  retry?: 'safe' | 'never' | undefined;
}

type RoutesOf<Api, Key extends keyof Api> = Member<Api[Key], 'routes', Record<never, never>>;

type CallKnownRoute<Api, Routes> = <const Name extends keyof Routes>(
  name: Name,
  ...options: Record<never, never> extends Arguments<Routes[Name] & RouteSchema>
    ? [options?: Arguments<Routes[Name] & RouteSchema>]
    : [options: Arguments<Routes[Name] & RouteSchema>]
) => Promise<Received<Api, Member<Routes[Name], 'output', unknown>>>;

type CallAnyRoute = (
  name: `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`,
  options?: UnknownRouteCall,
) => Promise<unknown>;

/** Calls custom routes by name: those that the types know, with types; if they know none, every route. */
export type CallRoute<Api, Key extends keyof Api> = keyof RoutesOf<Api, Key> extends never
  ? CallAnyRoute
  : CallKnownRoute<Api, RoutesOf<Api, Key>>;
