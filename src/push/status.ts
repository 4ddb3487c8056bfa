import type { PushResult } from '../declare/host.ts';
import type { Events } from '../platform/events.ts';

/** What a push came to, once the last device is answered. */
export interface Outcome {
  id: string;
  status: PushResult['status'];
  devices: number;
}

/** Tells listeners that a push is finished. Call it once, in the process that finished it. */
export function emitOutcome(events: Events, { id, status, devices }: Outcome): void {
  events.emit(status === 'failed' ? 'push.failed' : 'push.sent', { id, status, devices });
}
