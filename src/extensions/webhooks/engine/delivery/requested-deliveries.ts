import { NOT_READABLE } from '../readability/readability.ts';
import { createAttemptTarget, createNotReadableOutcome, type Outcome } from './attempt.ts';
import { createCheckedAttempts } from './checked-attempts.ts';
import type { Claim, ClaimedDelivery } from './claim.ts';
import type { EndpointLease } from './endpoint-lease.ts';
import type { SendDependencies } from './send-parts.ts';

/**
 * Claims the requested delivery (a test, or a retry that a client asked for) that has waited longest. Returns undefined if the endpoint must
 * not be sent to or the claim failed, and a claim without delivery if nothing was requested.
 */
export async function claimRequestedDelivery(
  { host }: Pick<SendDependencies, 'host'>,
  lease: EndpointLease,
  endpointId: string,
): Promise<Claim | undefined> {
  try {
    return await lease.claimRequestedDelivery();
  } catch (error) {
    host.log.error(
      { err: error, endpoint: endpointId },
      'a requested webhook delivery could not be claimed; the sweep will find it',
    );
    return undefined;
  }
}

/**
 * Makes the attempt of a requested delivery, with the endpoint settings that its own claim returned. Rejects if what the endpoint's owner may
 * read could not be checked.
 */
export async function attemptRequestedDelivery(
  { check, sender, host }: Pick<SendDependencies, 'check' | 'sender' | 'host'>,
  { endpoint }: Claim,
  delivery: ClaimedDelivery,
): Promise<Outcome> {
  const attempts = createCheckedAttempts({ check, sender, ...host }, endpoint);
  const target = createAttemptTarget(sender, endpoint);
  const outcome = await attempts.attemptIfReadable(() => target, delivery, []);
  // The outcome is undefined if the endpoint must not be sent to any more since the claim a moment ago.
  return outcome ?? createNotReadableOutcome(NOT_READABLE);
}
