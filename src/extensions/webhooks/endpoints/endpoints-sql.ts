import { quoteIdentifier } from '../../../extension/index.ts';
import { ENDPOINT_COLUMNS } from './endpoint.ts';
import type { OwnerTables } from './owners.ts';

/** What the statements of webhooks need to know about the tables of users, which a project declares, and of organisations. */
export interface OwnersSql {
  /** The table, quoted. */
  table: string;
  /** A condition: the user `u` is active. */
  active: string;
  /** A condition: the user `u` has one of the roles in a parameter. */
  hasRole(parameter: string): string;
  /** The user `u` as JSON, for `fromRowJson`. */
  json(): string;
  /** The table of organisations, quoted; undefined in an app without them. Then no organisation's endpoint is sent to. */
  organisations: string | undefined;
  /** Joins the owner `u` of endpoint `e`. The endpoint of an organisation gets no row `u`. */
  join: string;
}

/** Creates the SQL about owners from the declaration of the project's user resource, which may lack `status` or `roles`. */
export function ownersSql({ users, organisations }: OwnerTables): OwnersSql {
  const { fields } = users.declaration;
  const table = quoteIdentifier(users.table);
  return {
    table,
    active: 'status' in fields ? `u.status = 'active'` : 'true',
    hasRole: (parameter) => ('roles' in fields ? `u.roles && ${parameter}::text[]` : `${parameter}::text[] is null`),
    json: () => users.rowJson('u'),
    organisations: organisations && quoteIdentifier(organisations.table),
    join:
      organisations === undefined
        ? `join ${table} u on u.id = e.owner_id`
        : `left join ${table} u on u.id = e.owner_id and e.organisation_role is null`,
  };
}

const COLUMNS = ENDPOINT_COLUMNS.join(', ');

/** Maximum number of deliveries deleted together with their endpoints; a sweep deletes the rest. */
export const MAX_DELIVERIES_REMOVED = 1000;

/** The assignments that remove an endpoint. They delete its secrets and headers at once; the row stays until its log is deleted. */
export const REMOVAL_ASSIGNMENTS = `removed_at = now(), enabled = false, secret = '', previous_secret = null, previous_secret_until = null,
      older_secret = null, older_secret_until = null, headers = null, header_masks = null`;

/** Reads an endpoint of an owner. $1 id, $2 owner. */
export const READ_ENDPOINT = `
  select ${COLUMNS} from webhook_endpoints where id = $1 and owner_id = $2 and removed_at is null`;

/** Reads an endpoint of any owner. $1 id. */
export const READ_ANY_ENDPOINT = `select ${COLUMNS} from webhook_endpoints where id = $1 and removed_at is null`;

const deleteSomeOfRemovedSql = (table: string) => `
    delete from ${table} where id = any(array(
      select d.id from removed r cross join lateral (
        select id from ${table} where endpoint_id = r.id limit $2 for update skip locked) d
      limit $2))`;

/**
 * Removes the endpoints of deleted owners, and starts to delete their logs; a sweep deletes the rest. $1 owners, $2 maximum number of
 * deliveries to delete. It skips deliveries that a worker is writing, because that worker may be waiting for the endpoint's row.
 */
export const REMOVE_BY_OWNERS = `
  with removed as (
    update webhook_endpoints set ${REMOVAL_ASSIGNMENTS}
    where id in (
      select id from webhook_endpoints where owner_id = any($1::text[]) and removed_at is null order by id for no key update)
    returning id
  ), emptied_log as (${deleteSomeOfRemovedSql('webhook_delivery_log')})
  ${deleteSomeOfRemovedSql('webhook_deliveries')}`;

/** The old secrets of endpoint `e` that messages are still signed with, or null. */
export const OLD_SECRETS = `case when e.previous_secret_until > now() then e.previous_secret end as previous_secret,
      case when e.older_secret_until > now() then e.older_secret end as older_secret`;

/**
 * A condition: endpoint `e`, with its owner `u` if that is a user, may be sent to now. The parameter holds the roles of the global policy, or null if roles alone
 * do not decide.
 */
export function mayReceiveSql(owners: OwnersSql, globalRoles: string): string {
  const { active, hasRole, organisations } = owners;
  const user = `${active} and (e.scope <> 'global' or ${globalRoles}::text[] is null or ${hasRole(globalRoles)})`;
  const owner =
    organisations === undefined
      ? user
      : `case when e.organisation_role is null then u.id is not null and ${user}
        else exists (select from ${organisations} o where o.id = e.owner_id) end`;
  return `e.enabled and e.removed_at is null and (e.key_expires_at is null or e.key_expires_at > now()) and ${owner}`;
}

/** The rate limit of endpoint `e`, a `RateRule` or null, as JSON. */
export const RATE_RULE = `case when e.rate_limit is not null
      then json_build_object('limit', e.rate_limit, 'windowSeconds', e.rate_window_seconds) end`;
