import type { StandardSchema } from './standard-schema.ts';

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
