import type { StandardSchema } from '../platform/helpers/standard-schema.ts';
import type { Viewer } from './policy.ts';
import type { AnyResource } from './resource.ts';

/** Changes of records, as the second word of event names. */
const RECORD_ACTIONS = ['created', 'updated', 'deleted', 'restored'] as const;

/** The actions for which a resource emits events. All lists of event names are built from this function. */
export function emittedActionsOf({ softDelete }: AnyResource): readonly RecordAction[] {
  return softDelete ? RECORD_ACTIONS : RECORD_ACTIONS.filter((action) => action !== 'restored');
}

/** A kind of record change. */
export type RecordAction = (typeof RECORD_ACTIONS)[number];

/** The payload for listeners of `<resource>.<action>`, which run after the commit. */
export interface RecordEvent<Name extends string, Action extends RecordAction, Data> {
  resource: Name;
  action: Action;
  /** The record after the change; for a deletion, the record as it was before. */
  record: Data;
  /** The record before an update. */
  previous: Action extends 'updated' ? Data : undefined;
  /** The user who made the change; undefined for the system and for callers that are not signed in. */
  user: Viewer | undefined;
  requestId: string | undefined;
}

/** Events of accounts, push and the built-in extensions. */
export type PlatformEventName = `${'auth' | 'security' | 'webhook' | 'push'}.${string}`;

/** An event that an extension posts to the endpoints that users have registered, as the OpenAPI document describes it. */
export interface SentEvent {
  /** Example: `post.created`. */
  name: string;
  summary: string;
  /** The request's headers with their descriptions. */
  headers: Readonly<Record<string, string>>;
  /** The schema of the event's data. */
  data: StandardSchema;
  /** The JSON Schema of the request's body, built around the schema of the data. */
  body(data: object): object;
  tags: readonly string[];
}
