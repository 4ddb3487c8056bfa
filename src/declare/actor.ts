import type { Request } from 'express';

/**
 * The organisations to which a viewer's request is limited. A symbol, because a string key would be a field of the viewer and part of its
 * JSON.
 */
export const ORGANISATION_CHOICE = Symbol('organisation choice');

/** The organisations to which a request is limited. Both are ids or slugs, as the client wrote them, and apply together. */
export interface OrganisationChoice {
  /** The only organisation that the credential can reach, for an API key. */
  bound?: string | undefined;
  /** The current organisation: from the header `X-Organisation`, else the one that the session has chosen. */
  current?: string | undefined;
  /** Whether the request names the current organisation itself. */
  isNamed: boolean;
  /**
   * The role as which the organisation `bound` itself acts, such as with one of its API keys. Such a viewer is no user: `id` is the id of the
   * organisation, and there are no other fields. Left out: the viewer is a user.
   */
  role?: string | undefined;
}

/** The limit of a viewer's credential. Not a string key, like `ORGANISATION_CHOICE`. */
export const READ_LIMIT = Symbol('read limit');

/** Whether the credential of a viewer, such as an API key, has the scopes to read the records of a resource. */
export type ReadLimit = (resource: string) => boolean;

/** Copies a stored record with all its fields; a spread leaves out those that only some viewers see, such as roles. */
export const COPY = Symbol('copy');

/** The signed-in user as policies receive it: the stored record. */
export interface Viewer {
  id: string;
  roles?: readonly string[];
  readonly [ORGANISATION_CHOICE]?: OrganisationChoice;
  /** Left out: the credential is not limited, as a session is. */
  readonly [READ_LIMIT]?: ReadLimit | undefined;
  [COPY]?(): Viewer;
  [field: string]: unknown;
}

function changeViewer(
  viewer: Viewer,
  limits: Pick<Viewer, typeof ORGANISATION_CHOICE> | Pick<Viewer, typeof READ_LIMIT>,
): Viewer {
  return Object.assign(viewer[COPY]?.() ?? { ...viewer }, limits);
}

/** Returns the viewer with the organisations to which a request is limited. */
export function withOrganisationChoice(viewer: Viewer, choice: OrganisationChoice): Viewer {
  return changeViewer(viewer, { [ORGANISATION_CHOICE]: choice });
}

/**
 * The organisations that limit later work on behalf of the same request: the organisation of its credential, and the one that the request
 * names. An organisation that only the session has chosen does not limit later work.
 */
export function getLastingOrganisation(viewer: Viewer | undefined): OrganisationChoice | undefined {
  const { bound, current, isNamed = false, role } = viewer?.[ORGANISATION_CHOICE] ?? {};
  if (bound === undefined && !isNamed) return undefined;
  return { bound, current: isNamed ? current : undefined, isNamed, ...(role !== undefined && { role }) };
}

/**
 * Creates the viewer that is an organisation itself. It reads and changes the records of this organisation as a member with the role could,
 * and owns none.
 */
export function createOrganisationViewer(organisation: string, role: string): Viewer {
  return { id: organisation, [ORGANISATION_CHOICE]: { bound: organisation, isNamed: false, role } };
}

/** The role as which an organisation itself acts; undefined if the viewer is a user. */
export function getOrganisationRole(viewer: Viewer | undefined): string | undefined {
  return viewer?.[ORGANISATION_CHOICE]?.role;
}

/**
 * Returns the viewer without the limits of a request, for features that reach the records of all organisations of a user. An organisation itself
 * stays as it is.
 */
export function withoutOrganisationChoice(viewer: Viewer | undefined): Viewer | undefined {
  return viewer?.[ORGANISATION_CHOICE] === undefined || getOrganisationRole(viewer) !== undefined
    ? viewer
    : changeViewer(viewer, { [ORGANISATION_CHOICE]: undefined });
}

/** Returns the viewer with the limit of a credential, or without any. */
export function withReadLimit(viewer: Viewer, limit: ReadLimit | undefined): Viewer;
export function withReadLimit(viewer: Viewer | undefined, limit: ReadLimit | undefined): Viewer | undefined;
export function withReadLimit(viewer: Viewer | undefined, limit: ReadLimit | undefined): Viewer | undefined {
  return viewer?.[READ_LIMIT] === limit ? viewer : viewer && changeViewer(viewer, { [READ_LIMIT]: limit });
}

/**
 * The viewer of records that are reached through a relation. An API key without the scopes to read the resource sees what a signed-out
 * caller sees.
 */
export function viewerThroughRelation(viewer: Viewer | undefined, resource: string): Viewer | undefined {
  return viewer?.[READ_LIMIT]?.(resource) === false ? undefined : viewer;
}

/** Whether an account may be used: it is neither disabled nor being erased. Without a `status` field, every account may be used. */
export function isAccountActive({ status }: Readonly<Record<string, unknown>>): boolean {
  return status === undefined || status === 'active';
}

/** Whether a user has proved that they own their e-mail address. Only extensions find that out, so it is false in apps without them. */
export function isEmailVerified({ emailVerifiedAt }: Readonly<Record<string, unknown>>): boolean {
  return emailVerifiedAt !== undefined && emailVerifiedAt !== null;
}

/** The user and request on whose behalf code runs. Events and the audit trail record them, whatever the privilege of a call. */
export interface Actor {
  /** Undefined for a caller that is not signed in. */
  user: Viewer | undefined;
  /** The request that `user` sent. */
  req: Request | undefined;
  requestId: string | undefined;
}
