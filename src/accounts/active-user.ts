import type { ResourceView } from '../declare/host.ts';

/**
 * The condition in SQL that a user is active, as `isActive` decides it for a record.
 *
 * @param alias of the table of users in the statement
 */
export function activeUserSql({ declaration }: Pick<ResourceView, 'declaration'>, alias: string): string {
  return 'status' in declaration.fields ? `coalesce(${alias}."status", 'active') = 'active'` : 'true';
}
