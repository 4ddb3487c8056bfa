import { setTimeout as sleep } from 'node:timers/promises';
import { stripControlCharacters } from '../terminal/terminal.ts';
import { createListenApi, type ListenApi, type PolledMessage } from './api.ts';

/** The options of a session. */
export interface ListenOptions {
  /** The local receiver. */
  url: URL;
  /** The origin of the app. */
  app: string;
  token: string;
  /** The id or slug of the organisation to which the session's own endpoint belongs. */
  organisation: string | undefined;
  /** An endpoint that exists, or the events for which the session has its own. */
  target: { endpoint: string } | { events: readonly string[] };
  /** Whether a message counts as received whatever the receiver responds. */
  alwaysAck: boolean;
}

/** The time that workers of webhooks give a receiver by default. */
const RECEIVER_TIMEOUT_MS = 10_000;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 10_000;

/** Returns the name of the event; the body comes from the app, which verified nothing about its form here. */
function readType(body: string): string {
  try {
    return String(JSON.parse(body).type);
  } catch {
    return 'unknown event';
  }
}

/** Sends a message to the receiver. Returns its status; undefined if it did not respond. Prints one line. */
async function forward(url: URL, { id, headers, body }: PolledMessage): Promise<number | undefined> {
  const began = performance.now();
  const print = (result: string) => {
    const time = new Date().toISOString().slice(11, 19);
    console.log(`${time} ${stripControlCharacters(readType(body))} ${stripControlCharacters(id)} → ${result}`);
  };
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', 'user-agent': 'Belfry-Webhooks' },
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(RECEIVER_TIMEOUT_MS),
    });
    await response.body?.cancel();
    print(`${response.status} (${Math.round(performance.now() - began)} ms)`);
    return response.status;
  } catch (error) {
    const { name, cause } = error as Error;
    const code = (cause as NodeJS.ErrnoException | undefined)?.code;
    print(name === 'TimeoutError' ? 'no response in time' : `not reachable (${code ?? name})`);
    return undefined;
  }
}

/**
 * Forwards messages until one is not received. Each is acknowledged before the next.
 *
 * @returns whether all were received
 */
async function forwardAll(
  { url, alwaysAck }: ListenOptions,
  api: ListenApi,
  endpointId: string,
  messages: readonly PolledMessage[],
  signal: AbortSignal,
): Promise<boolean> {
  for (const message of messages) {
    if (signal.aborted) return true;
    const status = await forward(url, message);
    const isReceived = status !== undefined && (alwaysAck || (status >= 200 && status < 300));
    if (!isReceived) return false;
    await api.acknowledge(endpointId, message.cursor);
  }
  return true;
}

async function forwardUntilAborted(options: ListenOptions, api: ListenApi, endpointId: string, signal: AbortSignal) {
  let retryMs = FIRST_RETRY_MS;
  while (!signal.aborted) {
    // A message that was not received is polled again, so that its signature is recent.
    const areReceived = await forwardAll(options, api, endpointId, await api.poll(endpointId), signal);
    if (areReceived) {
      retryMs = FIRST_RETRY_MS;
      continue;
    }
    await sleep(retryMs, undefined, { signal });
    retryMs = Math.min(2 * retryMs, MAX_RETRY_MS);
  }
}

/**
 * Polls an app for webhooks and sends each to the local receiver, with its headers, until `signal` is aborted. An endpoint of the session is
 * deleted at the end.
 */
export async function listen(options: ListenOptions, signal: AbortSignal): Promise<void> {
  const { url, app, target } = options;
  const api = createListenApi(options, signal);
  const created = 'events' in target ? await api.createEndpoint(target.events) : undefined;
  const endpointId = 'events' in target ? created!.id : target.endpoint;
  try {
    await api.check(endpointId);
    if (created !== undefined) console.log(`Messages are signed with ${created.secret}`);
    console.log(`Listening to ${app}, forwarding to ${url.href}. Press Ctrl-C to stop.`);
    await forwardUntilAborted(options, api, endpointId, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    if (created !== undefined) await api.deleteEndpoint(endpointId);
  }
}
