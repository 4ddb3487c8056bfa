import type { Availability } from '../../data/postgres/availability.ts';
import { isConnectionError, isTransient } from '../../data/postgres/errors.ts';

/** ms from the end of an outage until sweeps run again: live workers store the results of their work and renew their leases first. */
const SWEEP_AFTER_OUTAGE_MS = 3000;

/** The waits of a relay for outages of Postgres to end. All of them end when the relay stops. */
export class Outages {
  readonly #availability: Availability;
  readonly #stopped: Promise<unknown>;
  readonly #pause: (ms: number) => Promise<unknown>;
  /** During an outage and for a moment after it: resolves when sweeps may run again. */
  #sweepsHeldUp: Promise<void> | undefined;

  /** @param pause waits until the relay stops, at most `ms` */
  constructor(availability: Availability, stopped: Promise<unknown>, pause: (ms: number) => Promise<unknown>) {
    this.#availability = availability;
    this.#stopped = stopped;
    this.#pause = pause;
  }

  /** If an error is part of an outage, waits until the outage ends. Returns whether it was. */
  async waitForEnd(error: unknown): Promise<boolean> {
    // The outage may be over already, but the leases of live workers may have expired in it.
    if (isConnectionError(error)) this.#holdUpSweeps();
    if (!isTransient(error) || (await this.#availability.isAvailable())) return false;
    this.#holdUpSweeps();
    await this.#waitUntilAvailable();
    return true;
  }

  /** Waits while an outage holds up the sweeps. @param afterOutageMs see `Sweep` */
  async waitWhileSweepsAreHeldUp(afterOutageMs = SWEEP_AFTER_OUTAGE_MS): Promise<void> {
    while (this.#sweepsHeldUp !== undefined) {
      await this.#sweepsHeldUp;
      await this.#pause(afterOutageMs - SWEEP_AFTER_OUTAGE_MS);
    }
  }

  #holdUpSweeps(): void {
    this.#sweepsHeldUp ??= this.#waitAfterOutage();
  }

  async #waitAfterOutage(): Promise<void> {
    if (!(await this.#availability.isAvailable())) await this.#waitUntilAvailable();
    await this.#pause(SWEEP_AFTER_OUTAGE_MS);
    this.#sweepsHeldUp = undefined;
  }

  #waitUntilAvailable = () => Promise.race([this.#availability.waitUntilAvailable(), this.#stopped]);
}
