import { NOT_READABLE } from '../readability/readability.ts';
import { refusedOutcome, targetOf } from './attempt.ts';
import { createCheckedAttempts } from './checked-attempts.ts';
import type { ClaimRow } from './claim.ts';
import { claimOf } from './claim.ts';
import { laneOf, wakeUp } from './endpoint-jobs.ts';
import { MAKE_TURN_OF } from './lease-store.ts';
import type { WorkerParts } from './process-endpoint.ts';

/**
 * Sends one delivery that somebody asked for, whatever else its endpoint has waiting. It does nothing when the delivery is not due
 * or is in another worker's hands. Who is turned away by a full worker or a stop is found by the sweep.
 */
export async function sendRequested(parts: WorkerParts, deliveryId: string): Promise<void> {
  const { host, slots, sender, check, recordResult } = parts;
  await slots.run('requested', async () => {
    if (parts.isStopping()) return;
    if (parts.globalGate !== undefined && !(await parts.globalGate('delivery', deliveryId))) return;
    await host.database.write({ name: 'webhook_make_turn_of', text: MAKE_TURN_OF, values: [deliveryId] });
    const values = [deliveryId, parts.deliveryLeaseMs, parts.globalRoles];
    const statement = { name: 'webhook_claim_one', text: parts.claimOneText, values };
    const claim = claimOf(await host.database.write<ClaimRow>(statement));
    const [claimed] = claim?.deliveries ?? [];
    if (claim === undefined || claimed === undefined) return;
    const { id, attempt, scheduleAttempt, dueAt } = claimed;
    const isEncrypted = claimed.encryptedBody !== null;
    const attempts = createCheckedAttempts({ check, sender, ...host }, claim.endpoint);
    const target = targetOf(sender, claim.endpoint);
    const made = await attempts.make(() => target, claimed, []);
    // Since the claim, a moment ago, sending to the endpoint was stopped.
    const outcome = made ?? refusedOutcome(NOT_READABLE);
    await recordResult({ id, isEncrypted, attempt, scheduleAttempt, dueAt, outcome });
    // Whoever processes its endpoint sees when the retry is due, and asks to be called then.
    if (!outcome.ok) await wakeUp(host.queues, [{ id: claim.endpoint.id, lane: laneOf(outcome.slow) }]);
  });
}
