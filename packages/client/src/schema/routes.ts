import type { RouteCall } from '../request/route.ts';
import type { RecordMark } from './declarations.ts';
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

/** The arguments of a call: those that the declaration of the route names are required. */
type CallOf<Route extends RouteSchema> = Omit<RouteCall, 'params' | 'input' | 'query'> &
  ([Route['params']] extends [never] ? unknown : { params: Readonly<Record<Route['params'], string | number>> }) &
  (undefined extends Route['input'] ? { input?: Route['input'] } : { input: Route['input'] }) &
  (unknown extends Route['query']
    ? Pick<RouteCall, 'query'>
    : Record<never, never> extends Route['query']
      ? { query?: Route['query'] }
      : { query: Route['query'] });

type RoutesOf<Api, Key extends keyof Api> = Member<Api[Key], 'routes', Record<never, never>>;

type CallKnownRoute<Api, Routes> = <const Name extends keyof Routes>(
  name: Name,
  ...options: Record<never, never> extends CallOf<Routes[Name] & RouteSchema>
    ? [options?: CallOf<Routes[Name] & RouteSchema>]
    : [options: CallOf<Routes[Name] & RouteSchema>]
) => Promise<Received<Api, Member<Routes[Name], 'output', unknown>>>;

type CallAnyRoute = (
  name: `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`,
  options?: RouteCall,
) => Promise<unknown>;

/** Calls custom routes by name: those that the types know, with types; if they know none, every route. */
export type CallRoute<Api, Key extends keyof Api> = keyof RoutesOf<Api, Key> extends never
  ? CallAnyRoute
  : CallKnownRoute<Api, RoutesOf<Api, Key>>;
