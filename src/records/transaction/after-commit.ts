import type { Logger } from '../../platform/log.ts';

/** What is to be done once a transaction is committed. */
interface FollowUps {
  /** Notes it; once it is committed, does it. */
  add(work: () => unknown): void;
  /** Does all that was noted, in order: it is committed. */
  run(): Promise<void>;
}

/** What follows one transaction. What fails is logged: what is committed stays so, and its caller must not take it for failed. */
export function createFollowUps(log: Logger): FollowUps {
  const noted: (() => unknown)[] = [];
  let committed = false;
  const done = async (work: () => unknown) => {
    try {
      await work();
    } catch (error) {
      log.error({ err: error }, 'what should follow a commit failed');
    }
  };
  return {
    add: (work) => void (committed ? done(work) : noted.push(work)),
    async run() {
      committed = true;
      for (const work of noted) await done(work);
    },
  };
}
