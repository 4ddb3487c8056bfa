import type { Executor, ResourceGateway, StoredRecord } from '../../../../extension/index.ts';
import { type UsersSql, usersSql } from '../../endpoints/endpoints-sql.ts';
import { listMatchingNames } from '../../settings/events.ts';
import type { OutgoingEvent } from './outgoing-event.ts';

/** Why an endpoint may get an event: its owner owns the record or has a role, anyone may read the record, or the endpoint is global. */
type Source = 'owner' | 'role' | 'anybody' | 'global';

type EndpointRow = [
  source: Source,
  id: string,
  ownerId: string,
  slow: boolean,
  events: string[],
  keyScopes: string[] | null,
  owner: null,
];

/** An endpoint, or, after all endpoints, an owner of endpoints. */
type CandidateRow = EndpointRow | [null, null, null, null, null, null, owner: Record<string, unknown>];

/**
 * Maximum number of endpoints of each source that one transaction handles. The statement returns one endpoint more if more exist. For
 * `owner` the limit is higher, so that the endpoints of all owners in a batch of events fit.
 */
const MAX_CANDIDATES: Record<Source, number> = { owner: 5000, role: 1000, anybody: 1000, global: 1000 };

// Endpoints of a role are looked up by owner if the role has fewer holders than this, otherwise by event.
const FEW_HOLDERS = 1000;

/**
 * Returns the endpoints that events could reach, by event name and by the users that could read the records; of each source the first
 * by id; then the owners of these endpoints. One statement per batch. Endpoints that cannot receive are not read, unless more than a thousand users
 * hold a role.
 *
 * $1 owners of the records, $2 roles that may read, $3 event names for $1 and for global endpoints, $4 event names for $2,
 * $5 event names of records that anyone may read, $6 the endpoint after which to begin.
 *
 * It does not check whether users are active, because a planner without statistics would filter all users by that first. `offset 0` keeps
 * the planner from scanning all endpoints in id order in the hope of finding a thousand matches soon.
 *
 * Uses webhook_endpoints_owner_id_index, _events_index and _global_index, and the index of the users' roles.
 */
export function candidatesSql(users: UsersSql): string {
  const open = 'e.enabled and e.removed_at is null and e.id > $6';
  const candidatesOfSourceSql = (name: Source, from: string, condition: string) => `
  (select '${name}', e.* from (
    select e.id, e.owner_id, e.slow, e.events, e.key_scopes from ${from} where ${condition} and ${open} offset 0
  ) e order by e.id limit ${MAX_CANDIDATES[name] + 1})`;
  return `
  with holders as materialized (
    select u.id from ${users.table} u where ${users.hasRole('$2')} limit ${FEW_HOLDERS + 1}
  ), found as materialized (${[
    candidatesOfSourceSql(
      'owner',
      'webhook_endpoints e',
      `e.owner_id = any($1::text[]) and e.scope = 'own' and e.events && $3::text[]`,
    ),
    candidatesOfSourceSql(
      'role',
      `holders h cross join lateral (select * from webhook_endpoints where owner_id = h.id and removed_at is null offset 0) e`,
      `(select count(*) from holders) <= ${FEW_HOLDERS} and e.scope = 'own' and e.events && $4::text[]`,
    ),
    candidatesOfSourceSql(
      'role',
      `webhook_endpoints e join ${users.table} u on u.id = e.owner_id`,
      `(select count(*) from holders) > ${FEW_HOLDERS} and e.scope = 'own' and e.events && $4::text[]
      and ${users.hasRole('$2')}`,
    ),
    candidatesOfSourceSql('anybody', 'webhook_endpoints e', `e.scope = 'own' and e.events && $5::text[]`),
    candidatesOfSourceSql('global', 'webhook_endpoints e', `e.scope = 'global' and e.events && $3::text[]`),
  ].join('\n  union all')}
  )
  select f.*, null::jsonb from found f
  union all
  select null, null, null, null, null, null, owner.json from (select distinct owner_id from found) o
    cross join lateral (select ${users.json()} as json from ${users.table} u where u.id = o.owner_id offset 0) owner`;
}

/** An endpoint that an event could reach. */
export interface Candidate {
  id: string;
  ownerId: string;
  slow: boolean;
  global: boolean;
  /** The scopes of the API key that the endpoint is bound to; null if it is bound to none. */
  keyScopes: readonly string[] | null;
}

/** A page of candidates for an event. */
export interface CandidatePage {
  /** The endpoints. Whether their owners may receive the event is checked later. */
  candidates: Candidate[];
  /** The id of the last endpoint of this page; undefined if no endpoints follow. */
  end: string | undefined;
}

/** Whether the read policy of a resource may allow any user, not only owners of records and users with certain roles. */
function isReadableByAnyone({ readPolicy }: ResourceGateway): boolean {
  const { verified, functions } = readPolicy;
  // Whether an owner's address is verified is checked with the rest of the policy, for each candidate.
  return readPolicy.public || readPolicy.authenticated || verified || functions.length > 0;
}

/** Returns which users may receive an event at endpoints with scope `own`: anybody, users with certain roles, or an owner. */
function findPossibleSources(event: OutgoingEvent): {
  anybody: boolean;
  roles: readonly string[];
  owner: string | undefined;
} {
  const { gateway } = event;
  if (gateway === undefined) return { anybody: false, roles: [], owner: event.owner ?? undefined };
  const { owner, roles } = gateway.readPolicy;
  return { anybody: isReadableByAnyone(gateway), roles, owner: owner ? gateway.ownerOf(event.record) : undefined };
}

const matchingNamesOf = (event: OutgoingEvent) => listMatchingNames(event.name);

/**
 * Creates the parameters of the statement `candidatesSql`.
 *
 * @param events events with the same `after`, the last endpoint that has been handled
 */
function createCandidateParameters(events: readonly OutgoingEvent[]): unknown[] {
  const narrow = events.filter((event) => !findPossibleSources(event).anybody);
  const collectNames = (list: readonly OutgoingEvent[]) => [...new Set(list.flatMap(matchingNamesOf))];
  const byRole = narrow.filter((event) => findPossibleSources(event).roles.length > 0);
  return [
    [...new Set(narrow.flatMap((event) => findPossibleSources(event).owner ?? []))],
    [...new Set(byRole.flatMap((event) => findPossibleSources(event).roles))],
    collectNames(events),
    collectNames(byRole),
    collectNames(events.filter((event) => findPossibleSources(event).anybody)),
    events[0]!.after,
  ];
}

/** Returns the id of the last endpoint of the page, for each source that has more endpoints than fit on the page. */
function findPageEnds(rows: readonly EndpointRow[]): Map<Source, string> {
  const ends = new Map<Source, string>();
  for (const [source, list] of Map.groupBy(rows, ([source]) => source)) {
    const most = MAX_CANDIDATES[source];
    if (list.length > most) ends.set(source, list.map(([, id]) => id).sort()[most - 1]!);
  }
  return ends;
}

/**
 * Returns a function that finds the candidates of an event, by event name and source. An endpoint is a candidate only for events of the
 * source that found the endpoint, so that an owner who subscribes to everything but may read nothing causes no work.
 */
function createCandidateMatcher(rows: readonly EndpointRow[]): (event: OutgoingEvent) => CandidatePage {
  const bySource = new Map<Source, Map<string, Candidate[]>>();
  const ends = findPageEnds(rows);
  const sourceKey = (source: Source, name: string, ownerId: string) =>
    source === 'owner' ? `${name} ${ownerId}` : name;
  for (const [source, id, ownerId, slow, events, keyScopes] of rows) {
    const byName = bySource.get(source) ?? new Map<string, Candidate[]>();
    bySource.set(source, byName);
    for (const name of new Set(events)) {
      const at = sourceKey(source, name, ownerId);
      const list = byName.get(at) ?? [];
      list.push({ id, ownerId, slow, global: source === 'global', keyScopes });
      byName.set(at, list);
    }
  }

  return (event) => {
    const { anybody, owner = '' } = findPossibleSources(event);
    const sources: Source[] = anybody ? ['anybody', 'global'] : ['owner', 'role', 'global'];
    const end = sources.flatMap((source) => ends.get(source) ?? []).sort()[0];
    const found = new Map<string, Candidate>();
    for (const source of sources) {
      for (const name of matchingNamesOf(event)) {
        for (const one of bySource.get(source)?.get(sourceKey(source, name, owner)) ?? []) {
          if (end === undefined || one.id <= end) found.set(one.id, one);
        }
      }
    }
    return { candidates: [...found.values()], end };
  };
}

/** The endpoints that events could reach. */
export interface Candidates {
  /** Returns the first page of endpoints that an event could reach. */
  pageOf(event: OutgoingEvent): CandidatePage;
  /** The owners of the endpoints. */
  owners: StoredRecord[];
}

const isEndpointRow = (row: CandidateRow): row is EndpointRow => row[0] !== null;

/**
 * Creates the function that reads which endpoints events could reach, and who owns them.
 *
 * @returns a function of events with the same `after`, the last endpoint that has been handled
 */
export function createCandidateReader(
  users: ResourceGateway,
): (events: readonly OutgoingEvent[], executor: Executor) => Promise<Candidates> {
  const text = candidatesSql(usersSql(users));
  return async (events, executor) => {
    const values = createCandidateParameters(events);
    const rows = await executor.write<CandidateRow>({ name: 'webhook_candidates', text, values });
    return {
      pageOf: createCandidateMatcher(rows.filter(isEndpointRow)),
      owners: rows.flatMap((row) => (isEndpointRow(row) ? [] : [users.fromRowJson(row[6])])),
    };
  };
}

/** The endpoints of one owner that could get an event, by event. */
export type CandidatesByEvent = Map<OutgoingEvent, Candidate[]>;
