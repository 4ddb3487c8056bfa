/** The names of the parameters in a path: `id` of `/:id/publish`. */
type ParamsOf<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamsOf<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

interface CallOf<Name extends string = string> {
  name: Name;
  input: unknown;
  query: unknown;
  output: unknown;
}

type Calls<Routes> = Routes extends readonly (infer One)[]
  ? One extends { readonly $call?: infer Call }
    ? Extract<NonNullable<Call>, CallOf>
    : never
  : never;

/** The custom routes of a resource, by name. Routes that the compiler does not know are left out. */
export type InferredRoutes<Facts> = Facts extends { routes: infer Routes }
  ? {
      [Call in Calls<Routes> as Call['name']]: {
        params: ParamsOf<Call['name']>;
        input: Call['input'];
        query: Call['query'];
        output: Call['output'];
      };
    }
  : Record<never, never>;
