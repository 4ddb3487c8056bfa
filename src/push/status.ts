import type { PushResult } from '../declare/push.ts';
import type { Events } from '../platform/events.ts';

/** What a push came to, once every device was tried. */
export interface Outcome {
  id: string;
  status: PushResult['status'];
  devices: number;
}

/** What a push's numbers are, as SQL. */
interface Numbers {
  open: string;
  devices: string;
  ok: string;
  captured: string;
}

/** The status of a push as SQL, from its numbers as SQL. */
export function statusSql({ open, devices, ok, captured }: Numbers): string {
  return `case when ${open} > 0 then 'queued' when ${devices} = 0 then 'no-devices' when ${ok} = 0 then 'failed'
      when ${ok} < ${devices} then 'partial' when ${captured} = ${devices} then 'captured' else 'sent' end`;
}

/** Tells listeners that a push is finished. Call it once, in the process that finished it. */
export function emitOutcome(events: Events, { id, status, devices }: Outcome): void {
  events.emit(status === 'failed' ? 'push.failed' : 'push.sent', { id, status, devices });
}
