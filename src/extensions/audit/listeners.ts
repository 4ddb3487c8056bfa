import { AUDITED_EVENTS } from './audited-events.ts';
import type { EventWriter } from './event-writer.ts';

const NOTHING = {
  resource: null,
  record: null,
  user: null,
  via: null,
  credential: null,
  ip: null,
  requestId: null,
  changes: null,
  details: null,
};

/** Listeners of the events that the trail tells of, by name. */
export function createListeners({ add }: Pick<EventWriter, 'add'>): Record<string, (payload: never) => void> {
  const listeners = Object.entries(AUDITED_EVENTS).map(([action, eventOf]) => [
    action,
    (payload: unknown) => {
      const event = eventOf(payload);
      if (event === undefined) return;
      const given = Object.entries(event).filter(([, value]) => value !== undefined && value !== '');
      add({ ...NOTHING, at: new Date().toISOString(), action, ...Object.fromEntries(given) });
    },
  ]);
  return Object.fromEntries(listeners);
}
