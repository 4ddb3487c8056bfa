import type { PushResult } from '../../declare/push.ts';
import type { Events } from '../../platform/events.ts';

/** The outcome of a push after every device was tried. */
export interface Outcome {
  id: string;
  status: PushResult['status'];
  devices: number;
}

/** SQL expressions for the counts of a push: chunks not tried yet, all devices, accepting devices, and captured devices. */
interface PushCountersSql {
  open: string;
  devices: string;
  ok: string;
  captured: string;
}

/** Builds the SQL expression for the status of a push from the expressions of its counts. */
export function pushStatusSql({ open, devices, ok, captured }: PushCountersSql): string {
  return `case when ${open} > 0 then 'queued' when ${devices} = 0 then 'no-devices' when ${ok} = 0 then 'failed'
      when ${ok} < ${devices} then 'partial' when ${captured} = ${devices} then 'captured' else 'sent' end`;
}

/** Emits the event that a push is finished. Call it once, in the process that finished the push. */
export function emitPushOutcome(events: Events, { id, status, devices }: Outcome): void {
  events.emit(status === 'failed' ? 'push.failed' : 'push.sent', { id, status, devices });
}
