import { hostname } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import type { RedisClient } from '../../data/redis/connections.ts';
import { newId } from '../../helpers/ids.ts';
import type { Logger } from '../../observability/log.ts';
import type { ProcessFacts, ProcessState, RunningProcess } from './facts.ts';
import type { SlowLog } from './slow-log.ts';
import { isQueueName, isTime, parseNotice, parseSlowEntries, parseState } from './state.ts';
import { createProcessStore, type StoredProcess } from './store.ts';
import { startVitalsMeter, type VitalsMeter } from './vitals.ts';

const HEARTBEAT_MS = 10_000;
/** The slow entries are sent again after this number of heartbeats, in case Redis has lost them. */
const RESEND_AFTER = 6;
/** After this number of heartbeats, one is complete: see `ProcessStore`. */
const COMPLETE_AFTER = 30;
/** The queues that a list has at most. */
const MAX_QUEUES = 1000;

/** The processes of an app, of all roles and on all machines. Each writes its state to Redis every 10 s; after 45 s without, it counts as gone. */
export interface ProcessRegistry {
  /** The id of this process. */
  readonly id: string;
  /** Adds facts to the state of this process. `read` is called once for each heartbeat. */
  report<Name extends keyof ProcessFacts>(name: Name, read: () => ProcessFacts[Name]): void;
  /** Begins to write the state of this process. A second call adds roles. Does not keep the process running. */
  start(roles: readonly string[]): void;
  /** Deletes the state of this process. Never rejects. */
  stop(): Promise<void>;
  /**
   * Reads the processes that run, and the names of all queues that any process worked on within a week. One round trip.
   *
   * @throws the error of Redis if it is not usable
   */
  list(options?: { withSlow?: boolean }): Promise<{ processes: RunningProcess[]; queues: string[] }>;
  /** Writes the state of this process now, so that the next `list` has it. */
  refresh(): Promise<void>;
  /**
   * Tells all processes something: this one at once, the others with their next heartbeat.
   *
   * @throws the error of Redis if it is not usable
   */
  notify<Topic extends keyof Notices>(topic: Topic, about: Notices[Topic]): Promise<void>;
  /** Calls a listener with each notice about a topic. */
  onNotice<Topic extends keyof Notices>(topic: Topic, listener: (about: Notices[Topic]) => void): void;
}

/** What processes tell each other, by topic. */
interface Notices {
  /** The count of a client within a rate limit was deleted. */
  'limit cleared': { name: string; windowMs: number; client: string };
  /** The slow logs of all processes are to be emptied. */
  'slow log cleared': Record<string, never>;
}

/** What the registry says about this process. */
interface ProcessIdentity {
  version: string;
  appVersion: string | undefined;
}

/** Passes notices to listeners, each notice once. */
function createNotices() {
  const listeners = new Map<string, ((about: never) => void)[]>();
  /** The notices that this process has handled and may read again. */
  const handled = new Set<string>();

  function handleNew(notice: string): void {
    if (handled.has(notice)) return;
    handled.add(notice);
    const parsed = parseNotice(notice);
    if (parsed === undefined) return;
    for (const listener of listeners.get(parsed.topic) ?? []) listener(parsed.about as never);
  }

  return {
    /** Handles a notice of this process before Redis has it. */
    handleOwn: handleNew,
    /** @param notices all that Redis has: others are not read again */
    handle(notices: readonly string[]): void {
      for (const known of handled) if (!notices.includes(known)) handled.delete(known);
      notices.forEach(handleNew);
    },
    listen<Topic extends keyof Notices>(topic: Topic, listener: (about: Notices[Topic]) => void): void {
      listeners.set(topic, [...(listeners.get(topic) ?? []), listener]);
    },
  };
}

/** Parses a process that another process has stored. Returns a list, empty if it is not valid. */
function parseProcess({ id, seenAt, state, slow }: StoredProcess): RunningProcess[] {
  const parsed = isTime(seenAt) ? parseState(state) : undefined;
  if (parsed === undefined) return [];
  const entries = slow === undefined ? undefined : parseSlowEntries(slow);
  return [{ ...parsed, id, seenAt: new Date(seenAt).toISOString(), ...(entries && { slow: entries }) }];
}

/** What does not change while this process runs. */
const describeProcess = ({ version, appVersion }: ProcessIdentity) => ({
  host: hostname(),
  pid: process.pid,
  version,
  node: process.versions.node,
  appVersion,
  startedAt: new Date(performance.timeOrigin).toISOString(),
});

/** Creates the registry of processes. It writes nothing before `start`. */
export function createProcessRegistry(
  redis: RedisClient,
  prefix: string,
  log: Logger,
  slowLog: SlowLog,
  identity: ProcessIdentity,
): ProcessRegistry {
  const id = newId();
  const constants = describeProcess(identity);
  const store = createProcessStore(redis, prefix);
  const roles = new Set<string>();
  const readers = new Map<keyof ProcessFacts, () => unknown>();
  const notices = createNotices();
  let meter: VitalsMeter | undefined;
  let timer: NodeJS.Timeout | undefined;
  let beats = 0;
  let storedQueues = '';
  let isStopped = false;
  let isFailing = false;
  let writing: Promise<void> | undefined;

  const describe = (): ProcessState => ({
    roles: [...roles],
    ...constants,
    ...meter?.read(),
    facts: Object.fromEntries([...readers].map(([name, read]) => [name, read()])),
  });

  async function write(): Promise<void> {
    try {
      const slow = slowLog.takeChanges() ?? (beats % RESEND_AFTER === 0 ? slowLog.entries() : undefined);
      const state = describe();
      const queues = (state.facts?.queues ?? []).map(({ name }) => name);
      const isComplete = beats % COMPLETE_AFTER === 0 || queues.join() !== storedQueues;
      notices.handle(await store.write(id, JSON.stringify(state), slow && JSON.stringify(slow), queues, isComplete));
      beats += 1;
      storedQueues = queues.join();
      isFailing = false;
    } catch (error) {
      // The slow entries of this heartbeat are lost; the next one sends them again.
      beats = 0;
      if (!isFailing) log.debug({ err: error }, 'the state of this process could not be stored; the console lacks it');
      isFailing = true;
    }
  }

  /** Writes the state. Never rejects; a write in progress is shared. */
  function writeOnce(): Promise<void> {
    writing ??= write().finally(() => {
      writing = undefined;
    });
    return writing;
  }

  notices.listen('slow log cleared', slowLog.clear);

  return {
    id,
    report: (name, read) => void readers.set(name, read),
    start(started) {
      for (const role of started) roles.add(role);
      isStopped = false;
      meter ??= startVitalsMeter(getHeapStatistics().heap_size_limit);
      timer ??= setInterval(writeOnce, HEARTBEAT_MS).unref();
      void writeOnce();
    },
    async stop() {
      if (timer === undefined || isStopped) return;
      isStopped = true;
      clearInterval(timer);
      timer = undefined;
      meter?.stop();
      meter = undefined;
      await writing;
      // Without Redis, the state expires.
      await store.remove(id).catch(() => undefined);
    },
    async list({ withSlow = false } = {}) {
      const { processes, queues } = await store.read(withSlow);
      return { queues: queues.filter(isQueueName).slice(0, MAX_QUEUES), processes: processes.flatMap(parseProcess) };
    },
    async refresh() {
      if (timer !== undefined) await writeOnce();
    },
    async notify(topic, about) {
      const notice = JSON.stringify({ topic, about, id: newId() });
      notices.handleOwn(notice);
      await store.notify(notice);
    },
    onNotice: notices.listen,
  };
}
