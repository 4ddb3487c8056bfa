import type { Request } from 'express';
import {
  ApiError,
  isId,
  ORGANISATION_CHOICE,
  type OrganisationChoice,
  type RecordFilter,
  type Services,
  type Viewer,
} from '../../../extension/index.ts';
import { isOperatorObject, isPlainObject } from '../../../records/query/comparison.ts';
import { hasGlobalAccess, type OrganisationRoles, type OrganisationSettings } from './settings.ts';
import { isSlug } from './slug.ts';

type Filter = Record<string, unknown>;

/** A filter that no record meets. */
const NOTHING: Filter = { id: { in: [] } };

/** How long a header that named an organisation of the caller is not looked up again, in ms. */
const NAMED_FRESH_MS = 60_000;
const MAX_NAMED = 10_000;

/** The organisation in which a request works, and the one that its credential is bound to. */
export function getOrganisationChoice(user: Viewer | undefined): OrganisationChoice | undefined {
  return user?.[ORGANISATION_CHOICE];
}

/** The error for an organisation that does not exist, or of which the caller is not a member: the two are indistinguishable. */
export function noOrganisationError(): ApiError {
  return new ApiError('NOT_FOUND', 'There is no such organisation, or you are not a member of it');
}

/**
 * The filter that a reference leads to certain organisations; undefined if no organisation can meet it.
 *
 * @param organisations ids or slugs, as a client wrote them; all must be the same organisation
 * @param field the reference; undefined for organisations themselves
 */
export function organisationFilter(
  organisations: readonly (string | undefined)[],
  field: string | undefined,
): Record<string, string> | undefined {
  const filter: Record<string, string> = {};
  for (const organisation of new Set(organisations)) {
    if (organisation === undefined) continue;
    const byId = isId(organisation);
    if (!byId && !isSlug(organisation)) return undefined;
    const key = byId ? (field ?? 'id') : field === undefined ? 'slug' : `${field}.slug`;
    if (Object.hasOwn(filter, key)) return undefined;
    filter[key] = organisation;
  }
  return filter;
}

/** Which records of organisations a viewer reaches. */
export interface OrganisationScope {
  /**
   * The filter of the records that a viewer reaches; undefined if they reach all. Membership is part of the filter, so that it is checked in the
   * same statement.
   *
   * @param field the reference to the organisation; undefined for organisations themselves
   * @param options `current`: whether the current organisation of the request narrows the records
   */
  filterFor(user: Viewer | undefined, field: string | undefined, options: { current: boolean }): Filter | undefined;
  /**
   * Checks that the organisation that a request names exists, and that the caller is a member of it.
   *
   * @returns undefined if the request names none, or if the caller was a member a moment ago
   * @throws ApiError NOT_FOUND
   */
  checkNamed(user: Viewer | undefined, req: Request | undefined, service: Services): Promise<void> | undefined;
}

/** Remembers which organisations requests have named, so that the next ones need no look-up. It decides only about the error. */
export interface NamedOrganisations {
  has(user: Viewer): boolean;
  add(user: Viewer): void;
  /** Forgets what a user has named; left out: what all users have named. */
  forget(userId?: string): void;
}

export function createNamedOrganisations(): NamedOrganisations {
  const until = new Map<string, number>();
  const createAccessKey = (user: Viewer) =>
    JSON.stringify([user.id, getOrganisationChoice(user)?.bound, getOrganisationChoice(user)?.current]);
  return {
    has(user) {
      const key = createAccessKey(user);
      if ((until.get(key) ?? 0) > performance.now()) return true;
      until.delete(key);
      return false;
    },
    add(user) {
      if (until.size >= MAX_NAMED) until.delete(until.keys().next().value!);
      until.set(createAccessKey(user), performance.now() + NAMED_FRESH_MS);
    },
    forget(userId) {
      const start = userId === undefined ? '' : `[${JSON.stringify(userId)},`;
      for (const key of until.keys()) if (key.startsWith(start)) until.delete(key);
    },
  };
}

/** Creates the scope of the records of organisations. */
export function createOrganisationScope(
  settings: Pick<OrganisationSettings, 'globalPolicy'>,
  { all: roles }: Pick<OrganisationRoles, 'all'>,
  named: NamedOrganisations,
): OrganisationScope {
  const filterFor: OrganisationScope['filterFor'] = (user, field, { current }) => {
    if (user === undefined) return NOTHING;
    const choice = getOrganisationChoice(user);
    const chosen = organisationFilter([choice?.bound, current ? choice?.current : undefined], field);
    if (chosen === undefined) return NOTHING;
    // A deploy may have removed the role.
    if (choice?.role !== undefined) return roles.includes(choice.role) ? chosen : NOTHING;
    if (!hasGlobalAccess(settings, user))
      return { ...chosen, [field === undefined ? 'members.user' : `${field}.members.user`]: user.id };
    return Object.keys(chosen).length === 0 ? undefined : chosen;
  };

  return {
    filterFor,
    checkNamed(user, req, service) {
      const choice = getOrganisationChoice(user);
      if (user === undefined || req === undefined || choice?.isNamed !== true) return undefined;
      if (named.has(user)) return undefined;
      return (async () => {
        const filter = filterFor(user, undefined, { current: true }) as Record<string, string>;
        if ((await service('organisation').count(filter, { as: 'system' })) === 0) throw noOrganisationError();
        named.add(user);
      })();
    },
  };
}

/** The values that both of two comparisons of a field allow. */
function intersectComparisons(own: unknown, other: unknown): unknown {
  // An object without operators is invalid, and is reported when the filter is evaluated.
  if (isOperatorObject(own) && Object.keys(own).length === 0) return own;
  const toOperators = (value: unknown): Filter => {
    if (Array.isArray(value)) return { in: value };
    return isOperatorObject(value) ? value : { eq: value };
  };
  const [first, second] = [toOperators(own), toOperators(other)];
  const isDisjoint = Object.keys(second).some((op) => Object.hasOwn(first, op) && first[op] !== second[op]);
  return isDisjoint ? { in: [] } : { ...first, ...second };
}

function intersectFilterObjects(own: Readonly<Filter>, other: Filter): Filter {
  const intersection: Filter = { ...own };
  for (const [key, value] of Object.entries(other))
    intersection[key] = Object.hasOwn(own, key) ? intersectComparisons(own[key], value) : value;
  return intersection;
}

/**
 * The filter that a record must meet to meet both a filter of the project and one of this extension. If the project returned something else,
 * that is returned unchanged: added to a value without comparisons, the other filter would make it valid and show more records.
 */
export function intersectFilters(own: RecordFilter | undefined, other: Filter | undefined): RecordFilter | undefined {
  if (own === undefined) return other;
  if (other === undefined) return own;
  const filters: readonly unknown[] = Array.isArray(own) ? own : [own];
  if (!filters.every(isPlainObject)) return own;
  return Array.isArray(own)
    ? filters.map((one) => intersectFilterObjects(one, other))
    : intersectFilterObjects(own as Readonly<Filter>, other);
}
