import type * as Bullmq from 'bullmq';
import { loadBullmq } from './bullmq.ts';

/** Defines a worker that has no timer for the locks of jobs while no job runs: BullMQ's timer fires up to four times in a lock's duration. */
function defineWorker() {
  const { LockManager, Worker } = loadBullmq();

  class JobLockManager extends LockManager {
    override start(): void {
      if (this.getActiveJobCount() > 0) super.start();
    }

    override trackJob(...job: Parameters<InstanceType<typeof LockManager>['trackJob']>) {
      const controller = super.trackJob(...job);
      if (!this.isRunning()) this.start();
      return controller;
    }

    override untrackJob(id: string): void {
      super.untrackJob(id);
      if (this.getActiveJobCount() > 0) return;
      clearTimeout(this.lockRenewalTimer);
      delete this.lockRenewalTimer;
    }
  }

  return class JobWorker extends Worker {
    override createLockManager(): void {
      const { lockRenewTime = 0, lockDuration = 0, name: workerName } = this.opts;
      this.lockManager = new JobLockManager(this as never, {
        ...{ lockRenewTime, lockDuration, workerId: this.id },
        ...(workerName === undefined ? {} : { workerName }),
      });
    }
  };
}

let JobWorker: ReturnType<typeof defineWorker> | undefined;

/** Returns the class of workers, loading BullMQ at the first call. */
export const getWorkerClass = (): typeof Bullmq.Worker => (JobWorker ??= defineWorker());
