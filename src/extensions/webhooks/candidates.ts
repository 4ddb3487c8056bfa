import type { ResourceView, StoredRecord } from '../../declare/host.ts';
import { subscribableAs } from './event-names.ts';
import type { CandidateRow, Source } from './sql/candidates.ts';

/** A change of a record, on its way to endpoints. */
export interface RecordEvent {
  id: string;
  /** `post.created`, … */
  name: string;
  /** ISO 8601. */
  at: string;
  view: ResourceView;
  record: StoredRecord;
}

/** An endpoint that an event could reach. */
export interface Candidate {
  id: string;
  ownerId: string;
  slow: boolean;
  global: boolean;
}

/** Whether a read policy may let in users of whom nothing is known beforehand. */
function opensToAnybody({ readPolicy }: ResourceView): boolean {
  return readPolicy.public || readPolicy.authenticated || readPolicy.functions.length > 0;
}

const namesOf = (event: RecordEvent) => subscribableAs(event.view.name, event.name);

/** The parameters of the query for candidates, see sql/candidates.ts. */
export function candidateQuery(events: readonly RecordEvent[]): string[][] {
  const narrow = events.filter((event) => !opensToAnybody(event.view));
  const names = (list: readonly RecordEvent[]) => [...new Set(list.flatMap(namesOf))];
  const owners = narrow.flatMap(({ view, record }) => (view.readPolicy.owner ? (view.ownerOf(record) ?? []) : []));
  const byRole = narrow.filter(({ view }) => view.readPolicy.roles.length > 0);
  return [
    [...new Set(owners)],
    [...new Set(byRole.flatMap(({ view }) => view.readPolicy.roles))],
    names(events),
    names(byRole),
    names(events.filter((event) => opensToAnybody(event.view))),
  ];
}

/**
 * Brings events and candidates together by event name and by the way through which a candidate may receive. An endpoint is
 * looked at only by events of a kind that it was found for: who subscribes to everything costs nothing where he may read nothing.
 *
 * @returns for an event, the endpoints whose owners are still to be asked whether they may read the record
 */
export function matchCandidates(rows: readonly CandidateRow[]): (event: RecordEvent) => Candidate[] {
  const bySource = new Map<Source, Map<string, Candidate[]>>();
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
    const sources: Source[] = opensToAnybody(event.view) ? ['anybody', 'global'] : ['owner', 'role', 'global'];
    const owner = event.view.ownerOf(event.record) ?? '';
    const found = new Map<string, Candidate>();
    for (const source of sources) {
      for (const name of namesOf(event)) {
        for (const one of bySource.get(source)?.get(key(source, name, owner)) ?? []) found.set(one.id, one);
      }
    }
    return [...found.values()];
  };
}
