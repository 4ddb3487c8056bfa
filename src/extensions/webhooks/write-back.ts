import type { Host } from '../../declare/host.ts';
import { type AddToBatch, createNaturalBatch } from '../../platform/natural-batch.ts';
import { isUnavailable } from '../../platform/postgres/errors.ts';
import type { Outcome } from './deliver.ts';
import type { DeliveryStatus } from './delivery.ts';
import type { EndpointRow } from './endpoint.ts';
import { nextAttemptDelay } from './retry-schedule.ts';
import { WRITE_BACK } from './sql/write-back.ts';
import { createTellDisabled } from './tell-disabled.ts';

/** An attempt that was made. */
export interface Result {
  id: string;
  /** Its number; it counts only while that is still the delivery's last attempt. */
  attempt: number;
  scheduleAttempt: number;
  outcome: Outcome;
}

const MOST = 500;
const AGAIN_MS = [100, 1000];

/** What a delivery is after an attempt, and when the next one is made. */
export function afterAttempt(
  { outcome, scheduleAttempt }: Pick<Result, 'outcome' | 'scheduleAttempt'>,
  schedule: readonly number[],
): { status: DeliveryStatus; delayMs: number | null } {
  if (outcome.ok) return { status: 'succeeded', delayMs: null };
  const { retryAfterMs } = outcome;
  const delayMs = outcome.gone ? null : nextAttemptDelay({ schedule, attempt: scheduleAttempt, retryAfterMs });
  return { status: delayMs === null ? 'failed' : 'pending', delayMs };
}

function logEntry({ at, statusCode, durationMs, error }: Outcome): string {
  return JSON.stringify({ at, statusCode, durationMs, error });
}

function columns(results: readonly Result[], schedule: readonly number[]): unknown[][] {
  const rows = results.map((result) => {
    const { outcome } = result;
    const { status, delayMs } = afterAttempt(result, schedule);
    const { at, statusCode, durationMs, error, response, slow, gone } = outcome;
    return [
      result.id,
      result.attempt,
      at,
      status,
      statusCode,
      durationMs,
      error,
      delayMs,
      response,
      logEntry(outcome),
      slow,
      gone,
    ];
  });
  return rows[0]!.map((_, column) => rows.map((row) => row[column]));
}

/**
 * Makes what writes results back: deliveries, their logs and their endpoints' counters, in batches that form by themselves.
 */
export function createWriteBack(
  host: Pick<Host, 'database' | 'events' | 'log' | 'mail'>,
  settings: { retrySchedule: readonly number[]; disableAfterFailures: number; notifyOwner: boolean },
): AddToBatch<Result> {
  const tellDisabled = createTellDisabled(host, settings);
  async function write(results: Result[], tried = 0): Promise<void> {
    try {
      const values = [...columns(results, settings.retrySchedule), settings.disableAfterFailures];
      const disabled = await host.database.write<EndpointRow>({ name: 'webhook_write_back', text: WRITE_BACK, values });
      if (disabled.length > 0) await tellDisabled(disabled);
    } catch (error) {
      const wait = AGAIN_MS[tried];
      if (wait === undefined || !isUnavailable(error)) throw error;
      // What was sent and is not written is sent again when its lease runs out: worth two more tries.
      await new Promise((resolve) => setTimeout(resolve, wait));
      await write(results, tried + 1);
    }
  }
  return createNaturalBatch(write, MOST);
}
