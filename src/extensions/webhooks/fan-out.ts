import type { Host, ResourceView, StoredRecord } from '../../declare/host.ts';
import { allows, type Viewer } from '../../declare/policy.ts';
import { ApiError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { OutboxConsumer } from '../../platform/outbox/relay.ts';
import type { OutboxRow } from '../../platform/outbox/table.ts';
import type { Executor } from '../../platform/postgres/database.ts';
import { publicDatabaseError } from '../../platform/postgres/errors.ts';
import { type Candidate, candidateQuery, matchCandidates, type RecordEvent } from './candidates.ts';
import { newMessageId } from './message-id.ts';
import type { WebhookSettings } from './settings.ts';
import { type CandidateRow, candidates } from './sql/candidates.ts';
import { INSERT } from './sql/deliveries.ts';
import { REMOVE_OF_OWNERS } from './sql/endpoints.ts';
import { usersSql } from './sql/users.ts';
import { laneOf, wakeUp } from './wake-up.ts';

// Rows of one insert: bodies are up to a record each, and a statement should not hold hundreds of megabytes of them.
const INSERT_ROWS = 1000;
const OWNERS_AT_ONCE = 16;

type Delivery = [id: string, endpointId: string, eventId: string, messageId: string, type: string, body: string];

/** An outbox row that tells of a change of a record. */
type RecordRow = OutboxRow & { resource: string; recordId: string };

const isRecordRow = (row: OutboxRow): row is RecordRow => row.resource !== null;

/** Endpoints of one owner, by event. */
type OwnerShare = Map<RecordEvent, Candidate[]>;

/** Turns changes of records into deliveries for the endpoints whose owners may read them. */
export function createFanOut(host: Host, users: ResourceView, settings: WebhookSettings): OutboxConsumer {
  const views = new Map(host.resources.map((view) => [view.name, view]));
  const candidatesText = candidates(usersSql(users));
  const isSent = (name: string) => views.has(name) && views.get(name)!.declaration.webhooks !== false;
  const tellsOfGoneUser = (row: OutboxRow) => row.name === `${users.name}.deleted`;

  function toEvent(row: RecordRow): RecordEvent {
    const view = views.get(row.resource)!;
    const record = view.fromOutbox(row.payload.record as Record<string, unknown>);
    return { id: row.eventId, name: row.name, at: row.createdAt, view, record };
  }

  /** By owner, what his endpoints are to be asked about. */
  function shares(events: readonly RecordEvent[], rows: readonly CandidateRow[]): Map<string, OwnerShare> {
    const candidatesOf = matchCandidates(rows);
    const byOwner = new Map<string, OwnerShare>();
    for (const event of events) {
      for (const candidate of candidatesOf(event)) {
        const share: OwnerShare = byOwner.get(candidate.ownerId) ?? new Map();
        byOwner.set(candidate.ownerId, share);
        share.set(event, [...(share.get(event) ?? []), candidate]);
      }
    }
    return byOwner;
  }

  /** What of a share its owner receives: own endpoints what he may read, global ones all that is in his scope. */
  async function received(share: OwnerShare, user: Viewer): Promise<OwnerShare> {
    // One for all events of the share: the scope of a resource is asked once for them.
    const looking = { user, req: undefined, service: host.service };
    const global = await allows(settings.globalPolicy, { ...looking, action: 'webhook', doc: undefined }, false);
    const kept: OwnerShare = new Map();
    for (const [event, list] of share) {
      const readable = list.some((one) => !one.global) && (await event.view.readableBy(event.record, looking));
      const inScope = global && list.some((one) => one.global) && (await event.view.inScope(event.record, looking));
      const reached = list.filter((one) => (one.global ? inScope : readable));
      if (reached.length > 0) kept.set(event, reached);
    }
    return kept;
  }

  /** Deliveries of one owner: each record is serialised once, as he sees it, for all of his endpoints. */
  async function deliveriesFor(share: OwnerShare, user: Viewer): Promise<Delivery[]> {
    const kept = await received(share, user);
    const deliveries: Delivery[] = [];
    for (const [view, events] of Map.groupBy(kept.keys(), (event) => event.view)) {
      const shown = await view.serialize(
        events.map((event) => event.record),
        { user },
      );
      events.forEach((event, i) => {
        const body = JSON.stringify({ type: event.name, timestamp: event.at, data: shown[i] });
        for (const { id } of kept.get(event)!) {
          deliveries.push([newId(), id, event.id, newMessageId(), event.name, body]);
        }
      });
    }
    return deliveries;
  }

  /**
   * Deliveries of one owner, whatever the project's own functions do: one that throws for him and a record means that he does
   * not receive it, and is no concern of other owners. A database that is away is everybody's: the batch comes again.
   */
  async function deliveriesOf(share: OwnerShare, user: Viewer): Promise<Delivery[]> {
    try {
      return await deliveriesFor(share, user);
    } catch (error) {
      const told = error instanceof ApiError ? error : publicDatabaseError(error);
      if (told?.code === 'UNAVAILABLE') throw error;
      if (share.size > 1) {
        const alone = await Promise.all([...share].map((entry) => deliveriesOf(new Map([entry]), user)));
        return alone.flat();
      }
      const [event] = share.keys();
      host.log.error(
        { err: error, event: event?.name, record: event?.record.id, user: user.id },
        'a policy threw; nothing is sent',
      );
      return [];
    }
  }

  async function insert(tx: Executor, rows: readonly Delivery[]): Promise<void> {
    const columns = [0, 1, 2, 3, 4, 5].map((column) => rows.map((row) => row[column]));
    await tx.write({ name: 'webhook_deliveries_insert', text: INSERT, values: columns });
  }

  /** Stores the deliveries of all events. Gives the endpoints that got one. */
  async function store(events: readonly RecordEvent[], tx: Executor): Promise<Map<string, boolean>> {
    const found = await tx.write<CandidateRow>({
      name: 'webhook_candidates',
      text: candidatesText,
      values: candidateQuery(events),
    });
    const byOwner = shares(events, found);
    const slow = new Map(found.map(([, id, , isSlow]) => [id, isSlow]));
    const reached = new Map<string, boolean>();
    if (byOwner.size === 0) return reached;
    const owners = (await users.load([...byOwner.keys()])).filter(isActive);
    let gathered: Delivery[] = [];
    while (owners.length > 0) {
      const some = owners.splice(0, OWNERS_AT_ONCE);
      const made = await Promise.all(some.map((user) => deliveriesOf(byOwner.get(user.id)!, user)));
      gathered.push(...made.flat());
      while (gathered.length >= INSERT_ROWS || (owners.length === 0 && gathered.length > 0)) {
        const rows = gathered.slice(0, INSERT_ROWS);
        gathered = gathered.slice(INSERT_ROWS);
        await insert(tx, rows);
        for (const [, endpointId] of rows) reached.set(endpointId, slow.get(endpointId)!);
      }
    }
    return reached;
  }

  return {
    wants: (row) => isRecordRow(row) && (isSent(row.resource) || tellsOfGoneUser(row)),
    async handle(rows, tx) {
      const gone = rows.filter(tellsOfGoneUser).map((row) => row.recordId);
      if (gone.length > 0) await tx.write({ text: REMOVE_OF_OWNERS, values: [gone] });
      const events = rows
        .filter(isRecordRow)
        .filter((row) => isSent(row.resource))
        .map(toEvent);
      if (events.length === 0) return undefined;
      const reached = await store(events, tx);
      if (reached.size === 0) return undefined;
      return () =>
        wakeUp(
          host.queues,
          Array.from(reached, ([id, isSlow]) => ({ id, lane: laneOf(isSlow) })),
        );
    },
  };
}

function isActive(user: StoredRecord): boolean {
  return user.status === undefined || user.status === 'active';
}
