import type { Host } from '../../declare/host.ts';
import type { Keyring } from '../../platform/crypto/keyring.ts';
import { type AddToBatch, createMicroBatch } from '../../platform/micro-batch.ts';
import { plainArray, textArray } from '../../platform/postgres/array-literal.ts';
import { retryTransient } from '../../platform/postgres/retry.ts';
import type { Outcome } from './deliver.ts';
import type { DeliveryStatus } from './delivery.ts';
import type { EndpointRow } from './endpoint.ts';
import { WRITE_RETRY_MS } from './leases.ts';
import { createDisabledNotifier } from './notify-disabled.ts';
import { nextAttemptDelay } from './retry-schedule.ts';
import { RECORD_RESULTS } from './sql/record-results.ts';
import { encryptResponse } from './stored-body.ts';

/** An attempt and its outcome. */
interface Attempted {
  /** The delivery. */
  id: string;
  /** Whether its body is encrypted: then the answer, which may repeat the body, is encrypted, too. */
  isEncrypted?: boolean;
  /** Its number; it counts only while that is still the delivery's last attempt. */
  attempt: number;
  scheduleAttempt: number;
  /** For an attempt whose worker died, the duration and whether the receiver is slow are unknown: null. */
  outcome: Omit<Outcome, 'durationMs' | 'slow'> & { durationMs: number | null; slow: boolean | null };
}

/** An attempt that was made. */
export interface Result extends Attempted {
  /** ms since the epoch: when it was due. */
  dueAt: number;
  outcome: Outcome;
}

const MOST = 500;

/** What a delivery is after an attempt, and when the next one is made. */
export function afterAttempt(
  { outcome, scheduleAttempt }: Pick<Attempted, 'outcome' | 'scheduleAttempt'>,
  schedule: readonly number[],
): { status: DeliveryStatus; delayMs: number | null } {
  if (outcome.ok) return { status: 'succeeded', delayMs: null };
  const { retryAfterMs } = outcome;
  const delayMs =
    outcome.gone || outcome.refused ? null : nextAttemptDelay({ schedule, attempt: scheduleAttempt, retryAfterMs });
  return { status: delayMs === null ? 'failed' : 'pending', delayMs };
}

/** The parameters of the statement: see sql/record-results.ts. */
function parameters(
  keyring: Keyring,
  results: readonly Attempted[],
  schedule: readonly number[],
  disableAfter: number,
): unknown[] {
  const after = results.map((result) => afterAttempt(result, schedule));
  const plain = (value: (result: Attempted) => string | number | boolean | null) => plainArray(results.map(value));
  const text = (value: (result: Attempted) => string | null) => textArray(results.map(value));
  const encrypted = ({ id, isEncrypted, outcome: { response } }: Attempted) =>
    isEncrypted && response ? encryptResponse(keyring, id, response) : null;
  return [
    plain(({ id }) => id),
    plain(({ attempt }) => attempt),
    plain(({ outcome }) => outcome.at),
    plainArray(after.map(({ status }) => status)),
    plain(({ outcome }) => outcome.statusCode),
    plain(({ outcome }) => outcome.durationMs),
    text(({ outcome }) => outcome.error),
    plainArray(after.map(({ delayMs }) => delayMs)),
    text(({ isEncrypted, outcome }) => (isEncrypted && outcome.response ? null : outcome.response)),
    plain(({ outcome }) => outcome.slow),
    plain(({ outcome }) => outcome.gone),
    plain(({ outcome }) => outcome.refused === true),
    disableAfter,
    text(encrypted),
  ];
}

/** Writes the results of attempts: deliveries, their logs and the counters of their endpoints. */
export type WriteResults = (results: readonly Attempted[]) => Promise<void>;

/** Creates the writer of results. It reports endpoints that the results disable. */
export function createResultWriter(
  host: Pick<Host, 'database' | 'events' | 'log' | 'mail' | 'keyring'>,
  settings: { retrySchedule: readonly number[]; disableAfterFailures: number; notifyOwner: boolean },
): WriteResults {
  const notifyDisabled = createDisabledNotifier(host, settings);
  return async (results) => {
    const values = parameters(host.keyring, results, settings.retrySchedule, settings.disableAfterFailures);
    const statement = { name: 'webhook_record_results', text: RECORD_RESULTS, values };
    const disabled = await retryTransient(() => host.database.write<EndpointRow>(statement), WRITE_RETRY_MS);
    if (disabled.length > 0) await notifyDisabled(disabled);
  };
}

/** Creates the writer of a worker's results, which collects them in batches. */
export function createResultRecorder(...parts: Parameters<typeof createResultWriter>): AddToBatch<Result> {
  return createMicroBatch<Result>(createResultWriter(...parts), MOST);
}
