// What `GET /overview` responds with.
import type { RecordOption } from '../data/responses.ts';

/** A record with the time at which it was created, ISO 8601. */
export type NewestRecord = RecordOption & { createdAt: string };

/** What the overview says about a resource. Null: it could not be read. */
export interface ResourceState {
  name: string;
  /** `isMore`: counting stopped, and there are more. */
  records: { count: number; isMore: boolean } | null;
  newest: readonly NewestRecord[] | null;
}

/** Something that does not work. */
export interface Concern {
  level: 'error' | 'warning';
  /** Without a full stop. */
  message: string;
  /** The page on which one deals with it; null: its tab has none. */
  href: string | null;
}

export interface SignIn {
  user: RecordOption;
  at: string;
}

export interface Overview {
  resources: readonly ResourceState[];
  concerns: readonly Concern[];
  /** The labels of the tabs whose concerns could not be read. */
  unread: readonly string[];
  /** The newest sign-ins, from the audit trail; null: they could not be read. Left out in an app without one. */
  signIns?: readonly SignIn[] | null;
}
