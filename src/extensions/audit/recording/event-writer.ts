import { setTimeout as sleep } from 'node:timers/promises';
import { type Host, isTransient, newId, type RunningWorker } from '../../../extension/index.ts';
import type { AuditEvent } from '../trail/entry.ts';

/** The name of the outbox rows in which the audit extension stores in-process events until the relay records them. */
export const AUDIT_EVENT_ROW = 'audit.event';

/** Stores such rows. $1 event ids (array), $2 the event name of all rows, $3 payloads (array). */
export const INSERT_OUTBOX = `
  insert into outbox (event_id, name, payload)
  select event_id, $2, payload from unnest($1::text[], $3::jsonb[]) as rows(event_id, payload)`;

/** The payload of an outbox row of the audit extension. `email` identifies the user that the event is about. */
export type AuditEventPayload = AuditEvent & { email?: string };

const ROWS_AT_ONCE = 500;
// Maximum number of events that wait while the database is unreachable: about a minute of heavy load, and a few megabytes.
const MAX_WAITING = 10_000;
const RETRY_MS = 1000;

/** Writes in-process events to the outbox in the background. */
export interface EventWriter extends RunningWorker {
  add(payload: AuditEventPayload): void;
}

/**
 * Creates the writer that stores in-process events in the outbox without delaying their source. Events that arrive while a statement
 * runs go into the next one. While the database is unreachable, it retries every second and keeps a limited number of events.
 */
export function createEventWriter({ database, wake, log }: Pick<Host, 'database' | 'wake' | 'log'>): EventWriter {
  const waiting: AuditEventPayload[] = [];
  const stopping = new AbortController();
  let lost = 0;
  let batchSize = ROWS_AT_ONCE;
  let running: Promise<void> | undefined;

  async function writeBatch(): Promise<void> {
    const batch = waiting.slice(0, batchSize);
    const values = [batch.map(() => newId()), AUDIT_EVENT_ROW, batch.map((one) => JSON.stringify(one))];
    await database.write({ name: 'audit_outbox', text: INSERT_OUTBOX, values });
    waiting.splice(0, batch.length);
    batchSize = Math.min(2 * batchSize, ROWS_AT_ONCE);
    wake.hint();
  }

  async function writeWaitingEvents(): Promise<void> {
    while (waiting.length > 0) {
      try {
        await writeBatch();
      } catch (error) {
        log.error({ err: error, waiting: waiting.length, lost }, 'Could not write events to the audit trail');
        if (!isTransient(error)) {
          // An event that the database refuses must not block the others: find it one by one and drop it.
          if (batchSize === 1) waiting.shift();
          batchSize = 1;
          continue;
        }
        if (stopping.signal.aborted) return;
        await sleep(RETRY_MS, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
      }
    }
    running = undefined;
  }

  return {
    add(payload) {
      if (waiting.length >= MAX_WAITING) {
        lost++;
        return;
      }
      waiting.push(payload);
      // Events of the same tick go into one statement.
      running ??= Promise.resolve().then(writeWaitingEvents);
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
