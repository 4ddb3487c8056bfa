import type { ResourceGateway } from '../../../declare/host.ts';
import { quoteIdentifier } from '../../../platform/postgres/quote-identifier.ts';

/** What the statements of webhooks need to know of the table of users, which a project declares. */
export interface UsersSql {
  /** The table, quoted. */
  table: string;
  /** A condition: the user `u` is active. */
  active: string;
  /** A condition: the user `u` has one of the roles in a parameter. */
  hasRole(parameter: string): string;
}

/** Reads it from the declaration: a user resource of a project's own may have no `status` or no `roles`. */
export function usersSql(users: ResourceGateway): UsersSql {
  const { fields } = users.declaration;
  return {
    table: quoteIdentifier(users.table),
    active: 'status' in fields ? `u.status = 'active'` : 'true',
    hasRole: (parameter) => ('roles' in fields ? `u.roles && ${parameter}::text[]` : `${parameter}::text[] is null`),
  };
}
