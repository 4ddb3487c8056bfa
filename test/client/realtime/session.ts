import { onTestFinished } from 'vitest';
import { createRealtime, type Realtime } from '../../../packages/client/src/realtime/index.ts';
import type { RecordChange } from '../../../packages/client/src/realtime/record-change.ts';
import { createRequester } from '../../../packages/client/src/request/requester.ts';

/** A session that tests change as `client.auth` does. */
export interface TestSession {
  realtime: Realtime;
  /** The addresses of the streams that were requested, without the origin. */
  opened: string[];
  /** The other addresses that were requested. */
  requested: string[];
  /** Signs in with another token, or out. */
  signIn(token: string | undefined): void;
}

/** Creates the realtime part of a client. */
export function createTestRealtime(url: string, firstToken?: string): TestSession {
  let token = firstToken;
  const listeners = new Set<(session: undefined) => void>();
  const signIn = (next: string | undefined) => {
    token = next;
    for (const listener of listeners) listener(undefined);
  };
  const tokens = {
    getToken: () => token,
    onTokenRefused: (refused: string) => {
      if (token === refused) signIn(undefined);
    },
    subscribe(listener: (session: undefined) => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  const [opened, requested]: [string[], string[]] = [[], []];
  const requester = createRequester(url.replace(/\/$/, ''), tokens, {
    fetch: (target, init) => {
      const { pathname, search } = new URL(String(target));
      (pathname === '/api/realtime' ? opened : requested).push(pathname + decodeURIComponent(search));
      return fetch(target, init);
    },
  });
  return { realtime: createRealtime(requester, tokens), opened, requested, signIn };
}

/** A subscription of a test and what it has received, in order. It ends with the test. */
export interface TestSubscription {
  log: string[];
  events: RecordChange<Record<string, unknown>>[];
  errors: { status: number; message: string }[];
  close(): void;
}

/** Subscribes, and notes everything. Events are noted as their type and title. */
export function record(
  { realtime }: TestSession,
  path: string,
  subscription: Parameters<Realtime['subscribe']>[1] = {},
): TestSubscription {
  const [log, events, errors]: [string[], TestSubscription['events'], TestSubscription['errors']] = [[], [], []];
  const close = realtime.subscribe<Record<string, unknown>>(path, subscription, {
    onEvent(event) {
      events.push(event);
      log.push(`${event.type} ${event.data?.title ?? ''}`.trim());
    },
    onReady: () => log.push('ready'),
    onReset: (reason) => log.push(`reset ${reason}`),
    onDisconnect: () => log.push('disconnected'),
    onError(error) {
      errors.push(error as TestSubscription['errors'][number]);
      log.push('error');
    },
  });
  onTestFinished(close);
  return { log, events, errors, close };
}
