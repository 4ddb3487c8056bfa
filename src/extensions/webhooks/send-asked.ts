import { claimedOf } from './claimed.ts';
import { deliver } from './deliver.ts';
import type { DrainParts } from './drain.ts';
import type { ClaimRow } from './sql/claim.ts';
import { laneOf, wakeUp } from './wake-up.ts';

/**
 * Sends one delivery that somebody asked for, whatever else its endpoint has waiting. It does nothing when the delivery is not due
 * or is in another worker's hands. Who is turned away by a full worker or a stop is found by the sweep.
 */
export async function sendAsked(parts: DrainParts, deliveryId: string): Promise<void> {
  const { host, places, sender, writeBack } = parts;
  await places.run('asked', async () => {
    if (parts.isStopping()) return;
    const values = [deliveryId, parts.leaseMs, parts.globalRoles];
    const statement = { name: 'webhook_claim_one', text: parts.claimOneText, values };
    const rows = await host.database.write<[...ClaimRow, endpointId: string]>(statement);
    const [claimed] = claimedOf(rows.map((row) => row.slice(0, -1) as ClaimRow));
    if (claimed === undefined) return;
    const endpointId = rows[0]!.at(-1) as string;
    const { id, attempt, scheduleAttempt, ...rest } = claimed;
    const outcome = await deliver(sender, { endpointId, ...rest });
    await writeBack({ id, attempt, scheduleAttempt, outcome });
    // Its drain sees when the retry is due and asks to be called then.
    if (!outcome.ok) await wakeUp(host.queues, [{ id: endpointId, lane: laneOf(outcome.slow) }]);
  });
}
