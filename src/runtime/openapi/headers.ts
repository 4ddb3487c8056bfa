import type { Components } from './components.ts';
import type { Json } from './json.ts';

const REQUEST_ID = {
  description: 'What this request is called in the log: the id that it came with, or a new one.',
  schema: { type: 'string' },
};
const ENTITY_TAG = {
  description: 'Names this state of the answer: send it back as `If-None-Match`, or as `If-Match` with a change.',
  schema: { type: 'string' },
};
const REPLAYED = { description: '`true`: this is the answer to an earlier request.', schema: { const: 'true' } };
const RETRY_AFTER = { description: 'Seconds after which it is worth trying again.', schema: { type: 'integer' } };
const LIMITS = {
  'RateLimit-Limit': { description: 'Requests in a window.', schema: { type: 'integer' } },
  'RateLimit-Remaining': { description: 'What is left of them.', schema: { type: 'integer' } },
  'RateLimit-Reset': { description: 'Seconds until the window ends.', schema: { type: 'integer' } },
};

function put(name: string, header: Json, components: Components): Json {
  return { [name]: components.named('headers', name.replaceAll('-', ''), header) };
}

/** The headers of every answer with a status. */
export function answerHeaders(status: number, components: Components): Json {
  const later = status === 202 || status === 429 || status === 503;
  return {
    ...put('X-Request-Id', REQUEST_ID, components),
    ...(later ? put('Retry-After', RETRY_AFTER, components) : {}),
  };
}

/** The headers that say how much is left of a rate limit. */
export function limitHeaders(components: Components): Json {
  return Object.assign({}, ...Object.entries(LIMITS).map(([name, header]) => put(name, header, components)));
}

/** The header of an answer that has an entity tag. */
export function tagHeader(components: Components): Json {
  return put('ETag', ENTITY_TAG, components);
}

/** The header that marks a repeated answer. */
export function replayedHeader(components: Components): Json {
  return put('Idempotency-Replayed', REPLAYED, components);
}
