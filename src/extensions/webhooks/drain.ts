import type { Host } from '../../declare/host.ts';
import type { AddToBatch } from '../../platform/natural-batch.ts';
import { type Claimed, claimedOf } from './claimed.ts';
import { deliver, type Sender } from './deliver.ts';
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
  /** ms for which a drain goes on claiming while more is due; then other endpoints have their turn. */
  sliceMs: number;
  /** ms after the first claim within which requests are begun. */
  launchMs: number;
  /** ms that a claim lasts: long enough for a request begun at the last moment, and its result. */
  leaseMs: number;
  claimText: string;
  claimOneText: string;
  /** Roles that a global endpoint's owner needs; null when roles alone do not decide it. */
  globalRoles: readonly string[] | null;
  /** Requests that an endpoint may have in flight by how it did of late. */
  windows: Map<string, number>;
  isStopping(): boolean;
}

interface Claim {
  slow: boolean;
  deliveries: Claimed[];
  /** As many were due as may be claimed at once: there may be more. */
  full: boolean;
}

const MOST_WINDOWS = 10_000;

/** Undefined: the endpoint is disabled, removed, or its owner may not receive. */
async function claimDue(parts: DrainParts, endpointId: string, lane: Lane): Promise<Claim | undefined> {
  const most = parts.chunk[lane];
  const values = [endpointId, most, parts.leaseMs, lane === 'slow', parts.globalRoles];
  const rows = await parts.host.database.write<ClaimRow>({ name: 'webhook_claim', text: parts.claimText, values });
  if (rows[0] === undefined) return undefined;
  const deliveries = claimedOf(rows);
  return { slow: rows[0][4], deliveries, full: deliveries.length === most };
}

/** What is left of an endpoint's turn. */
interface Served {
  unsent: Claimed[];
  /** More may be due. */
  more: boolean;
  slow: boolean;
}

/**
 * Sends what was claimed, and claims more while there is more and the turn lasts: first one request, then more at once with each that
 * is answered well, up to the endpoint's share. After the first that fails or takes long no further one is begun: a receiver that
 * hangs holds few places, and those only once.
 */
async function serve(parts: DrainParts, endpointId: string, lane: Lane, first: Claim): Promise<Served> {
  const { windows, places, share, host } = parts;
  const begun = performance.now();
  const queue = [...first.deliveries];
  const unsent: Claimed[] = [];
  const writes: Promise<void>[] = [];
  let { slow, full: more } = first;
  let window = Math.min(windows.get(endpointId) ?? 1, share[lane]);
  let inFlight = 0;
  let claiming = false;
  let halted = false;

  const mayBegin = () => !halted && !parts.isStopping() && performance.now() - begun < parts.launchMs;
  const mayClaim = () => lane === 'fast' && more && mayBegin() && performance.now() - begun < parts.sliceMs;

  async function sendOne({ id, attempt, scheduleAttempt, ...rest }: Claimed): Promise<void> {
    const outcome = await deliver(parts.sender, { endpointId, ...rest });
    slow = outcome.slow;
    halted ||= outcome.slow;
    window = outcome.slow ? 1 : Math.min(window + 1, share[lane]);
    writes.push(parts.writeBack({ id, attempt, scheduleAttempt, outcome }));
  }

  async function claimMore(): Promise<void> {
    const claim = await claimDue(parts, endpointId, lane);
    more = claim?.full ?? false;
    if (claim === undefined) halted = true;
    else if (laneOf(claim.slow) === lane) queue.push(...claim.deliveries);
    else {
      // Another worker found it slow in the meantime.
      slow = claim.slow;
      halted = true;
      more = true;
    }
  }

  await new Promise<void>((resolve, reject) => {
    function pump(): void {
      while (inFlight < window && queue.length > 0 && mayBegin()) {
        const next = queue.shift()!;
        inFlight += 1;
        const task = async () => {
          // It may have waited for its place.
          if (mayBegin()) await sendOne(next);
          else unsent.push(next);
        };
        places.run(lane, task).then(() => {
          inFlight -= 1;
          pump();
        }, reject);
      }
      if (!claiming && queue.length <= window && mayClaim()) {
        claiming = true;
        claimMore().then(() => {
          claiming = false;
          pump();
        }, reject);
      }
      if (inFlight === 0 && !claiming) resolve();
    }
    pump();
  });

  windows.delete(endpointId);
  windows.set(endpointId, window);
  if (windows.size > MOST_WINDOWS) windows.delete(windows.keys().next().value!);
  for (const written of await Promise.allSettled(writes)) {
    // Its delivery stays claimed: when the lease runs out it is sent again, rather than lost.
    if (written.status === 'rejected') {
      host.log.error({ err: written.reason, endpoint: endpointId }, 'the result of a webhook was not written');
    }
  }
  return { unsent: [...unsent, ...queue], more, slow };
}

async function release(parts: DrainParts, unsent: readonly Claimed[]): Promise<void> {
  const values = [unsent.map(({ id }) => id), unsent.map(({ attempt }) => attempt)];
  await parts.host.database.write({ name: 'webhook_release', text: RELEASE, values });
}

/**
 * Gives an endpoint its turn: sends what is due, writes the results back. Then, if more is due, puts it at the back of the queue,
 * else asks to be called when its earliest retry is due.
 */
export async function drain(parts: DrainParts, endpointId: string, lane: Lane): Promise<void> {
  const { queues, database } = parts.host;
  const claim = await claimDue(parts, endpointId, lane);
  if (claim === undefined) return;
  if (laneOf(claim.slow) !== lane) return wakeUp(queues, [{ id: endpointId, lane: laneOf(claim.slow) }]);

  const { unsent, more, slow } = await serve(parts, endpointId, lane, claim);
  if (unsent.length > 0) await release(parts, unsent);
  const next = laneOf(slow);
  if (unsent.length > 0 || more) return wakeUp(queues, [{ id: endpointId, lane: next }]);
  const [earliest] = await database.read<[number]>({ name: 'webhook_earliest', text: EARLIEST, values: [endpointId] });
  if (earliest === undefined) return;
  if (earliest[0] <= 0) await wakeUp(queues, [{ id: endpointId, lane: next }]);
  else await wakeUpLater(queues, endpointId, next, earliest[0]);
}
