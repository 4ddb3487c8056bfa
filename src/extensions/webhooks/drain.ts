import type { Host } from '../../declare/host.ts';
import { deliver, type Sender } from './deliver.ts';
import type { AddToBatch } from './natural-batch.ts';
import type { Places } from './places.ts';
import { type ClaimRow, RELEASE } from './sql/claim.ts';
import { EARLIEST } from './sql/deliveries.ts';
import { type Lane, laneOf, wakeUp, wakeUpLater } from './wake-up.ts';
import type { Result } from './write-back.ts';

/** What drains are made with: one of each per worker. */
export interface DrainParts {
  host: Pick<Host, 'database' | 'queues' | 'log'>;
  sender: Sender;
  places: Places;
  writeBack: AddToBatch<Result>;
  /** How many requests one endpoint may have in flight, by lane. */
  share: Record<Lane, number>;
  /** How many deliveries are claimed at once, by lane. */
  chunk: Record<Lane, number>;
  /** ms after the claim within which requests are begun. */
  launchMs: number;
  /** ms that a claim lasts: long enough for a request begun at the last moment, and its result. */
  leaseMs: number;
  claimText: string;
  /** Roles that a global endpoint's owner needs; null when roles alone do not decide it. */
  globalRoles: readonly string[] | null;
  /** Requests that an endpoint may have in flight by how it did of late. */
  windows: Map<string, number>;
  isStopping(): boolean;
}

/** A claimed delivery. */
interface Claimed {
  id: string;
  messageId: string;
  body: string;
  attempt: number;
  scheduleAttempt: number;
}

interface Claim {
  url: string;
  secret: string;
  slow: boolean;
  deliveries: Claimed[];
}

const MOST_WINDOWS = 10_000;

async function claimDue(parts: DrainParts, endpointId: string, lane: Lane): Promise<Claim | undefined> {
  const values = [endpointId, parts.chunk[lane], parts.leaseMs, lane === 'slow', parts.globalRoles];
  const rows = await parts.host.database.write<ClaimRow>({ name: 'webhook_claim', text: parts.claimText, values });
  if (rows[0] === undefined) return undefined;
  const [url, secret, slow] = rows[0];
  const deliveries = rows.flatMap(([, , , id, messageId, body, attempt, scheduleAttempt]) =>
    id === null
      ? []
      : [{ id, messageId: messageId!, body: body!, attempt: attempt!, scheduleAttempt: scheduleAttempt! }],
  );
  return { url, secret, slow, deliveries };
}

/**
 * Sends a chunk: first one request, then more at once with each that is answered well, up to the endpoint's share. After the
 * first that fails or takes long no further one is begun: a receiver that hangs holds few places, and those only once.
 *
 * @returns what was not sent, and whether the last answer was slow or a failure (undefined: nothing was sent)
 */
async function sendChunk(parts: DrainParts, endpointId: string, lane: Lane, claim: Claim) {
  const { windows, places, share } = parts;
  const deadline = performance.now() + parts.launchMs;
  const queue = claim.deliveries.values();
  const unsent: Claimed[] = [];
  const writes: Promise<void>[] = [];
  let window = Math.min(windows.get(endpointId) ?? 1, share[lane]);
  let inFlight = 0;
  let halted = false;
  let slow: boolean | undefined;

  const mayBegin = () => !halted && !parts.isStopping() && performance.now() < deadline;

  async function sendOne(delivery: Claimed): Promise<void> {
    if (!mayBegin()) {
      unsent.push(delivery);
      return;
    }
    const { url, secret } = claim;
    const { messageId, body } = delivery;
    const outcome = await deliver(parts.sender, { endpointId, url, secret, messageId, body });
    slow = outcome.slow;
    halted ||= outcome.slow;
    window = outcome.slow ? 1 : Math.min(window + 1, share[lane]);
    const { id, attempt, scheduleAttempt } = delivery;
    writes.push(parts.writeBack({ id, attempt, scheduleAttempt, outcome }));
  }

  await new Promise<void>((resolve, reject) => {
    function pump(): void {
      while (inFlight < window && mayBegin()) {
        const next = queue.next();
        if (next.done) break;
        inFlight += 1;
        places
          .run(lane, () => sendOne(next.value))
          .then(() => {
            inFlight -= 1;
            pump();
          }, reject);
      }
      if (inFlight === 0) resolve();
    }
    pump();
  });
  unsent.push(...queue);

  windows.delete(endpointId);
  windows.set(endpointId, window);
  if (windows.size > MOST_WINDOWS) windows.delete(windows.keys().next().value!);
  // A result that could not be written leaves its delivery claimed: when the lease runs out it is sent again.
  const written = await Promise.allSettled(writes);
  for (const one of written)
    if (one.status === 'rejected')
      parts.host.log.error({ err: one.reason, endpoint: endpointId }, 'a result was not written');
  return { unsent, slow };
}

async function release(parts: DrainParts, unsent: readonly Claimed[]): Promise<void> {
  const values = [unsent.map(({ id }) => id), unsent.map(({ attempt }) => attempt)];
  await parts.host.database.write({ name: 'webhook_release', text: RELEASE, values });
}

/**
 * Does the work of one endpoint: claims what is due, up to a chunk, sends it, writes the results back. Then, if more is due, puts the
 * endpoint at the back of the queue, else asks to be called when its earliest retry is due.
 */
export async function drain(parts: DrainParts, endpointId: string, lane: Lane): Promise<void> {
  const { queues, database } = parts.host;
  const claim = await claimDue(parts, endpointId, lane);
  if (claim === undefined) return;
  if (laneOf(claim.slow) !== lane) return wakeUp(queues, [{ id: endpointId, lane: laneOf(claim.slow) }]);

  const { unsent, slow } = await sendChunk(parts, endpointId, lane, claim);
  if (unsent.length > 0) await release(parts, unsent);
  const next = laneOf(slow ?? claim.slow);
  if (unsent.length > 0 || claim.deliveries.length === parts.chunk[lane]) {
    return wakeUp(queues, [{ id: endpointId, lane: next }]);
  }
  const [earliest] = await database.read<[number]>({ name: 'webhook_earliest', text: EARLIEST, values: [endpointId] });
  if (earliest === undefined) return;
  if (earliest[0] <= 0) await wakeUp(queues, [{ id: endpointId, lane: next }]);
  else await wakeUpLater(queues, endpointId, next, earliest[0]);
}
