import { ApiError, parseQueryString } from '../../../extension/index.ts';
import { isEntryId } from '../events/entry.ts';

/** A subscription in a request. */
export interface RequestedSubscription {
  text: string;
  /** The name of the resource, as the client wrote it, or as found by its path; undefined if no resource has the path. */
  resource: string | undefined;
  /** The id of the record, for a subscription to a single record. */
  id: string | undefined;
  filters: Readonly<Record<string, unknown>>;
}

/** A validated request for a stream. */
export interface StreamRequest {
  subscriptions: RequestedSubscription[];
  ticket: string | undefined;
  /** The id of the last event that the client got. A malformed id counts as older than all events. */
  after: string | undefined;
}

const MAX_LENGTH = 4000;
const OLDEST_ID = '0-0';

function readSingleParameter(name: string, value: unknown): string | undefined {
  if (value === undefined || typeof value === 'string') return value;
  throw new ApiError('BAD_REQUEST', `The query parameter "${name}" must be given once`);
}

/** The names of the resources that clients can list or read, by their path: `/shop/articles`. */
export type ResourcePaths = ReadonlyMap<string, string>;

/** Finds the resource and the record id in `/posts` or `/posts/<id>`. The path of a resource may contain further slashes. */
function parsePath(path: string, paths: ResourcePaths): Pick<RequestedSubscription, 'resource' | 'id'> {
  const resource = paths.get(path);
  if (resource !== undefined) return { resource, id: undefined };
  const slash = path.lastIndexOf('/');
  return { resource: paths.get(path.slice(0, slash)), id: path.slice(slash + 1) };
}

function parseName(name: string): Pick<RequestedSubscription, 'resource' | 'id'> {
  const slash = name.indexOf('/');
  return slash === -1
    ? { resource: name, id: undefined }
    : { resource: name.slice(0, slash), id: name.slice(slash + 1) };
}

/** Parses `post`, `post/<id>` or `post?status=published`, or the same with the path of the resource: `/posts`. */
function parseSubscription(text: string, paths: ResourcePaths): RequestedSubscription {
  if (text.length > MAX_LENGTH)
    throw new ApiError('BAD_REQUEST', `A subscription can have at most ${MAX_LENGTH} characters`);
  const end = text.indexOf('?');
  const target = end === -1 ? text : text.slice(0, end);
  return {
    text,
    ...(target.startsWith('/') ? parsePath(target, paths) : parseName(target)),
    filters: end === -1 ? {} : parseQueryString(text.slice(end + 1)),
  };
}

/** The raw query of a stream. */
type StreamQuery = Readonly<Record<string, unknown>>;

/**
 * Parses the subscriptions in the query of a stream: `subscribe`, once for each. Filters are part of the subscription or, if there is only
 * one, may be query parameters of their own.
 *
 * @throws ApiError BAD_REQUEST naming the parameter
 */
export function readSubscriptions(
  query: StreamQuery,
  maxSubscriptions: number,
  paths: ResourcePaths,
): RequestedSubscription[] {
  const { subscribe, ticket: _ticket, lastEventId: _lastEventId, ...filters } = query;
  const texts = [...new Set(Array.isArray(subscribe) ? subscribe : [subscribe ?? []])].flat() as string[];
  if (texts.length === 0) {
    throw new ApiError(
      'BAD_REQUEST',
      'The query parameter "subscribe" is missing; use /posts, /posts/<id> or /posts?field=value',
    );
  }
  if (texts.length > maxSubscriptions)
    throw new ApiError('BAD_REQUEST', `A stream can have at most ${maxSubscriptions} subscriptions`);
  const subscriptions = texts.map((text) => parseSubscription(text, paths));
  const [extra] = Object.keys(filters);
  if (extra !== undefined) {
    const [only] = subscriptions;
    if (subscriptions.length > 1 || Object.keys(only!.filters).length > 0) {
      const message = `The query parameter "${extra.slice(0, 100).toWellFormed()}" belongs to no subscription; append it to one: subscribe=/posts%3Ffield%3Dvalue`;
      throw new ApiError('BAD_REQUEST', message);
    }
    subscriptions[0] = { ...only!, filters };
  }
  return subscriptions;
}

/**
 * Parses the query of a stream: its subscriptions, `ticket` and `lastEventId`.
 *
 * @param lastEventId the header `Last-Event-ID`, which takes precedence over the parameter
 * @throws ApiError BAD_REQUEST naming the parameter
 */
export function readStreamRequest(
  query: StreamQuery,
  lastEventId: string | undefined,
  maxSubscriptions: number,
  paths: ResourcePaths,
): StreamRequest {
  const subscriptions = readSubscriptions(query, maxSubscriptions, paths);
  const after = lastEventId ?? readSingleParameter('lastEventId', query.lastEventId);
  return {
    subscriptions,
    ticket: readSingleParameter('ticket', query.ticket),
    after: after === undefined || after === '' ? undefined : isEntryId(after) ? after : OLDEST_ID,
  };
}
