import {
  ApiError,
  DAY_MS,
  gatewaysByName,
  type Host,
  isId,
  parseCreatedMs,
  type Viewer,
} from '../../../extension/index.ts';
import { type EventFinder, type KnownChange, type KnownEvent, toKnownChange } from '../api/known-events.ts';
import { earliestFinishSql, isKeptSql } from '../deliveries/deliveries-sql.ts';
import type { DeletedRecords } from '../engine/readability/deleted-records.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import type { Question, Subject } from './explain-rules.ts';
import type { AdministeredEndpoint } from './responses.ts';

/** Resolves the id of a delivery to its event. $1 delivery, $2 see `earliestFinishSql`. Uses the primary keys. */
const EVENT_OF_DELIVERY = (isKept: string) => `
  select event_id, type, created_at, body from webhook_deliveries where id = $1
  union all
  select event_id, type, created_at, body from webhook_delivery_log d where id = $1 and finished_at >= $2::timestamptz and ${isKept}`;

/** `body`: empty if it is encrypted. */
type EventRow = [eventId: string, type: string, createdAt: string, body: string];

/** The id of the record that a body is about; null for an encrypted body, and for events of the app without an id. */
function recordIdIn(body: string): string | null {
  const { data } = (body === '' ? {} : JSON.parse(body)) as { data?: { id?: unknown } | null };
  return isId(data?.id) ? data.id : null;
}

/** Returns the change of an event by the current state of its record. */
export function toChange(name: string, subject: Subject): KnownChange | undefined {
  if (subject === undefined || 'owner' in subject || subject.record === undefined) return undefined;
  return toKnownChange(name, subject.gateway, subject.record);
}

/** Finds what is stored about an event, for its explanation. */
interface QuestionFinder {
  /**
   * @param given the id of the event or of a delivery
   * @throws ApiError NOT_FOUND if nothing is stored about the event
   */
  findQuestion(given: string, endpoint: AdministeredEndpoint, owner: Viewer): Promise<Question>;
  /** Loads the record that an event is about; undefined for events of the app. @param recordId null if it is not known */
  loadSubject(event: string, recordId: string | null): Promise<Subject>;
}

/** Creates the finder of what explanations are about. */
export function createQuestionFinder(
  { database, resources }: Pick<Host, 'database' | 'resources'>,
  settings: Pick<WebhookSettings, 'events' | 'keepDeliveriesDays'>,
  finder: EventFinder,
  deleted: Pick<DeletedRecords, 'read'>,
): QuestionFinder {
  const gateways = gatewaysByName(resources);
  const eventText = EVENT_OF_DELIVERY(isKeptSql(settings));

  const findGateway = (event: string) =>
    Object.hasOwn(settings.events, event) ? undefined : gateways.get(event.slice(0, event.indexOf('.')));

  async function loadSubject(event: string, recordId: string | null): Promise<Subject> {
    const gateway = findGateway(event);
    if (gateway === undefined) return undefined;
    if (recordId === null) return { gateway, record: undefined };
    const [current] = await gateway.load([recordId]);
    const [last] = current === undefined ? await deleted.read([{ resource: gateway.name, id: recordId }]) : [];
    return { gateway, record: current ?? last?.record };
  }

  function toSubject(about: KnownEvent['about']): Subject {
    if (about === undefined || 'owner' in about) return about;
    return { gateway: gateways.get(about.resource)!, record: about.record };
  }

  async function readEventOfDelivery(deliveryId: string): Promise<EventRow | undefined> {
    const values = [deliveryId, earliestFinishSql([deliveryId])];
    const [row] = await database.readSlowly<EventRow>({ text: eventText, values });
    return row;
  }

  async function findQuestion(given: string, endpoint: AdministeredEndpoint, owner: Viewer): Promise<Question> {
    const delivered = await readEventOfDelivery(given);
    const event = delivered?.[0] ?? given;
    const rows = await finder.findDeliveries(owner.id, event);
    const known = await finder.findEvent(event, rows, endpoint, owner);
    if (known === undefined && delivered === undefined) {
      if (parseCreatedMs(given) >= Date.now() - settings.keepDeliveriesDays * DAY_MS)
        throw new ApiError(
          'NOT_FOUND',
          'Nothing is stored about this event. Events that matched no endpoint are not stored: ask by record instead',
        );
      return {
        event,
        name: '',
        at: new Date(parseCreatedMs(given)).toISOString(),
        waits: false,
        subject: undefined,
        change: undefined,
      };
    }
    const type = known?.name ?? delivered![1];
    const subject = toSubject(known?.about) ?? (await loadSubject(type, await findRecordId(delivered, rows)));
    return {
      event,
      name: type,
      at: known?.at ?? delivered![2],
      waits: known?.waitsForEndpoint ?? false,
      subject,
      change: (await known?.readChange()) ?? toChange(type, subject),
    };
  }

  /** The id of the record that an event is about, by the body of a delivery; null if the body is encrypted. */
  async function findRecordId(
    delivered: EventRow | undefined,
    rows: Awaited<ReturnType<EventFinder['findDeliveries']>>,
  ): Promise<string | null> {
    if (delivered !== undefined) return recordIdIn(delivered[3]);
    const [first] = rows;
    if (first === undefined) return null;
    const row = await readEventOfDelivery(first[3]);
    return row === undefined ? null : recordIdIn(row[3]);
  }

  return { findQuestion, loadSubject };
}
