import type { RedisClient } from '../../data/redis/connections.ts';

/** ms after its last heartbeat from which a process counts as gone. */
const GONE_MS = 45_000;
/** ms for which a queue is listed after the last heartbeat of a process that works on it. */
const QUEUE_MS = 7 * 86_400_000;
/** ms after which the state of processes expires if no process runs any more. Longer than the time between two complete heartbeats. */
const KEEP_MS = 15 * 60_000;
/** ms for which a notice can be read: several heartbeats, so that every process reads it. */
const NOTICE_MS = 60_000;

// KEYS: state, seen, slow, queues, notices. ARGV: id, state, slow entries ('' if they have not changed), 1 for a complete heartbeat, names of
// queues. A complete heartbeat also stores the queues and deletes what killed processes left behind. So does one that finds no state of its
// process, because Redis was emptied. Returns the notices. The time is that of Redis, because clocks of machines differ.
const HEARTBEAT = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local isMissing = redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) == 1
redis.call('ZADD', KEYS[2], now, ARGV[1])
if ARGV[3] ~= '' then redis.call('HSET', KEYS[3], ARGV[1], ARGV[3]) end
if isMissing or ARGV[4] == '1' then
  local queues = {}
  for i = 5, #ARGV do
    queues[#queues + 1] = now
    queues[#queues + 1] = ARGV[i]
  end
  if #queues > 0 then redis.call('ZADD', KEYS[4], unpack(queues)) end
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now - ${GONE_MS})) do
    redis.call('HDEL', KEYS[1], id)
    redis.call('HDEL', KEYS[3], id)
    redis.call('ZREM', KEYS[2], id)
  end
  redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', now - ${QUEUE_MS})
  redis.call('ZREMRANGEBYSCORE', KEYS[5], '-inf', now - ${NOTICE_MS})
  for i = 1, 3 do redis.call('PEXPIRE', KEYS[i], ${KEEP_MS}) end
  redis.call('PEXPIRE', KEYS[4], ${QUEUE_MS})
end
return redis.call('ZRANGE', KEYS[5], 0, -1)`;

// KEYS: as above. ARGV: 1 to return the slow entries too.
const READ = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
return {
  redis.call('ZRANGEBYSCORE', KEYS[2], now - ${GONE_MS}, '+inf', 'WITHSCORES'),
  redis.call('HGETALL', KEYS[1]),
  redis.call('ZRANGE', KEYS[4], 0, -1),
  ARGV[1] == '1' and redis.call('HGETALL', KEYS[3]) or {}
}`;

const LEAVE = `
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[3], ARGV[1])`;

const NOTIFY = `
local time = redis.call('TIME')
redis.call('ZADD', KEYS[5], time[1] * 1000 + math.floor(time[2] / 1000), ARGV[1])
redis.call('PEXPIRE', KEYS[5], ${NOTICE_MS})`;

type RedisWithScripts = RedisClient & {
  belfryHeartbeat(...keysAndValues: string[]): Promise<string[]>;
  belfryProcesses(
    ...keysAndValues: string[]
  ): Promise<[seen: string[], states: string[], queues: string[], slow: string[]]>;
  belfryLeave(...keysAndValues: string[]): Promise<unknown>;
  belfryNotify(...keysAndValues: string[]): Promise<unknown>;
};

/** A stored process. `state` and `slow` are the JSON that the process wrote. */
export interface StoredProcess {
  id: string;
  /** The time of the last heartbeat in epoch ms. */
  seenAt: number;
  state: string;
  slow: string | undefined;
}

/** The processes of an app in Redis. Each function is one round trip, and rejects while Redis is not usable. */
interface ProcessStore {
  /**
   * Stores the state of a process, which expires unless it is stored again.
   *
   * @param slow undefined: not changed
   * @param isComplete whether to store the names of the queues too, and to delete what killed processes left behind
   * @returns the notices of the last minute
   */
  write(
    id: string,
    state: string,
    slow: string | undefined,
    queues: readonly string[],
    isComplete: boolean,
  ): Promise<string[]>;
  read(withSlow: boolean): Promise<{ processes: StoredProcess[]; queues: string[] }>;
  remove(id: string): Promise<void>;
  /** Adds a notice, which every process reads with its next heartbeat. */
  notify(notice: string): Promise<void>;
}

/** Returns the entries of a list of names, each followed by its value. */
function toMap(list: readonly string[]): Map<string, string> {
  const map = new Map<string, string>();
  for (let i = 0; i < list.length; i += 2) map.set(list[i]!, list[i + 1]!);
  return map;
}

/** Creates the store. All of its keys have one hash tag, so that a Redis Cluster keeps them on one node. */
export function createProcessStore(redis: RedisClient, prefix: string): ProcessStore {
  const keys = ['state', 'seen', 'slow', 'queues', 'notices'].map((name) => `${prefix}:{processes}:${name}`);
  const numberOfKeys = keys.length;
  redis.defineCommand('belfryHeartbeat', { numberOfKeys, lua: HEARTBEAT });
  redis.defineCommand('belfryProcesses', { numberOfKeys, lua: READ });
  redis.defineCommand('belfryLeave', { numberOfKeys, lua: LEAVE });
  redis.defineCommand('belfryNotify', { numberOfKeys, lua: NOTIFY });
  const scripts = redis as RedisWithScripts;
  return {
    write: (id, state, slow = '', queues, isComplete) =>
      scripts.belfryHeartbeat(...keys, id, state, slow, isComplete ? '1' : '0', ...queues),
    async read(withSlow) {
      const [seen, states, queues, slow] = await scripts.belfryProcesses(...keys, withSlow ? '1' : '0');
      const stateByProcess = toMap(states);
      const slowByProcess = toMap(slow);
      const processes = [...toMap(seen)].flatMap(([id, score]) => {
        const state = stateByProcess.get(id);
        return state === undefined ? [] : [{ id, seenAt: Number(score), state, slow: slowByProcess.get(id) }];
      });
      return { processes, queues };
    },
    async remove(id) {
      await scripts.belfryLeave(...keys, id);
    },
    async notify(notice) {
      await scripts.belfryNotify(...keys, notice);
    },
  };
}
