import { leaveTransaction } from './data/postgres/transaction-watch.ts';
import type { Logger } from './observability/log.ts';

type Handler = (payload: never) => unknown;

/** In-process events: listeners run in the process where the event happens. */
export interface Events {
  on(name: string, handler: Handler): void;
  /** Runs the listeners of `name` in order of registration, without waiting for them. A listener's error is logged. */
  emit(name: string, payload: unknown): void;
  /** Whether an event has listeners, so that a caller can skip building the payload. */
  has(name: string): boolean;
}

/** Creates the event hub of one app. */
export function createEvents(log: Logger): Events {
  const handlers = new Map<string, Handler[]>();
  const createFailureLogger = (name: string) => (error: unknown) =>
    log.error({ err: error, event: name }, 'a listener failed');
  return {
    on(name, handler) {
      const list = handlers.get(name) ?? [];
      list.push(handler);
      handlers.set(name, list);
    },
    emit(name, payload) {
      for (const handler of handlers.get(name) ?? []) {
        // The code that emits an event must not fail because of a listener, whether it throws or rejects.
        try {
          const handled: unknown = leaveTransaction(() => handler(payload as never));
          Promise.resolve(handled).catch(createFailureLogger(name));
        } catch (error) {
          createFailureLogger(name)(error);
        }
      }
    },
    has: (name) => handlers.has(name),
  };
}
