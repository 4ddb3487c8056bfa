import type { EventWriter } from './event-writer.ts';
import { TOLD_EVENTS } from './told-events.ts';

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
  const listeners = Object.entries(TOLD_EVENTS).map(([action, tell]) => [
    action,
    (payload: unknown) => {
      const told = tell(payload);
      if (told === undefined) return;
      const given = Object.entries(told).filter(([, value]) => value !== undefined && value !== '');
      add({ ...NOTHING, at: new Date().toISOString(), action, ...Object.fromEntries(given) });
    },
  ]);
  return Object.fromEntries(listeners);
}
