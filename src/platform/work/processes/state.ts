import { z } from 'zod';

/** The maxima of what one process may say about itself, far above what any process does say. */
const MAX_STATE_TEXT = 2_000_000;
const MAX_TEXT = 2000;
const MAX_ROLES = 20;
const MAX_POINTS = 360;
const MAX_BOUNDS = 50;
const MAX_QUEUES = 1000;
const MAX_FAILURES = 50;
const MAX_SLOW = 200;
/** The last moment that a `Date` can have, in epoch ms. */
const MAX_TIME = 8_640_000_000_000_000;

const amount = z.number().min(0);
const text = z.string().max(MAX_TEXT);
const time = z.iso.datetime();

/** A part that another version may lack, or write in another form: then it is undefined. */
const part = <Schema extends z.ZodType>(schema: Schema) => schema.optional().catch(undefined);

/** A list whose positions count, so that one wrong item makes all of it invalid. Its length is checked before its items. */
const series = <Item extends z.ZodType>(item: Item, max: number) => z.array(z.unknown()).max(max).pipe(z.array(item));

/** A list of which the valid items are kept, at most `max`. */
const createListSchema = <Item extends z.ZodType>(item: Item, max: number) =>
  z.array(z.unknown()).transform((items): z.output<Item>[] =>
    items.slice(0, max).flatMap((one) => {
      const parsed = item.safeParse(one);
      return parsed.success ? [parsed.data] : [];
    }),
  );

const requests = z.object({
  inFlight: amount,
  intervalSeconds: z.number().positive(),
  points: series(z.object({ count: amount, failed: amount, seconds: amount }), MAX_POINTS),
  bounds: series(amount, MAX_BOUNDS),
  buckets: series(amount, MAX_BOUNDS + 1),
});

const connections = z.object({ max: amount, open: amount, idle: amount, waiting: amount, waitTimeouts: amount });

const queue = z.object({
  name: text,
  running: amount,
  concurrency: amount,
  failures: createListSchema(z.object({ queue: text, id: text, name: text, error: text, at: time }), MAX_FAILURES),
});

const streams = z.object({
  open: amount,
  max: amount,
  subscriptions: amount,
  changes: amount,
  cutOff: amount,
  lagMs: amount.nullable(),
});

const processState = z.object({
  memory: part(z.object({ rss: amount, heapUsed: amount, heapLimit: amount })),
  cpu: part(amount),
  eventLoop: part(z.object({ meanMs: amount, maxMs: amount, busy: amount })),
  roles: part(createListSchema(text, MAX_ROLES)),
  host: part(text),
  pid: part(amount),
  version: part(text),
  node: part(text),
  appVersion: part(text),
  startedAt: part(time),
  facts: part(
    z.object({
      requests: part(requests),
      connections: part(connections),
      queues: part(createListSchema(queue, MAX_QUEUES)),
      streams: part(streams),
    }),
  ),
});

const slowRequest = z.object({
  at: time,
  method: text,
  route: text.nullable(),
  status: amount.nullable(),
  ms: amount,
  requestId: text.nullable(),
  statements: amount,
  postgresMs: amount,
});

const slowEntries = z.object({
  newest: createListSchema(slowRequest, MAX_SLOW).catch([]),
  slowest: createListSchema(slowRequest, MAX_SLOW).catch([]),
  statements: createListSchema(
    z.object({ text, calls: amount, totalMs: amount, maxMs: amount, rows: amount, lastAt: time }),
    MAX_SLOW,
  ).catch([]),
});

const notice = z.object({ topic: text, about: z.record(z.string(), z.unknown()) });

function parse<Schema extends z.ZodType>(json: string, schema: Schema): z.output<Schema> | undefined {
  if (json.length > MAX_STATE_TEXT) return undefined;
  try {
    return schema.safeParse(JSON.parse(json)).data;
  } catch {
    // Not JSON.
    return undefined;
  }
}

/**
 * Parses the state of a process. Another version of Belfry may have written it, and so may any program that can write to Redis: parts that are
 * not valid are left out.
 *
 * @returns undefined if it is no state at all
 */
export const parseState = (json: string) => parse(json, processState);

/** Parses the slow entries of a process, without those that are not valid. @returns undefined if they are no entries at all */
export const parseSlowEntries = (json: string) => parse(json, slowEntries);

/** Parses a notice to all processes. @returns undefined if it is none */
export const parseNotice = (json: string) => parse(json, notice);

/** Whether a number is a time in epoch ms that a `Date` can have. */
export const isTime = (ms: number) => Math.abs(ms) <= MAX_TIME;

/** Whether a text can be the name of a queue of Belfry. BullMQ throws for other names. */
export const isQueueName = (name: string) => /^[^:{}\s]{1,200}$/.test(name);
