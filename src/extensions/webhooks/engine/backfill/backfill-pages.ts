import { DAY_MS, type Executor, type Host } from '../../../../extension/index.ts';
import { decryptStoredBody } from '../../deliveries/stored-body.ts';
import { announcePolledEndpoints, chooseLane, enqueueEndpointJobs } from '../../endpoints/endpoint-jobs.ts';
import { ownersSql } from '../../endpoints/endpoints-sql.ts';
import { type KeyLimits, toBoundKey } from '../../endpoints/key-limits.ts';
import type { EndpointOwners } from '../../endpoints/owners.ts';
import { listGlobalRoles, type WebhookSettings } from '../../settings/settings.ts';
import { createSingleCandidateReader } from '../fanout/candidates.ts';
import { createDeliveries, createInsertParameters, divideByReader, type Result } from '../fanout/delivery-batches.ts';
import type { EventLog } from '../fanout/event-log.ts';
import { INSERT_BACKFILL_DELIVERIES } from '../fanout/insert-deliveries-sql.ts';
import type { OutgoingEvent } from '../fanout/outgoing-event.ts';
import { createOwnerDeliveries, type NewDelivery } from '../fanout/owner-deliveries.ts';
import type { Audience, CheckReadability } from '../readability/readability.ts';
import {
  type BackfillStatus,
  type LockedRow,
  lockBackfillSql,
  type PageRow,
  READ_OBSTACLES,
  READ_PAGE,
  STOP_BACKFILL,
  STORE_PROGRESS,
} from './backfills-sql.ts';

/** Maximum number of deliveries of backfills that wait at an endpoint. New deliveries wait behind at most as many. */
const MAX_WAITING = 500;
/** A page follows when at most this many wait. An ordered endpoint gets a page only when none wait, so that pages keep their order. */
const LOW_WAITING = MAX_WAITING / 2;
/** Maximum number of events that a page searches for those with the right names. */
const MAX_SEARCHED = 5000;
/** Maximum bytes of the records of a page, unless the first is larger. */
const PAGE_BYTES = 4 * 2 ** 20;

/** The result of a page of a backfill. */
interface HandledPage {
  /** The number of events whose names matched. */
  examined: number;
  /** Whether another page may follow at once. */
  more: boolean;
}

/** What an endpoint may be sent, at the time of a page. */
interface BackfillTarget {
  endpointId: string;
  audience: Audience;
}

/** The events of a page, and the end of its search. */
interface Page {
  rows: PageRow[];
  at: string;
  position: number;
  isLast: boolean;
  latest: number;
}

/** The position of the last event that a page handles, and whether it is the last page. */
function readPage(
  found: readonly PageRow[],
  [, , , , , , , , , , afterAt, afterPosition]: LockedRow,
  size: number,
): Page {
  const rows = found
    .filter(([id]) => id !== null)
    .sort(([, , a, p], [, , b, q]) => Date.parse(a!) - Date.parse(b!) || p! - q!);
  const [, , searchedAt, searchedPosition, , , , , , , , searched, matching, latest] = found.find(
    ([id]) => id === null,
  )!;
  // The page was cut by its size: the next one begins after its last event.
  const isCut = matching === size || rows.length < matching!;
  const last = isCut ? rows.at(-1)! : undefined;
  return {
    rows,
    at: last?.[2] ?? searchedAt ?? afterAt,
    position: last?.[3] ?? searchedPosition ?? afterPosition,
    isLast: !isCut && searched! < MAX_SEARCHED,
    latest: latest!,
  };
}

/** Sends a page of a backfill. Returns undefined if the backfill does not run, or another process handles a page of it. */
export type SendBackfillPage = (id: string) => Promise<HandledPage | undefined>;

/**
 * Creates the function that sends pages of backfills. A page reads events from the log, and decides with the functions of the fan-out which of
 * them the endpoint gets, and what they contain. The owner must also be able to read the record as it is now, as for any attempt.
 */
export function createBackfillPages(
  host: Pick<Host, 'database' | 'queues' | 'service' | 'log' | 'keyring' | 'resources'>,
  owners: EndpointOwners,
  settings: Pick<WebhookSettings, 'globalPolicy'>,
  {
    eventLog,
    check,
    limits,
  }: { eventLog: EventLog; check: CheckReadability; limits: Pick<KeyLimits, 'findReadLimit'> },
): SendBackfillPage {
  const { database, queues, keyring } = host;
  const lockText = lockBackfillSql(ownersSql(owners));
  const roles = listGlobalRoles(settings);
  const readCandidates = createSingleCandidateReader(owners);
  const deliveriesOfOwner = createOwnerDeliveries(host, settings, limits);

  /** Returns the deliveries that the fan-out would create for the endpoint now. */
  async function createCandidateDeliveries(events: readonly OutgoingEvent[], tx: Executor): Promise<NewDelivery[]> {
    if (events.length === 0) return [];
    const { pageOf, readers } = await readCandidates(events, tx);
    const batch = divideByReader(events, pageOf);
    const result: Result = { deliveries: 0, endpoints: new Map() };
    return (await Array.fromAsync(createDeliveries(deliveriesOfOwner, batch, readers, result))).flat();
  }

  /** Creates the deliveries of a page. Returns undefined if nothing at all may be sent to the endpoint. */
  async function createPageDeliveries(
    { rows, latest }: Page,
    { endpointId, audience }: BackfillTarget,
    tx: Executor,
  ): Promise<NewDelivery[] | undefined> {
    const events = rows.flatMap(
      ([id, name, at, position, resource, ownerId, record, encryptedRecord, data, changed, isDelivered]) => {
        if (isDelivered) return [];
        const known = { id: id!, name: name!, at: at!, position: position! };
        return eventLog.read({ ...known, resource, ownerId, record, encryptedRecord, data, changed }, endpointId) ?? [];
      },
    );
    const found = await createCandidateDeliveries(events, tx);
    if (found.length === 0) return [];
    const bodies = found.map((one) => ({ type: one.type, body: decryptStoredBody(keyring, one.id, one) }));
    const verdicts = await check(audience, bodies);
    if (verdicts === undefined) return undefined;
    const readable = found.filter((_, i) => verdicts[i]).sort((a, b) => a.position - b.position);
    // An ordered endpoint gets them after the events that wait now, and before later ones, which so wait for one page only.
    return readable.map((one, i) => ({ ...one, position: latest + 1 + i }));
  }

  async function sendLockedPage(id: string, locked: LockedRow, tx: Executor): Promise<HandledPage & { sent: number }> {
    const [endpointId, open, owner, scope, , ordered, apiKeyId, keyScopes, names, until, afterAt, afterPosition] =
      locked;
    const nothing = { examined: 0, sent: 0, more: false };
    const stop = async () => {
      await tx.write({ text: STOP_BACKFILL, values: [id] });
      return nothing;
    };
    if (!open) return stop();
    // A statement of its own, because its snapshot must be newer than the lock: another process may just have sent a page.
    const obstacles = {
      name: 'webhook_backfill_obstacles',
      text: READ_OBSTACLES,
      values: [endpointId, MAX_WAITING, id],
    };
    const [[waiting, isHandling] = [0, true]] = await tx.write<[number, boolean]>(obstacles);
    if (isHandling || waiting > (ordered ? 0 : LOW_WAITING)) return nothing;
    const size = MAX_WAITING - waiting;
    const finishedFrom = new Date(Date.parse(afterAt) - DAY_MS).toISOString();
    const values = [endpointId, afterAt, afterPosition, until, names, size, MAX_SEARCHED, PAGE_BYTES, finishedFrom];
    const found = await tx.write<PageRow>({ name: 'webhook_backfill_page', text: READ_PAGE, values });
    const page = readPage(found, locked, size);
    const key = toBoundKey({ apiKeyId: apiKeyId ?? undefined, scopes: keyScopes ?? [] });
    const [organisationRole, polled] = locked.slice(-2) as [string | null, boolean];
    const audience = { owner: owner!, organisationRole, scope: scope!, key };
    const deliveries = await createPageDeliveries(page, { endpointId, audience }, tx);
    if (deliveries === undefined) return stop();
    const sent = deliveries.length === 0 ? 0 : await insertDeliveries(deliveries, polled ? [endpointId] : [], tx);
    const status: BackfillStatus = page.isLast ? 'finished' : 'running';
    const progress = [id, page.at, page.position, sent, status];
    await tx.write({ name: 'webhook_backfill_progress', text: STORE_PROGRESS, values: progress });
    return { examined: page.rows.length, sent, more: !page.isLast };
  }

  async function insertDeliveries(
    deliveries: readonly NewDelivery[],
    polled: readonly string[],
    tx: Executor,
  ): Promise<number> {
    const values = [...createInsertParameters(deliveries), polled];
    return (await tx.write({ name: 'webhook_backfill_insert', text: INSERT_BACKFILL_DELIVERIES, values })).length;
  }

  return async (id) => {
    const handled = await database.transaction(async (tx) => {
      const statement = { name: 'webhook_backfill_lock', text: lockText, values: [id, roles] };
      const [locked] = await tx.write<LockedRow>(statement);
      return locked && { locked, page: await sendLockedPage(id, locked, tx) };
    });
    if (handled === undefined) return undefined;
    const { locked, page } = handled;
    const [endpointId, , owner, , slow] = locked;
    if (page.sent > 0 && locked.at(-1)) announcePolledEndpoints(queues, [endpointId]);
    else if (page.sent > 0)
      await enqueueEndpointJobs(queues, [{ id: endpointId, owner: owner!, lane: chooseLane(slow) }]);
    return page;
  };
}
