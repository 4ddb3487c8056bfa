import type { ResourceGateway, Viewer } from '../../../../extension/index.ts';
import { collectMentions } from './mentions.ts';
import type { OutgoingEvent, RecordEvent } from './outgoing-event.ts';

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

/** The declarations of all resources by name. */
type Declarations = ReadonlyMap<string, ResourceGateway['declaration']>;

const isRecordEvent = (event: OutgoingEvent): event is RecordEvent => event.gateway !== undefined;

/** Serializes events for a viewer. Each record is serialized once, for all endpoints with the same view. */
export async function serializeEventsForViewer(
  declarations: Declarations,
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
