import type { Executor, ResourceGateway, Viewer } from '../../../../extension/index.ts';
import { type OwnersSql, ownersSql } from '../../endpoints/endpoints-sql.ts';
import type { EndpointFilter } from '../../endpoints/filter-schema.ts';
import type { EndpointOwners } from '../../endpoints/owners.ts';
import { listMatchingNames } from '../../settings/events.ts';
import type { OutgoingEvent } from './outgoing-event.ts';

/**
 * Why an endpoint may get an event: its owner owns the record, or is the organisation of the record, or has a role; any user may read the record; or
 * the endpoint is global.
 */
type Source = 'owner' | 'role' | 'anybody' | 'global';

type EndpointRow = [
  source: Source,
  id: string,
  ownerId: string,
  slow: boolean,
  events: string[],
  keyScopes: string[] | null,
  organisationRole: string | null,
  filter: EndpointFilter | null,
  polled: boolean,
  owner: null,
];

/** An endpoint, or, after all endpoints, an owner of endpoints: a user, or, as its id, an organisation. */
type CandidateRow =
  | EndpointRow
  | [null, null, null, null, null, null, null, null, null, owner: Record<string, unknown> | string];

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
 * $1 owners and organisations of the records, $2 roles that may read, $3 event names for $1 and for global endpoints, $4 event names for $2,
 * $5 event names of records that anyone may read, $6 the endpoint after which to begin, or the only endpoint.
 *
 * It does not check whether users are active, because a planner without statistics would filter all users by that first. `offset 0` keeps
 * the planner from scanning all endpoints in id order in the hope of finding a thousand matches soon.
 *
 * Uses webhook_endpoints_owner_id_index, _events_index and _global_index, and the index of the users' roles.
 *
 * @param comparison how ids of endpoints are compared with $6
 */
export function candidatesSql(owners: OwnersSql, comparison: '>' | '=' = '>'): string {
  const { organisations } = owners;
  const open = `e.enabled and e.removed_at is null and e.id ${comparison} $6`;
  const candidatesOfSourceSql = (name: Source, from: string, condition: string) => `
  (select '${name}', e.* from (
    select e.id, e.owner_id, e.slow, e.events, e.key_scopes, e.organisation_role, e.filter, e.delivery = 'poll'
      from ${from} where ${condition} and ${open} offset 0
  ) e order by e.id limit ${MAX_CANDIDATES[name] + 1})`;
  return `
  with holders as materialized (
    select u.id from ${owners.table} u where ${owners.hasRole('$2')} limit ${FEW_HOLDERS + 1}
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
      `webhook_endpoints e join ${owners.table} u on u.id = e.owner_id`,
      `(select count(*) from holders) > ${FEW_HOLDERS} and e.scope = 'own' and e.events && $4::text[]
      and ${owners.hasRole('$2')}`,
    ),
    candidatesOfSourceSql(
      'anybody',
      'webhook_endpoints e',
      `e.scope = 'own' and e.organisation_role is null and e.events && $5::text[]`,
    ),
    candidatesOfSourceSql('global', 'webhook_endpoints e', `e.scope = 'global' and e.events && $3::text[]`),
  ].join('\n  union all')}
  )
  select f.*, null::jsonb from found f
  union all
  select null, null, null, null, null, null, null, null, null, owner.json from (select distinct owner_id from found) o
    cross join lateral (select ${owners.json()} as json from ${owners.table} u where u.id = o.owner_id offset 0) owner${
      organisations === undefined
        ? ''
        : `
  union all
  select null, null, null, null, null, null, null, null, null, to_jsonb(o.id) from ${organisations} o
  where o.id in (select owner_id from found where organisation_role is not null)`
    }`;
}

/** An endpoint that an event could reach. */
export interface Candidate {
  id: string;
  ownerId: string;
  slow: boolean;
  global: boolean;
  /** The scopes of the API key that the endpoint is bound to; null if it is bound to none. */
  keyScopes: readonly string[] | null;
  /** Endpoints of equal readers may read the same: the owner and, for an organisation, the role. */
  reader: string;
  /** Conditions that events must meet; null if there are none. */
  filter: EndpointFilter | null;
  /** Whether the receiver polls for the deliveries. */
  polled: boolean;
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

/** Who may receive an event at endpoints with scope `own`: anybody, users with certain roles, or these owners of endpoints. */
interface PossibleSources {
  anybody: boolean;
  roles: readonly string[];
  owners: readonly string[];
}

type OrganisationOf = EndpointOwners['organisationOf'];

function findPossibleSources(event: OutgoingEvent, organisationOf: OrganisationOf): PossibleSources {
  const { gateway } = event;
  if (gateway === undefined) return { anybody: false, roles: [], owners: event.owner === null ? [] : [event.owner] };
  const { owner, roles } = gateway.readPolicy;
  const anybody = isReadableByAnyone(gateway);
  const owners = [owner && !anybody ? gateway.ownerOf(event.record) : undefined, organisationOf(gateway, event.record)];
  return { anybody, roles, owners: owners.filter((id) => id !== undefined) };
}

const matchingNamesOf = (event: OutgoingEvent) => listMatchingNames(event.name);

/**
 * Creates the parameters of the statement `candidatesSql`.
 *
 * @param events events with the same `after`, the last endpoint that has been handled
 */
function createCandidateParameters(events: readonly OutgoingEvent[], organisationOf: OrganisationOf): unknown[] {
  const found = events.map((event) => ({ event, ...findPossibleSources(event, organisationOf) }));
  const collectNames = (list: readonly { event: OutgoingEvent }[]) => [
    ...new Set(list.flatMap(({ event }) => matchingNamesOf(event))),
  ];
  const byRole = found.filter(({ anybody, roles }) => !anybody && roles.length > 0);
  return [
    [...new Set(found.flatMap(({ owners }) => owners))],
    [...new Set(byRole.flatMap(({ roles }) => roles))],
    collectNames(found),
    collectNames(byRole),
    collectNames(found.filter(({ anybody }) => anybody)),
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
function createCandidateMatcher(
  rows: readonly EndpointRow[],
  organisationOf: OrganisationOf,
): (event: OutgoingEvent) => CandidatePage {
  const bySource = new Map<Source, Map<string, Candidate[]>>();
  const ends = findPageEnds(rows);
  const sourceKey = (source: Source, name: string, ownerId: string) =>
    source === 'owner' ? `${name} ${ownerId}` : name;
  for (const [source, id, ownerId, slow, events, keyScopes, organisationRole, filter, polled] of rows) {
    const reader = toReaderKey(ownerId, organisationRole);
    const byName = bySource.get(source) ?? new Map<string, Candidate[]>();
    bySource.set(source, byName);
    for (const name of new Set(events)) {
      const at = sourceKey(source, name, ownerId);
      const list = byName.get(at) ?? [];
      list.push({ id, ownerId, slow, global: source === 'global', keyScopes, reader, filter, polled });
      byName.set(at, list);
    }
  }

  return (event) => {
    const { anybody, owners } = findPossibleSources(event, organisationOf);
    const byOwner: Source[] = owners.length > 0 ? ['owner'] : [];
    const sources: Source[] = anybody ? [...byOwner, 'anybody', 'global'] : [...byOwner, 'role', 'global'];
    const end = sources.flatMap((source) => ends.get(source) ?? []).sort()[0];
    const found = new Map<string, Candidate>();
    for (const source of sources) {
      for (const name of matchingNamesOf(event)) {
        for (const owner of source === 'owner' ? owners : ['']) {
          for (const one of bySource.get(source)?.get(sourceKey(source, name, owner)) ?? []) {
            if (end === undefined || one.id <= end) found.set(one.id, one);
          }
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
  /** The owners of the endpoints, by `reader` of the endpoints. */
  readers: ReadonlyMap<string, Viewer>;
}

const toReaderKey = (ownerId: string, organisationRole: string | null) =>
  organisationRole === null ? ownerId : `${ownerId} ${organisationRole}`;

/** Returns the owners of endpoints that exist. An organisation is several readers if its endpoints read with several roles. */
function collectReaders(rows: readonly CandidateRow[], owners: EndpointOwners): Map<string, Viewer> {
  const readers = new Map<string, Viewer>();
  const organisations = new Set<string>();
  for (const row of rows) {
    if (isEndpointRow(row)) continue;
    const [, , , , , , , , , owner] = row;
    if (typeof owner === 'string') {
      organisations.add(owner);
      continue;
    }
    const user = owners.users.fromRowJson(owner);
    readers.set(user.id, user);
  }
  for (const row of rows) {
    if (!isEndpointRow(row)) continue;
    const [, , ownerId, , , , role] = row;
    const reader = toReaderKey(ownerId, role);
    if (role === null || !organisations.has(ownerId) || readers.has(reader)) continue;
    readers.set(reader, owners.toOrganisationViewer(ownerId, role));
  }
  return readers;
}

const isEndpointRow = (row: CandidateRow): row is EndpointRow => row[0] !== null;

/** Reads which endpoints events could reach, and who owns them. The events have the same `after`. */
type ReadCandidates = (events: readonly OutgoingEvent[], executor: Executor) => Promise<Candidates>;

/** Creates the function that reads which endpoints events could reach, of those after the `after` of the events. */
export function createCandidateReader(owners: EndpointOwners): ReadCandidates {
  return createReader(owners, 'webhook_candidates', candidatesSql(ownersSql(owners)));
}

/** Like `createCandidateReader`, for a single endpoint, which is the `after` of the events. */
export function createSingleCandidateReader(owners: EndpointOwners): ReadCandidates {
  return createReader(owners, 'webhook_candidates_single', candidatesSql(ownersSql(owners), '='));
}

function createReader(owners: EndpointOwners, name: string, text: string): ReadCandidates {
  const { organisationOf } = owners;
  return async (events, executor) => {
    const values = createCandidateParameters(events, organisationOf);
    const rows = await executor.write<CandidateRow>({ name, text, values });
    return {
      pageOf: createCandidateMatcher(rows.filter(isEndpointRow), organisationOf),
      readers: collectReaders(rows, owners),
    };
  };
}

/** The endpoints of one owner that could get an event, by event. */
export type CandidatesByEvent = Map<OutgoingEvent, Candidate[]>;
