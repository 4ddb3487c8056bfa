import type { Viewer } from './actor.ts';
import type { Services, Transaction } from './service.ts';

/** An organisation, and the role that a caller has in it. */
export interface OrganisationMember {
  /** The id of the organisation. */
  organisation: string;
  role: string;
}

/** What features whose data can belong to an organisation need to know of it. The extension `organisations()` provides it. */
export interface OrganisationAccess {
  /** The roles of members, from the most to the least powerful. */
  roles: readonly string[];
  /** The least powerful role that manages an organisation. */
  manageRole: string;
  /** Whether one role has at least the power of another. */
  includes(role: string, other: string): boolean;
  /**
   * Finds an organisation and the role of the caller in it.
   *
   * @param organisation its id or slug
   * @throws ApiError UNAUTHORIZED; NOT_FOUND, the same for an unknown organisation and for one of which the caller is not a member
   */
  find(caller: { user: Viewer | undefined; service: Services }, organisation: string): Promise<OrganisationMember>;
  /**
   * Returns the role of the caller, and locks the organisation: until the transaction ends, it is not deleted and its members do not change.
   *
   * @throws ApiError NOT_FOUND
   */
  hold(user: Viewer, organisation: string, tx: Pick<Transaction, 'database' | 'service'>): Promise<string>;
  /** Returns the ids of members with a role, or a more powerful one, those who joined first, up to a limit. */
  membersWith(role: string, organisation: string, limit: number): Promise<string[]>;
}
