import type { EndpointLease } from './endpoint-lease.ts';

/**
 * ms for which a lease waits for new deliveries after its last one. Starting and finishing a job costs about 65 Redis commands, an
 * announcement to a waiting lease about 15 and the wait itself 2 to 6 a second, so a few seconds pay off. A lease lasts longer than that, so it
 * is not renewed meanwhile. If the announcement of a job is lost, the delivery waits until the lingering job ends; then BullMQ starts the new one.
 */
export const LINGER_MS = 3000;

/** Maximum number of jobs of a worker that wait for new deliveries. */
const MAX_LINGERING = 1000;

/** The jobs that a worker may run. Jobs that wait for new deliveries are not counted. */
export interface JobCapacity {
  /**
   * Whether as many jobs run as may, so that other endpoints may have to wait.
   *
   * @param woken the number of jobs that are about to end their wait; default 0
   */
  isFull(woken?: number): boolean;
  /** How many jobs wait for new deliveries. */
  countLingering(): number;
  addLingering(count: 1 | -1): void;
}

/** The wait of a lease for new deliveries. */
export interface Linger {
  /** Whether fewer leases wait than may. */
  isAllowed(): boolean;
  /** Begins to wait. The lease must not be waiting. */
  begin(ms: number): void;
  /** Ends the wait, so that the lease is renewed again. The lease must be waiting. */
  end(): void;
}

/** @param onTimeout called when the wait has ended without `end` */
export function createLinger(lease: EndpointLease, jobs: JobCapacity, onTimeout: () => void): Linger {
  let timer: NodeJS.Timeout | undefined;

  function end(): void {
    clearTimeout(timer);
    lease.setLingering(false);
    jobs.addLingering(-1);
  }

  return {
    isAllowed: () => jobs.countLingering() < MAX_LINGERING,
    begin(ms) {
      timer = setTimeout(() => {
        end();
        onTimeout();
      }, ms);
      lease.setLingering(true);
      jobs.addLingering(1);
    },
    end,
  };
}
