import type { Route } from '../../declare/route.ts';
import type { CompiledResource } from '../../records/schema/compiled.ts';
import { isItemPath, isTagged } from '../http/etag.ts';
import type { Components } from './components.ts';
import type { Json } from './json.ts';
import { ID_SCHEMA } from './scalars.ts';
import { shapeSchema } from './shape.ts';

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  description: 'Repeated with the same key and body within a day, the request is carried out once and answered alike.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};
const IF_MATCH = {
  name: 'If-Match',
  in: 'header',
  description: 'Entity tags, or `*`: goes ahead only while the record is in one of these states.',
  schema: { type: 'string' },
};
const IF_NONE_MATCH = {
  name: 'If-None-Match',
  in: 'header',
  description: 'Entity tags that you have: an answer that is still the same is 304, without a body.',
  schema: { type: 'string' },
};

/** Whether a route changes one record, which `If-Match` can guard. */
function isGuarded(route: Route): boolean {
  return route.method !== 'GET' && route.resource !== undefined && isItemPath(route.path);
}

/** Whether a route's answer can be a 304. */
export function isRevalidated(route: Route): boolean {
  return route.method === 'GET' && isTagged(route) && !route.eventStream && !route.pending && route.file === undefined;
}

/**
 * The parameters in a path of the document. `{id}` of a resource's route is the id of a record.
 *
 * @param path `/api/posts/{id}`
 */
export function pathParameters(path: string, resource: CompiledResource | undefined): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => {
    const isRecord = name === 'id' && resource !== undefined;
    return {
      name,
      in: 'path',
      required: true,
      ...(isRecord ? { description: `The id of a ${resource.name}.` } : {}),
      schema: isRecord ? ID_SCHEMA : { type: 'string', minLength: 1 },
    };
  });
}

/** The query parameters that a route declares. */
export function shapedParameters(route: Route, name: string, components: Components): Json[] {
  const shape = route.query ?? route.queryShape;
  if (shape === undefined) return [];
  const { properties = {}, required = [] } = shapeSchema(shape, 'input', name, components);
  return Object.entries(properties as Record<string, Json>).map(([parameter, { description, ...schema }]) => ({
    name: parameter,
    in: 'query',
    ...((required as string[]).includes(parameter) ? { required: true } : {}),
    ...(description === undefined ? {} : { description }),
    schema,
  }));
}

/** The headers by which a client can make a route's request conditional, or repeat it. */
export function headerParameters(route: Route, components: Components): Json[] {
  const put = (name: string, parameter: Json) => components.named('parameters', name, parameter);
  return [
    ...(isRevalidated(route) ? [put('IfNoneMatch', IF_NONE_MATCH)] : []),
    ...(isGuarded(route) ? [put('IfMatch', IF_MATCH)] : []),
    ...(route.idempotent ? [put('IdempotencyKey', IDEMPOTENCY_KEY)] : []),
  ];
}
