import type { AddToBatch, Host } from '../../../../extension/index.ts';
import type { Lane } from '../../endpoints/endpoint-jobs.ts';
import type { CheckReadability } from '../readability/readability.ts';
import type { Sender } from './attempt.ts';
import type { Claim } from './claim.ts';
import type { LeaseDependencies } from './endpoint-lease.ts';
import type { EndpointPace } from './endpoint-pace.ts';
import type { JobCapacity } from './linger.ts';
import type { CompletedAttempt } from './record-results.ts';
import type { ReleaseSlot, RequestSlots } from './request-slots.ts';

/** What a worker needs to send deliveries under a lease. */
export interface SendDependencies extends LeaseDependencies {
  host: Pick<Host, 'database' | 'log' | 'keyring' | 'tracing'>;
  sender: Sender;
  check: CheckReadability;
  slots: RequestSlots;
  recordResult: AddToBatch<CompletedAttempt>;
  /** Maximum number of concurrent requests to one endpoint, by lane. Requested deliveries are limited by their slots instead. */
  maxInFlight: Record<Lane, number>;
  /** ms for which a lease continues to claim while more is due. After that, other endpoints are processed. */
  claimingMs: number;
  /** The pace of each endpoint whose last response was good, by endpoint id. */
  pacesOfGoodEndpoints: Map<string, EndpointPace>;
  /** The leases that this worker holds, by endpoint id. */
  activeLeases: Map<string, ActiveLease>;
  /** The endpoints whose first claim is running, each with whether new deliveries were announced meanwhile. */
  claimingEndpoints: Map<string, { hasNew: boolean }>;
  jobs: JobCapacity;
  isStopping(): boolean;
}

/** A lease under which this worker sends, or waits for new deliveries. */
export interface ActiveLease {
  /** Sends the endpoint's requested deliveries. */
  sendRequested(): void;
  /** Claims new deliveries now, or after the next response. Returns whether the lease was lingering. */
  onNewDeliveries(): boolean;
  /** Ends the wait for new deliveries. */
  endLinger(): void;
}

/** A slot that was acquired before the lease, for the first delivery or for the requested delivery that the first claim returned. */
export interface FirstSlot {
  release: ReleaseSlot;
  requested?: Claim;
}

/** How a worker got to send under a lease. */
export interface SendStart {
  slot?: FirstSlot | undefined;
  /** Whether the lease may wait for new deliveries. Only if a job of its lane runs meanwhile, which keeps others from being added. */
  allowLinger?: boolean;
  /** Whether new deliveries were announced while the first claim was running. */
  hasNew?: boolean;
}

/** The result of sending under a lease. */
export interface LeaseSummary {
  /** Whether more deliveries may be due. */
  more: boolean;
  slow: boolean;
  /** ms until the endpoint may continue, because of its rate limit or because the database is unavailable. */
  waitMs: number;
}
