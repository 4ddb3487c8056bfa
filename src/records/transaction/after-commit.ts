import type { Logger } from '../../platform/log.ts';

/** What is to be done once a transaction is committed. */
interface AfterCommitQueue {
  /** Notes it; once it is committed, does it. */
  add(work: () => unknown): void;
  /** Does all that was noted, in order: it is committed. */
  run(): Promise<void>;
}

/** What follows one transaction. What fails is logged: what is committed stays so, and its caller must not take it for failed. */
export function createAfterCommitQueue(log: Logger): AfterCommitQueue {
  const queue: (() => unknown)[] = [];
  let committed = false;
  const done = async (work: () => unknown) => {
    try {
      await work();
    } catch (error) {
      log.error({ err: error }, 'what should follow a commit failed');
    }
  };
  return {
    add: (work) => void (committed ? done(work) : queue.push(work)),
    async run() {
      committed = true;
      for (const work of queue) await done(work);
    },
  };
}
