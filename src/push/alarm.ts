import type { Platform } from '../platform/platform.ts';

/** Each transport raises each alarm once in so many ms in a process: it is about all devices, and comes back with every push. */
const QUIET_MS = 5 * 60_000;

/** What is wrong with how a transport is set up. */
export interface Misconfigured {
  transport: string;
  /** `gone`: device after device is gone and none is reached. `refused`: the provider says so itself. */
  reason: 'gone' | 'refused';
  /** What the provider says of the last of them. */
  error: string;
  /** How many devices that was said of. */
  devices: number;
}

/** Raises the alarm that a transport's credentials, project or environment are wrong: `push.misconfigured`, and an error in the log. */
export function createAlarm({ events, log }: Pick<Platform, 'events' | 'log'>): (alarm: Misconfigured) => void {
  const raised = new Map<string, number>();
  return (alarm) => {
    const key = `${alarm.reason} ${alarm.transport}`;
    const now = performance.now();
    if (now - (raised.get(key) ?? Number.NEGATIVE_INFINITY) < QUIET_MS) return;
    raised.set(key, now);
    log.error(alarm, 'a push transport seems to be misconfigured; its devices are kept');
    events.emit('push.misconfigured', alarm);
  };
}
