import type { ResourceGateway } from '../../../declare/host.ts';
import { subscribableAs } from '../events.ts';
import type { OutgoingEvent } from './outgoing-event.ts';
import { type CandidateRow, MAX_CANDIDATES, type Source } from './candidates-sql.ts';

/** An endpoint that an event could reach. */
export interface Candidate {
  id: string;
  ownerId: string;
  slow: boolean;
  global: boolean;
}

/** What a page of candidates holds for an event. */
export interface CandidatePage {
  /** The endpoints whose owners are still to be asked whether they may receive it. */
  candidates: Candidate[];
  /** The last endpoint that this page has looked at; undefined: there are no more. */
  end: string | undefined;
}

/** Whether a read policy may let in users of whom nothing is known beforehand. */
function opensToAnybody({ readPolicy }: ResourceGateway): boolean {
  return readPolicy.public || readPolicy.authenticated || readPolicy.functions.length > 0;
}

/** Through what the owners of own endpoints may receive an event. */
function waysOf(event: OutgoingEvent): { anybody: boolean; roles: readonly string[]; owner: string | undefined } {
  const { gateway } = event;
  if (gateway === undefined) return { anybody: false, roles: [], owner: event.owner ?? undefined };
  const { owner, roles } = gateway.readPolicy;
  return { anybody: opensToAnybody(gateway), roles, owner: owner ? gateway.ownerOf(event.record) : undefined };
}

const namesOf = (event: OutgoingEvent) => subscribableAs(event.name);

/**
 * The parameters of the query for candidates, see sql/candidates.ts.
 *
 * @param events with the same `after`
 */
export function candidateQuery(events: readonly OutgoingEvent[]): unknown[] {
  const narrow = events.filter((event) => !waysOf(event).anybody);
  const names = (list: readonly OutgoingEvent[]) => [...new Set(list.flatMap(namesOf))];
  const byRole = narrow.filter((event) => waysOf(event).roles.length > 0);
  return [
    [...new Set(narrow.flatMap((event) => waysOf(event).owner ?? []))],
    [...new Set(byRole.flatMap((event) => waysOf(event).roles))],
    names(events),
    names(byRole),
    names(events.filter((event) => waysOf(event).anybody)),
    events[0]!.after,
  ];
}

/** The last endpoint of each source that has more than the page. */
function endsOf(rows: readonly CandidateRow[]): Map<Source, string> {
  const ends = new Map<Source, string>();
  for (const [source, list] of Map.groupBy(rows, ([source]) => source)) {
    const most = MAX_CANDIDATES[source];
    if (list.length > most) ends.set(source, list.map(([, id]) => id).sort()[most - 1]!);
  }
  return ends;
}

/**
 * Brings events and candidates together by event name and by the way through which a candidate may receive. An endpoint is
 * looked at only by events of a kind that it was found for: who subscribes to everything costs nothing where he may read nothing.
 */
export function matchCandidates(rows: readonly CandidateRow[]): (event: OutgoingEvent) => CandidatePage {
  const bySource = new Map<Source, Map<string, Candidate[]>>();
  const ends = endsOf(rows);
  const key = (source: Source, name: string, ownerId: string) => (source === 'owner' ? `${name} ${ownerId}` : name);
  for (const [source, id, ownerId, slow, events] of rows) {
    const byName = bySource.get(source) ?? new Map<string, Candidate[]>();
    bySource.set(source, byName);
    for (const name of new Set(events)) {
      const at = key(source, name, ownerId);
      const list = byName.get(at) ?? [];
      list.push({ id, ownerId, slow, global: source === 'global' });
      byName.set(at, list);
    }
  }

  return (event) => {
    const { anybody, owner = '' } = waysOf(event);
    const sources: Source[] = anybody ? ['anybody', 'global'] : ['owner', 'role', 'global'];
    const end = sources.flatMap((source) => ends.get(source) ?? []).sort()[0];
    const found = new Map<string, Candidate>();
    for (const source of sources) {
      for (const name of namesOf(event)) {
        for (const one of bySource.get(source)?.get(key(source, name, owner)) ?? []) {
          if (end === undefined || one.id <= end) found.set(one.id, one);
        }
      }
    }
    return { candidates: [...found.values()], end };
  };
}
