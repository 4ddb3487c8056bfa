import type { UsersSql } from '../endpoints/users-sql.ts';

/** Through what an endpoint may receive: it belongs to a record's owner; its owner has a role; anybody may read; it is global. */
export type Source = 'owner' | 'role' | 'anybody' | 'global';

export type CandidateRow = [source: Source, id: string, ownerId: string, slow: boolean, events: string[]];

/**
 * The endpoints of each source that one transaction deals with; the statement gives one more where there are more. Owners have few each,
 * and those of a whole batch of events should find room.
 */
export const MAX_CANDIDATES: Record<Source, number> = { owner: 5000, role: 1000, anybody: 1000, global: 1000 };

// Below this many holders of a role their endpoints are looked up by owner; above it, by event.
const FEW_HOLDERS = 1000;

/**
 * The endpoints that events could reach, by event name and by who could read the records; of each source the first by their ids.
 * One statement for a batch; an endpoint that cannot receive is not even looked at, except where more than a thousand users hold
 * a role.
 *
 * $1 owners of the records, $2 roles that may read, $3 event names for $1 and for global endpoints, $4 event names for $2,
 * $5 event names of records that anybody may read, $6 the endpoint after which to begin.
 *
 * Whether users are active is not asked here: a planner without statistics would look for that first, through all of them. And
 * `offset 0` keeps it from walking through all endpoints in the order of their ids in the hope of finding a thousand soon.
 *
 * By webhook_endpoints_owner_id_index, _events_index and _global_index, and the index of the users' roles.
 */
export function candidates(users: UsersSql): string {
  const open = 'e.enabled and e.removed_at is null and e.id > $6';
  const source = (name: Source, from: string, condition: string) => `
  (select '${name}', found.* from (
    select e.id, e.owner_id, e.slow, e.events from ${from} where ${condition} and ${open} offset 0
  ) found order by found.id limit ${MAX_CANDIDATES[name] + 1})`;
  return `
  with holders as materialized (
    select u.id from ${users.table} u where ${users.hasRole('$2')} limit ${FEW_HOLDERS + 1}
  )
  ${[
    source(
      'owner',
      'webhook_endpoints e',
      `e.owner_id = any($1::text[]) and e.scope = 'own' and e.events && $3::text[]`,
    ),
    source(
      'role',
      `holders h cross join lateral (select * from webhook_endpoints where owner_id = h.id and removed_at is null offset 0) e`,
      `(select count(*) from holders) <= ${FEW_HOLDERS} and e.scope = 'own' and e.events && $4::text[]`,
    ),
    source(
      'role',
      `webhook_endpoints e join ${users.table} u on u.id = e.owner_id`,
      `(select count(*) from holders) > ${FEW_HOLDERS} and e.scope = 'own' and e.events && $4::text[]
      and ${users.hasRole('$2')}`,
    ),
    source('anybody', 'webhook_endpoints e', `e.scope = 'own' and e.events && $5::text[]`),
    source('global', 'webhook_endpoints e', `e.scope = 'global' and e.events && $3::text[]`),
  ].join('\n  union all')}`;
}
