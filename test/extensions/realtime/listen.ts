import { onTestFinished, vi } from 'vitest';

/** A server-sent event as a client received it. */
export interface Received {
  /** The newest id at that moment. */
  id: string;
  event: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events freely
  data: any;
}

/** An open stream of a test, closed when the test ends. */
export interface Listening {
  status: number;
  headers: Headers;
  /** The body of a refusal. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
  body: any;
  /** All events in order. */
  received: Received[];
  /** The changes among them: `post.created`, … */
  changes(): Received[];
  /** The id of the last event. */
  lastId(): string;
  /** Returns the first matching event once it has arrived. */
  wait(fits: (one: Received) => boolean): Promise<Received>;
  /** Returns the first event with this name once it has arrived. */
  named(event: string): Promise<Received>;
  /** Resolves when the server has ended the stream. */
  ended: Promise<void>;
  close(): void;
}

const OWN = new Set(['ready', 'reset', 'heartbeat', 'end']);

function parse(block: string, lastId: string): Received {
  const fields = new Map(
    block.split('\n').flatMap((line) => {
      const colon = line.indexOf(':');
      return colon < 1 ? [] : [[line.slice(0, colon), line.slice(colon + 1).trimStart()] as const];
    }),
  );
  const data = fields.get('data');
  return {
    id: fields.get('id') ?? lastId,
    event: fields.get('event') ?? '',
    data: data === undefined ? undefined : JSON.parse(data),
  };
}

/**
 * Opens a stream as a client that uses fetch.
 *
 * @param query the query string, without the question mark
 * @param how `after`: the id of the event after which the stream continues
 */
export async function listen(
  url: string,
  query: string,
  how: { token?: string | undefined; after?: string; headers?: Record<string, string> } = {},
): Promise<Listening> {
  const stopping = new AbortController();
  const response = await fetch(`${url}/api/realtime?${query}`, {
    headers: {
      ...(how.token === undefined ? {} : { authorization: `Bearer ${how.token}` }),
      ...(how.after === undefined ? {} : { 'last-event-id': how.after }),
      ...how.headers,
    },
    signal: stopping.signal,
  });
  onTestFinished(() => stopping.abort());
  const received: Received[] = [];
  const wait = (fits: (one: Received) => boolean) =>
    vi.waitFor(
      () => {
        const found = received.find(fits);
        if (found === undefined) throw new Error(`not yet; there is ${JSON.stringify(received.slice(-5))}`);
        return found;
      },
      { timeout: 60_000, interval: 10 },
    );
  let lastId = how.after ?? '';

  async function read(): Promise<void> {
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of response.body!) {
      text += decoder.decode(chunk as Uint8Array, { stream: true });
      const blocks = text.split('\n\n');
      text = blocks.pop()!;
      for (const block of blocks) {
        const one = parse(block, lastId);
        lastId = one.id;
        if (one.event !== '') received.push(one);
      }
    }
  }

  const isStream = response.status === 200;
  const body = isStream ? undefined : JSON.parse(await response.text());
  return {
    status: response.status,
    headers: response.headers,
    body,
    received,
    changes: () => received.filter(({ event }) => !OWN.has(event)),
    lastId: () => lastId,
    wait,
    named: (event) => wait((one) => one.event === event),
    ended: isStream ? read().catch(() => undefined) : Promise.resolve(),
    close: () => stopping.abort(),
  };
}

/** Opens a stream and waits for its `ready` event. */
export async function ready(...streamArguments: Parameters<typeof listen>): Promise<Listening> {
  const stream = await listen(...streamArguments);
  if (stream.status !== 200) throw new Error(`refused: ${stream.status} ${JSON.stringify(stream.body)}`);
  await stream.named('ready');
  return stream;
}
