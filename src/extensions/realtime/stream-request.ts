import { ApiError } from '../../platform/errors.ts';
import { parseQueryString } from '../../platform/http/query-string.ts';
import { isEntryId } from './entry.ts';

/** A subscription as a client asks for it. */
export interface RequestedSubscription {
  text: string;
  resource: string;
  /** Of a single record. */
  id: string | undefined;
  filters: Readonly<Record<string, unknown>>;
}

/** What a client asks for. */
export interface StreamRequest {
  subscriptions: RequestedSubscription[];
  ticket: string | undefined;
  /** The id of the last event that it got; one that cannot be any event's is older than all. */
  after: string | undefined;
}

const LONGEST = 4000;
const OLDER_THAN_ALL = '0-0';

function textOf(name: string, value: unknown): string | undefined {
  if (value === undefined || typeof value === 'string') return value;
  throw new ApiError('BAD_REQUEST', `The query parameter "${name}" must be given once`);
}

/** `post`, `post/<id>`, `post?status=published`. */
function parseSubscription(text: string): RequestedSubscription {
  if (text.length > LONGEST) throw new ApiError('BAD_REQUEST', `A subscription has at most ${LONGEST} characters`);
  const end = text.indexOf('?');
  const path = end === -1 ? text : text.slice(0, end);
  const slash = path.indexOf('/');
  return {
    text,
    resource: slash === -1 ? path : path.slice(0, slash),
    id: slash === -1 ? undefined : path.slice(slash + 1),
    filters: end === -1 ? {} : parseQueryString(text.slice(end + 1)),
  };
}

/**
 * Reads what a client asks for: `subscribe`, once for each subscription, `ticket` and `lastEventId`. Filters stand behind the
 * subscription, or, where there is only one, beside it.
 *
 * @param query as it came
 * @param lastEventId the header `Last-Event-ID`, which goes before the parameter
 * @throws ApiError BAD_REQUEST naming the parameter
 */
export function readStreamRequest(
  query: Readonly<Record<string, unknown>>,
  lastEventId: string | undefined,
  most: number,
): StreamRequest {
  const { subscribe, ticket, lastEventId: given, ...filters } = query;
  const texts = [...new Set(Array.isArray(subscribe) ? subscribe : [subscribe ?? []])].flat() as string[];
  if (texts.length === 0) {
    throw new ApiError(
      'BAD_REQUEST',
      'The query parameter "subscribe" is missing; give it as post, post/<id> or post?field=value',
    );
  }
  if (texts.length > most) throw new ApiError('BAD_REQUEST', `A stream has at most ${most} subscriptions`);
  const subscriptions = texts.map(parseSubscription);
  const [beside] = Object.keys(filters);
  if (beside !== undefined) {
    const [only] = subscriptions;
    if (subscriptions.length > 1 || Object.keys(only!.filters).length > 0) {
      const message = `The query parameter "${beside.slice(0, 100).toWellFormed()}" belongs to no subscription; write it behind one: subscribe=post%3Ffield%3Dvalue`;
      throw new ApiError('BAD_REQUEST', message);
    }
    subscriptions[0] = { ...only!, filters };
  }
  const after = lastEventId ?? textOf('lastEventId', given);
  return {
    subscriptions,
    ticket: textOf('ticket', ticket),
    after: after === undefined || after === '' ? undefined : isEntryId(after) ? after : OLDER_THAN_ALL,
  };
}
