import { encodeSegment } from './query-string.ts';
import type { ApiRequest, CallOptions, QueryParameters } from './request.ts';

/** The arguments of a custom route. */
export interface RouteCall extends CallOptions {
  /** The values of the parameters in the path. */
  params?: Readonly<Record<string, string | number>> | undefined;
  query?: QueryParameters | undefined;
  /** The body, sent as JSON. */
  input?: unknown;
  /** `safe`: the request may be sent again after a network error, a 429 or a 503. Default: `safe` for GET, else `never`. */
  retry?: 'safe' | 'never' | undefined;
}

/**
 * Creates the request for a custom route.
 *
 * @param path the path of the resource
 * @param name the method and the path of the route, as they are declared: `POST /:id/publish`
 * @throws TypeError for a malformed name, and for a missing or unsuitable parameter
 */
export function createRouteRequest(
  path: string,
  name: string,
  { params = {}, input, ...options }: RouteCall,
): ApiRequest {
  const [, method, pattern] = /^(GET|POST|PUT|PATCH|DELETE) (\/.*)$/.exec(name) ?? [];
  if (method === undefined || pattern === undefined)
    throw new TypeError(`"${name}" must be a method and a path, such as "POST /:id/publish"`);
  const below = pattern.replace(/:(\w+)/g, (_, parameter: string) =>
    encodeSegment(params[parameter], `The parameter "${parameter}"`),
  );
  return {
    ...options,
    method: method as ApiRequest['method'],
    path: path + (below === '/' ? '' : below),
    json: input,
  };
}
