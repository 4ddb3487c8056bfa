import { recordShapes } from '../../declare/record-shape.ts';
import type { Route } from '../../declare/route.ts';
import { isBodiless } from '../../platform/http/response.ts';
import { isTagged } from '../http/etag.ts';
import type { Components } from './components.ts';
import { answerHeaders, limitHeaders, replayedHeader, tagHeader } from './headers.ts';
import type { Json } from './json.ts';
import { isRevalidated } from './parameters.ts';
import { shapeSchema } from './shape.ts';

const LIST_META = {
  type: 'object',
  description: 'What is told of a page. `total`, `page` and `pages` are left out with `after` and with `count=none`.',
  properties: {
    total: { type: 'integer', description: 'Records in all pages.' },
    page: { type: 'integer' },
    limit: { type: 'integer', description: 'The most records that a page holds.' },
    pages: { type: 'integer' },
    next: { type: ['string', 'null'], description: 'What `after` takes to go on; absent or null on the last page.' },
    truncated: {
      const: true,
      description: 'The page holds fewer records than it could for want of room: go on with `next`. Absent otherwise.',
    },
  },
  required: ['limit'],
};

function envelope(route: Route, name: string, components: Components): Json {
  const data = route.output === undefined ? {} : shapeSchema(route.output, 'output', name, components);
  const meta = route.crud === 'list' || route.paged ? { meta: components.named('schemas', 'ListMeta', LIST_META) } : {};
  const properties = { data, ...meta };
  return { type: 'object', properties, required: Object.keys(properties) };
}

/** Whether the answer to a change holds a record, whose entity tag it then carries. */
function holdsRecord(route: Route): boolean {
  return isTagged(route) && route.output !== undefined && recordShapes.has(route.output);
}

/** The successes of a route by status. Without `output` a handler may answer with anything, or with nothing. */
export function successAnswers(
  route: Route,
  name: string,
  { limited, components }: { limited: boolean; components: Components },
): Json {
  const { status = 200, output } = route;
  const shared = {
    ...answerHeaders(200, components),
    ...(limited ? limitHeaders(components) : {}),
    ...(route.idempotent ? replayedHeader(components) : {}),
  };
  if (route.eventStream) {
    const content = { 'text/event-stream': { schema: { type: 'string' } } };
    return { [status]: { description: 'The stream, which stays open.', headers: shared, content } };
  }
  const tagged = isRevalidated(route) || holdsRecord(route) ? { ...shared, ...tagHeader(components) } : shared;
  const full = {
    description: status === 201 ? 'It is made.' : 'It is done.',
    headers: tagged,
    content:
      route.file === undefined
        ? { 'application/json': { schema: envelope(route, name, components) } }
        : { [route.file]: {} },
  };
  const nothing = { description: 'It is done; there is nothing to say.', headers: shared };
  if (isBodiless(status)) return { [status]: nothing };
  return {
    [status]: full,
    ...(route.pending
      ? {
          202: {
            ...full,
            description: 'It is not there yet: ask again.',
            headers: { ...shared, ...answerHeaders(202, components) },
          },
        }
      : {}),
    ...(output === undefined && route.file === undefined ? { 204: nothing } : {}),
    ...(isRevalidated(route) ? { 304: { description: 'You have this answer already.', headers: tagged } } : {}),
  };
}
