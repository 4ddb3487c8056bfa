import type { PgTable } from 'drizzle-orm/pg-core';
import { getTableConfig } from '../../../platform/postgres/drizzle.ts';
import { isPersonalName } from '../../../records/fields/personal-data.ts';

// What names a user, or who acted, in tables outside of resources.
const USERS = /^(user|owner|author|account|created_by|requested_by)(_?id)?s?$|_user_ids?$/;
// Nothing can be read from a hash.
const HASH = /(hash|fingerprint)$/;
const ABOUT_USERS = /^(recipient|user_agent|token|ip|last_used_ip|phone|email)$/;

function camelCase(column: string): string {
  return column.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** The columns of a table that name users, and those that look personal. */
export function personalColumns(table: PgTable): { users: string[]; personal: string[] } {
  const names = getTableConfig(table).columns.map(({ name }) => name);
  const users = names.filter((name) => USERS.test(name));
  const personal = names.filter(
    (name) => !users.includes(name) && !HASH.test(name) && (ABOUT_USERS.test(name) || isPersonalName(camelCase(name))),
  );
  return { users, personal };
}
