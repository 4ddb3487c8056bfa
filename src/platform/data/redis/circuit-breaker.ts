import { withDeadline } from '../../helpers/concurrency/deadline.ts';
import type { Logger } from '../../observability/log.ts';

/** A circuit breaker in front of Redis, so that no request waits for a Redis that is down. */
export interface RedisBreaker {
  /**
   * Runs a command.
   *
   * @param deadlineMs ms to wait for the reply; default: 500
   * @throws if Redis fails or does not reply in time, and from then on at once, until a trial succeeds
   */
  run<T>(command: () => Promise<T>, deadlineMs?: number): Promise<T>;
}

/** The behaviour and log texts of a breaker. */
interface RedisBreakerOptions {
  log: Logger;
  /** Log texts, each logged once per change: what happens while Redis is down, and that it has recovered. */
  messages: { opened: string; closed?: string };
  /**
   * Whether the caller whose command is tried waits for its result. If not, that caller is refused like all others, so the command may
   * take effect although its caller received an error.
   */
  waitForTrial?: boolean;
  /** Called for each command that was refused or failed. */
  onRefused?: () => void;
}

const DEADLINE_MS = 500;
const TRIAL_INTERVAL_MS = 1000;

/** Created once and thrown without sending a command: a flood of refused commands must not pay for stack traces. */
const CIRCUIT_OPEN = new Error('Redis is down: commands are refused until a trial succeeds');

/** Logs that breakers open and close. */
interface BreakerLog {
  opened(error: unknown): void;
  closed(): void;
}

/** Creates the log of several breakers: logs the first that opens, and then the first that closes again. */
function createBreakerLog({ log, messages }: Pick<RedisBreakerOptions, 'log' | 'messages'>): BreakerLog {
  let isOpen = false;
  return {
    opened(error) {
      if (!isOpen) log.warn({ err: error }, messages.opened);
      isOpen = true;
    },
    closed() {
      if (isOpen && messages.closed !== undefined) log.info(messages.closed);
      isOpen = false;
    },
  };
}

/** Creates a circuit breaker for Redis. While the breaker is open, one command per second is tried, never two at a time. */
export function createRedisBreaker(options: RedisBreakerOptions): RedisBreaker {
  return createBreaker(options, createBreakerLog(options));
}

/**
 * Creates breakers for parts of one Redis Cluster, which can fail separately. They log as one: a message when the first part fails, and
 * one when the first recovers.
 */
export function createRedisBreakers(count: number, options: RedisBreakerOptions): RedisBreaker[] {
  const log = createBreakerLog(options);
  return Array.from({ length: count }, () => createBreaker(options, log));
}

function createBreaker(
  { waitForTrial = false, onRefused = () => undefined }: RedisBreakerOptions,
  log: BreakerLog,
): RedisBreaker {
  let isOpen = false;
  let trialAt = 0;
  let isTrialRunning = false;

  function openCircuit(error: unknown): void {
    trialAt = performance.now() + TRIAL_INTERVAL_MS;
    if (!isOpen) log.opened(error);
    isOpen = true;
  }

  function closeCircuit(): void {
    if (isOpen) log.closed();
    isOpen = false;
  }

  async function runWithDeadline<T>(command: () => Promise<T>, deadlineMs: number): Promise<T> {
    try {
      const result = await withDeadline(command(), deadlineMs);
      closeCircuit();
      return result;
    } catch (error) {
      openCircuit(error);
      onRefused();
      throw error;
    }
  }

  /** Runs a trial without a deadline: a trial that hangs blocks further trials until its connection replies or breaks. */
  async function runTrial(command: () => Promise<unknown>, deadlineMs: number): Promise<void> {
    const startedAt = performance.now();
    try {
      await command();
      if (performance.now() - startedAt > deadlineMs) throw new Error('Redis did not reply in time');
      closeCircuit();
    } catch (error) {
      openCircuit(error);
    } finally {
      isTrialRunning = false;
    }
  }

  return {
    async run(command, deadlineMs = DEADLINE_MS) {
      if (!isOpen) return runWithDeadline(command, deadlineMs);
      if (!isTrialRunning && performance.now() >= trialAt) {
        isTrialRunning = true;
        if (waitForTrial) {
          return runWithDeadline(command, deadlineMs).finally(() => {
            isTrialRunning = false;
          });
        }
        void runTrial(command, deadlineMs);
      }
      onRefused();
      throw CIRCUIT_OPEN;
    },
  };
}
