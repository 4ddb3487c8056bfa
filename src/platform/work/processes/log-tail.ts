import { leaveTransaction } from '../../data/postgres/transaction-watch.ts';
import type { RedisClient } from '../../data/redis/connections.ts';

/** The lines that all processes together keep, and that one process keeps until it has sent them. */
const MAX_LINES = 2000;
const SEND_AFTER_MS = 300;
const KEEP_MS = 86_400_000;
const MAX_LINE = 20_000;

/** A line of the log. `id` orders the lines of all processes. */
interface LogLine {
  id: string;
  /** The fields of the line. */
  fields: Record<string, unknown>;
}

/** The newest lines of the log of all processes of an app in development. They contain what the logger writes, so secrets are redacted. */
export interface LogTail {
  /** Keeps a line. */
  add(line: string): void;
  /** Begins to send the lines to Redis, where they survive a restart of the process. */
  connect(redis: RedisClient, prefix: string): void;
  /**
   * Returns the lines after the line `after`, oldest first, at most the newest 2,000. Two round trips.
   *
   * @throws the error of Redis if it is not usable
   */
  read(after: string | undefined): Promise<LogLine[]>;
  /** Sends the last lines. Never rejects. */
  stop(): Promise<void>;
}

function parseLine(text: string): Record<string, unknown> {
  try {
    const fields: unknown = JSON.parse(text);
    if (typeof fields === 'object' && fields !== null && !Array.isArray(fields))
      return fields as Record<string, unknown>;
  } catch {
    // A line that was cut.
  }
  return { msg: text };
}

const CAPTURED_MAIL = /"outcome":"captured",("to":"(?:[^"\\]|\\.)*","subject":"(?:[^"\\]|\\.)*",)/;

/** Returns a line without the recipient and the subject of a captured e-mail: an erasure does not find them in Redis. */
function withoutRecipient(line: string): string {
  const fields = CAPTURED_MAIL.exec(line)?.[1];
  return fields === undefined ? line : line.replace(fields, '');
}

/** Creates the tail of the log, for development and tests only. */
export function createLogTail(): LogTail {
  let lines: string[] = [];
  let timer: NodeJS.Timeout | undefined;
  let send: (() => Promise<void>) | undefined;
  let client: RedisClient | undefined;
  let key = '';

  function schedule(): void {
    if (send === undefined || timer !== undefined) return;
    // Lines wait in memory while Redis is not usable.
    timer = leaveTransaction(() => setTimeout(() => void send?.().catch(schedule), SEND_AFTER_MS).unref());
  }

  async function sendLines(redis: RedisClient): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (lines.length === 0) return;
    // A command must not connect for its log alone.
    if (redis.status !== 'ready') throw new Error('Redis is not connected');
    const sent = lines;
    lines = [];
    try {
      const commands = sent.map((line) => redis.xadd(key, 'MAXLEN', '~', MAX_LINES, '*', 'line', line));
      await Promise.all([...commands, redis.pexpire(key, KEEP_MS)]);
    } catch (error) {
      lines = [...sent, ...lines].slice(-MAX_LINES);
      throw error;
    }
  }

  return {
    add(written) {
      const line = withoutRecipient(written);
      lines.push(line.length > MAX_LINE ? line.slice(0, MAX_LINE) : line);
      if (lines.length > MAX_LINES) lines.shift();
      schedule();
    },
    connect(redis, prefix) {
      client = redis;
      key = `${prefix}:log`;
      send = () => sendLines(redis);
      schedule();
    },
    async read(after) {
      await send?.();
      const entries =
        after === undefined
          ? (await client!.xrevrange(key, '+', '-', 'COUNT', MAX_LINES)).reverse()
          : await client!.xrange(key, `(${after}`, '+', 'COUNT', MAX_LINES);
      return entries.map(([id, [, line = '']]) => ({ id, fields: parseLine(line) }));
    },
    async stop() {
      await send?.().catch(() => undefined);
      clearTimeout(timer);
      send = undefined;
    },
  };
}
