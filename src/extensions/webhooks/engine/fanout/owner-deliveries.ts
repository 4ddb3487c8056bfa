import { withReadLimit } from '../../../../declare/actor.ts';
import type { Host } from '../../../../declare/host.ts';
import { allowsAction, type Viewer } from '../../../../declare/policy.ts';
import { newId } from '../../../../platform/ids.ts';
import { isTransient } from '../../../../platform/postgres/errors.ts';
import { generateMessageId } from '../../deliveries/message.ts';
import { toStoredBody } from '../../deliveries/stored-body.ts';
import type { KeyLimits } from '../../endpoints/key-limits.ts';
import type { WebhookSettings } from '../../settings/settings.ts';
import type { Candidate } from './candidates.ts';
import { collectMentions } from './mentions.ts';
import type { OutgoingEvent, RecordEvent } from './outgoing-event.ts';

/** A delivery to store. */
export interface NewDelivery {
  id: string;
  endpointId: string;
  eventId: string;
  messageId: string;
  type: string;
  body: string;
  encryptedBody: string | null;
  position: number;
  /** The owner of the event's record. */
  subjectId: string | undefined;
  trace: string | null;
  /** See `collectMentions`. */
  mentions: string[];
}

/** The `data` of an event, as serialized for one owner. */
interface EventData {
  json: string;
  /** Whether `json` contains values of encrypted fields. */
  isEncrypted: boolean;
  /** The owner of the event's record. */
  subjectId: string | undefined;
  /** See `collectMentions`. */
  mentions: string[];
}

/** The endpoints of one owner that could get an event, by event. */
export type CandidatesByEvent = Map<OutgoingEvent, Candidate[]>;

/** The deliveries to one owner's endpoints. Both steps reject only if the database is unavailable; the relay then tries again. */
export interface OwnerDeliveries {
  /** Selects the events that the owner may receive, with the endpoints that receive them. */
  select(candidates: CandidatesByEvent, owner: Viewer): Promise<CandidatesByEvent>;
  /** Creates the deliveries of selected events. */
  create(selected: CandidatesByEvent, owner: Viewer): Promise<NewDelivery[]>;
}

const isRecordEvent = (event: OutgoingEvent): event is RecordEvent => event.gateway !== undefined;

/** Creates the function that decides which events an owner's endpoints receive, and serializes them. */
export function createOwnerDeliveries(
  host: Pick<Host, 'service' | 'log' | 'keyring' | 'resources'>,
  settings: Pick<WebhookSettings, 'globalPolicy'>,
  limits: Pick<KeyLimits, 'readLimitOf'>,
): OwnerDeliveries {
  const declarations = new Map(host.resources.map(({ name, declaration }) => [name, declaration]));

  /** Selects the events for each endpoint of a user: with scope `own`, readable events; with `global`, all in the user's scope filter. */
  async function selectReceivedEvents(candidates: CandidatesByEvent, user: Viewer): Promise<CandidatesByEvent> {
    // One context for all events, so that the scope of each resource is evaluated once.
    const viewContext = { user, req: undefined, service: host.service };
    const hasGlobal = [...candidates.values()].some((list) => list.some((one) => one.global));
    const isGlobalAllowed =
      hasGlobal &&
      (await allowsAction(settings.globalPolicy, { ...viewContext, action: 'webhook', doc: undefined }, false));
    // Side by side, so that look-ups of related records share a statement.
    const reachedByEvent = [...candidates].map(async ([event, list]) => {
      const own = list.some((one) => !one.global);
      const all = isGlobalAllowed && list.some((one) => one.global);
      const { gateway } = event;
      const readable =
        own && (gateway === undefined ? event.owner === user.id : await gateway.readableBy(event.record, viewContext));
      const inScope = all && (gateway === undefined || (await gateway.inScope(event.record, viewContext)));
      return [event, list.filter((one) => (one.global ? inScope : readable))] as const;
    });
    return new Map((await Promise.all(reachedByEvent)).filter(([, reached]) => reached.length > 0));
  }

  /**
   * Divides events by what the endpoints of an owner show of them. An endpoint that is bound to an API key expands only records that the key may
   * read; if that leaves out nothing, it gets what the owner's other endpoints get.
   */
  function divideByViewer(selected: CandidatesByEvent, owner: Viewer): Map<Viewer, CandidatesByEvent> {
    const viewerOfKey = new Map<string, Viewer>();
    const limit = (scopes: readonly string[]): Viewer => {
      const key = scopes.join(' ');
      const auth = { via: 'api-key', scopes, id: '' } as const;
      const viewer = viewerOfKey.get(key) ?? withReadLimit(owner, limits.readLimitOf(auth));
      viewerOfKey.set(key, viewer);
      return viewer;
    };
    const viewerOf = ({ gateway }: OutgoingEvent, { keyScopes }: Candidate): Viewer => {
      if (keyScopes === null || gateway === undefined) return owner;
      const limited = limit(keyScopes);
      return gateway.visibilityKey(limited) === gateway.visibilityKey(owner) ? owner : limited;
    };
    const divided = new Map<Viewer, CandidatesByEvent>();
    for (const [event, list] of selected) {
      for (const [viewer, some] of Map.groupBy(list, (one) => viewerOf(event, one))) {
        const byEvent: CandidatesByEvent = divided.get(viewer) ?? new Map();
        divided.set(viewer, byEvent.set(event, some));
      }
    }
    return divided;
  }

  /** Serializes events for a viewer. Each record is serialized once, for all endpoints with the same view. */
  async function serializeEventsForViewer(
    events: readonly OutgoingEvent[],
    user: Viewer,
  ): Promise<Map<OutgoingEvent, EventData>> {
    const data = new Map<OutgoingEvent, EventData>();
    for (const [gateway, list] of Map.groupBy(events.filter(isRecordEvent), (event) => event.gateway)) {
      const serialized = await gateway.serialize(
        list.map((event) => event.record),
        { user },
      );
      list.forEach((event, i) => {
        const record = serialized[i]!;
        const subjectId = gateway.ownerOf(event.record);
        data.set(event, {
          json: JSON.stringify(record),
          isEncrypted: gateway.holdsEncrypted(record),
          subjectId,
          mentions: collectMentions(record, subjectId, gateway.declaration, declarations),
        });
      });
    }
    for (const event of events) {
      if (event.gateway !== undefined) continue;
      const mentions = collectMentions(JSON.parse(event.data), event.owner, undefined, declarations);
      data.set(event, { json: event.data, isEncrypted: false, subjectId: undefined, mentions });
    }
    return data;
  }

  async function createDeliveries(selected: CandidatesByEvent, owner: Viewer): Promise<NewDelivery[]> {
    const parts = Array.from(divideByViewer(selected, owner), ([viewer, part]) => createDeliveriesFor(viewer, part));
    return (await Promise.all(parts)).flat();
  }

  async function createDeliveriesFor(viewer: Viewer, selected: CandidatesByEvent): Promise<NewDelivery[]> {
    const data = await serializeEventsForViewer([...selected.keys()], viewer);
    return [...selected].flatMap(([event, list]) => {
      const { json, isEncrypted, subjectId, mentions } = data.get(event)!;
      const text = `{"type":${JSON.stringify(event.name)},"timestamp":"${event.at}","data":${json}}`;
      const { id: eventId, name: type, position, trace } = event;
      return list.map(({ id: endpointId }): NewDelivery => {
        const id = newId();
        const stored = toStoredBody(host.keyring, id, text, isEncrypted);
        return {
          id,
          endpointId,
          eventId,
          messageId: generateMessageId(),
          type,
          ...stored,
          position,
          subjectId,
          trace,
          mentions,
        };
      });
    });
  }

  /** Runs a step for the events of an owner. If a function of the project throws, the events are tried one by one, and those that fail are left out. */
  async function leaveOutFailing<T>(
    candidates: CandidatesByEvent,
    user: Viewer,
    step: (candidates: CandidatesByEvent) => Promise<Iterable<T>>,
  ): Promise<T[]> {
    try {
      return [...(await step(candidates))];
    } catch (error) {
      if (isTransient(error)) throw error;
      if (candidates.size > 1) {
        const alone = await Promise.all([...candidates].map((entry) => leaveOutFailing(new Map([entry]), user, step)));
        return alone.flat();
      }
      // The owner does not receive the event; other owners are not affected.
      const [event] = candidates.keys();
      host.log.error(
        { err: error, event: event?.name, id: event?.id, user: user.id },
        'a policy threw; the event is not sent to this user',
      );
      return [];
    }
  }

  return {
    select: async (candidates, user) =>
      new Map(await leaveOutFailing(candidates, user, (events) => selectReceivedEvents(events, user))),
    create: (selected, user) => leaveOutFailing(selected, user, (events) => createDeliveries(events, user)),
  };
}
