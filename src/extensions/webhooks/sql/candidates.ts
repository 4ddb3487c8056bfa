import type { UsersSql } from './users.ts';

/** Through what an endpoint may receive: it belongs to a record's owner; its owner has a role; anybody may read; it is global. */
export type Source = 'owner' | 'role' | 'anybody' | 'global';

export type CandidateRow = [source: Source, id: string, ownerId: string, slow: boolean, events: string[]];

// Below this many holders of a role their endpoints are looked up by owner; above it, by event.
const FEW_HOLDERS = 1000;

/**
 * The endpoints that events could reach, by event name and by who could read the records. One statement for a batch; an
 * endpoint that can't receive is not even looked at, except where more than a thousand users hold a role.
 *
 * $1 owners of the records, $2 roles that may read, $3 event names for $1 and for global endpoints, $4 event names for $2,
 * $5 event names of records that anybody may read.
 *
 * Whether users are active is not asked here: a planner without statistics would look for that first, through all of them.
 *
 * By webhook_endpoints_owner_id_index, _events_index and _global_index, and the index of the users' roles.
 */
export function candidates(users: UsersSql): string {
  const columns = 'e.id, e.owner_id, e.slow, e.events';
  const open = 'e.enabled and e.removed_at is null';
  return `
  with holders as materialized (
    select u.id from ${users.table} u where ${users.hasRole('$2')} limit ${FEW_HOLDERS + 1}
  )
  select 'owner', ${columns} from webhook_endpoints e
    where e.owner_id = any($1::text[]) and e.scope = 'own' and ${open} and e.events && $3::text[]
  union all
  select 'role', ${columns} from holders h join webhook_endpoints e on e.owner_id = h.id
    where (select count(*) from holders) <= ${FEW_HOLDERS} and e.scope = 'own' and ${open} and e.events && $4::text[]
  union all
  select 'role', ${columns} from webhook_endpoints e join ${users.table} u on u.id = e.owner_id
    where (select count(*) from holders) > ${FEW_HOLDERS} and e.scope = 'own' and ${open} and e.events && $4::text[]
      and ${users.hasRole('$2')}
  union all
  select 'anybody', ${columns} from webhook_endpoints e
    where e.scope = 'own' and ${open} and e.events && $5::text[]
  union all
  select 'global', ${columns} from webhook_endpoints e
    where e.scope = 'global' and ${open} and e.events && $3::text[]`;
}
