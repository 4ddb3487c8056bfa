import type { ResourceGateway } from '../../declare/host.ts';
import { quoteIdentifier } from '../../platform/postgres/identifiers.ts';

/** The part of the user resource that SQL statements need. */
export type UserTable = Pick<ResourceGateway, 'table' | 'declaration'>;

/**
 * Returns the SQL condition that a user is active; the same rule as `isActive` for records.
 *
 * @param alias of the users table in the statement
 */
export function activeUserSql({ declaration }: Pick<UserTable, 'declaration'>, alias: string): string {
  return 'status' in declaration.fields ? `coalesce(${alias}."status", 'active') = 'active'` : 'true';
}

/**
 * Returns a SQL join that adds `owner.active`: true if the user exists and is active, otherwise null. Each user is looked up by
 * primary key (`offset 0` keeps the planner from reading the whole table instead).
 *
 * @param users undefined in an app without accounts, where every user id counts as active
 * @param userId a SQL expression over the tables before the join
 */
export function activeOwnerJoin(users: UserTable | undefined, userId: string): string {
  if (users === undefined) return 'cross join (select true as active) owner';
  const found = `select true as active from ${quoteIdentifier(users.table)} u where u."id" = ${userId} and ${activeUserSql(users, 'u')}`;
  return `left join lateral (${found} offset 0) owner on true`;
}
