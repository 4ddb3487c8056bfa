// What `GET /console/api/overview` responds with.

/** A record with the time at which it was created. */
export interface NewestRecord {
  id: string;
  label: string;
  createdAt: string;
}

/** What the overview says about a resource. Null: it could not be read. */
export interface ResourceState {
  name: string;
  records: { count: number; isMore: boolean } | null;
  newest: readonly NewestRecord[] | null;
}

/** Something that does not work. */
export interface Concern {
  level: 'error' | 'warning';
  /** Without a full stop. */
  message: string;
  /** The page on which one deals with it, if there is one. */
  href: string | null;
}

export interface SignIn {
  user: { id: string; label: string };
  at: string;
}

export interface Overview {
  resources: readonly ResourceState[];
  concerns: readonly Concern[];
  /** The labels of the tabs whose concerns could not be read. */
  unread: readonly string[];
  /** Left out in an app without an audit trail; null: they could not be read. */
  signIns?: readonly SignIn[] | null;
}
