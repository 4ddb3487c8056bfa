import type { Viewer } from './policy.ts';
import type { AnyResource } from './resource.ts';
import type { StandardSchema } from './standard-schema.ts';

/** What happens to records, as the second word of an event's name. */
const RECORD_ACTIONS = ['created', 'updated', 'deleted', 'restored'] as const;

/** What happens to the records of a resource. Whatever lists events asks here. */
export function recordActions({ softDelete }: AnyResource): readonly RecordAction[] {
  return softDelete ? RECORD_ACTIONS : RECORD_ACTIONS.filter((action) => action !== 'restored');
}

/** One of them. */
export type RecordAction = (typeof RECORD_ACTIONS)[number];

/** What a listener of `<resource>.<action>` gets. Runs after the commit. */
export interface RecordEvent<Name extends string, Action extends RecordAction, Data> {
  resource: Name;
  action: Action;
  /** As it is now; of a deletion, as it was. */
  record: Data;
  /** As it was before an update. */
  previous: Action extends 'updated' ? Data : undefined;
  /** Who changed it; undefined for the system and for callers who are signed out. */
  user: Viewer | undefined;
  requestId: string | undefined;
}

/** Events of accounts, push and the extensions that come with the platform. */
export type PlatformEvent = `${'auth' | 'security' | 'webhook' | 'push'}.${string}`;

/** An event that is posted to the addresses that users have registered, as the OpenAPI document tells of it. */
export interface SentEvent {
  /** `post.created`. */
  name: string;
  summary: string;
  /** The request's headers, and what each says. */
  headers: Readonly<Record<string, string>>;
  /** What it tells. */
  data: StandardSchema;
  /** The JSON Schema of the request's body, around that of the data. */
  body(data: object): object;
  tags: readonly string[];
}
