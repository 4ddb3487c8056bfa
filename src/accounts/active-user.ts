import type { ResourceGateway } from '../declare/host.ts';
import { quoteIdentifier } from '../platform/postgres/quote-identifier.ts';

/** What statements need to know of the user resource. */
export type UserTable = Pick<ResourceGateway, 'table' | 'declaration'>;

/**
 * The condition in SQL that a user is active, as `isActive` decides it for a record.
 *
 * @param alias of the table of users in the statement
 */
export function activeUserSql({ declaration }: Pick<UserTable, 'declaration'>, alias: string): string {
  return 'status' in declaration.fields ? `coalesce(${alias}."status", 'active') = 'active'` : 'true';
}

/**
 * Joins `owner`, a row with the column `active` if the user exists and is active. Each user is looked up in the primary key, however
 * many there are (`offset 0` keeps the planner from reading the whole table instead).
 *
 * @param users undefined in an app without accounts, where every user id counts as active
 * @param userId an expression of the tables that stand before the join
 */
export function joinActiveUser(users: UserTable | undefined, userId: string): string {
  if (users === undefined) return 'cross join (select true as active) owner';
  const found = `select true as active from ${quoteIdentifier(users.table)} u where u."id" = ${userId} and ${activeUserSql(users, 'u')}`;
  return `left join lateral (${found} offset 0) owner on true`;
}
