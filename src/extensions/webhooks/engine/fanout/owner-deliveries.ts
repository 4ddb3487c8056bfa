import { gatewaysByName, type Host, isTransient, newId, type Viewer } from '../../../../extension/index.ts';
import { generateMessageId } from '../../deliveries/message.ts';
import { toStoredBody } from '../../deliveries/stored-body.ts';
import type { KeyLimits } from '../../endpoints/key-limits.ts';
import type { WebhookSettings } from '../../settings/settings.ts';
import type { CandidatesByEvent } from './candidates.ts';
import { divideByViewer, selectReceivedEvents } from './select-events.ts';
import { serializeEventsForViewer } from './serialize-events.ts';

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

/** The deliveries to one owner's endpoints. Both steps reject only if the database is unavailable; the relay then tries again. */
export interface OwnerDeliveries {
  /** Selects the events that the owner may receive, with the endpoints that receive them. */
  select(candidates: CandidatesByEvent, owner: Viewer): Promise<CandidatesByEvent>;
  /** Creates the deliveries of selected events. */
  create(selected: CandidatesByEvent, owner: Viewer): Promise<NewDelivery[]>;
}

/** Creates the function that decides which events an owner's endpoints receive, and serializes them. */
export function createOwnerDeliveries(
  host: Pick<Host, 'service' | 'log' | 'keyring' | 'resources'>,
  settings: Pick<WebhookSettings, 'globalPolicy'>,
  limits: Pick<KeyLimits, 'findReadLimit'>,
): OwnerDeliveries {
  const { service, log } = host;
  const gateways = gatewaysByName(host.resources);
  const selection = { service, log, gateways, limits, globalPolicy: settings.globalPolicy };
  const declarations = new Map(host.resources.map(({ name, declaration }) => [name, declaration]));

  async function createDeliveries(selected: CandidatesByEvent, owner: Viewer): Promise<NewDelivery[]> {
    const parts = Array.from(divideByViewer(limits, selected, owner), ([viewer, part]) =>
      createDeliveriesFor(viewer, part),
    );
    return (await Promise.all(parts)).flat();
  }

  async function createDeliveriesFor(viewer: Viewer, selected: CandidatesByEvent): Promise<NewDelivery[]> {
    const data = await serializeEventsForViewer(declarations, [...selected.keys()], viewer);
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
  async function omitFailing<T>(
    candidates: CandidatesByEvent,
    user: Viewer,
    step: (candidates: CandidatesByEvent) => Promise<Iterable<T>>,
  ): Promise<T[]> {
    try {
      return [...(await step(candidates))];
    } catch (error) {
      if (isTransient(error)) throw error;
      if (candidates.size > 1) {
        const alone = await Promise.all([...candidates].map((entry) => omitFailing(new Map([entry]), user, step)));
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
      new Map(await omitFailing(candidates, user, (events) => selectReceivedEvents(selection, events, user))),
    create: (selected, user) => omitFailing(selected, user, (events) => createDeliveries(events, user)),
  };
}
