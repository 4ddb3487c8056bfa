import { setTimeout as sleep } from 'node:timers/promises';
import type { Host } from '../../declare/host.ts';
import { newId } from '../../platform/ids.ts';
import { isTransient } from '../../platform/postgres/errors.ts';
import type { RunningWorker } from '../../platform/queues.ts';
import type { AuditEvent } from './entry.ts';
import { INSERT_OUTBOX } from './sql.ts';

/** The name of the outbox rows that are this extension's own. */
export const OWN_ROW = 'audit.event';

/** What such a row holds. `email`: of the user that it is about. */
export type OwnPayload = AuditEvent & { email?: string };

const ROWS_AT_ONCE = 500;
// While the database is away: a minute of much trouble, and some megabytes.
const MAX_WAITING = 10_000;
const AGAIN_MS = 1000;

/** Writes what happened, in the background. */
export interface EventWriter extends RunningWorker {
  add(payload: OwnPayload): void;
}

/**
 * Writes to the outbox what in-process events tell, many in one statement: nobody waits for it. What gathers while a statement
 * runs makes up the next. While the database is away it tries again each second, and keeps a bounded number.
 */
export function createEventWriter({ database, wake, log }: Pick<Host, 'database' | 'wake' | 'log'>): EventWriter {
  const waiting: OwnPayload[] = [];
  const stopping = new AbortController();
  let lost = 0;
  let most = ROWS_AT_ONCE;
  let running: Promise<void> | undefined;

  async function writeSome(): Promise<void> {
    const some = waiting.slice(0, most);
    const values = [some.map(() => newId()), OWN_ROW, some.map((one) => JSON.stringify(one))];
    await database.write({ name: 'audit_outbox', text: INSERT_OUTBOX, values });
    waiting.splice(0, some.length);
    most = Math.min(2 * most, ROWS_AT_ONCE);
    wake.hint();
  }

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      try {
        await writeSome();
      } catch (error) {
        log.error({ err: error, waiting: waiting.length, lost }, 'events could not be written to the audit trail');
        if (!isTransient(error)) {
          // One that the database refuses must not hold up the others: it alone is dropped.
          if (most === 1) waiting.shift();
          most = 1;
          continue;
        }
        if (stopping.signal.aborted) return;
        await sleep(AGAIN_MS, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
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
      // What else happens in this tick comes along.
      running ??= Promise.resolve().then(run);
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
