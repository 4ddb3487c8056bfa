import type { IncomingMessage } from 'node:http';

/** Stores at most one value per request. */
interface PerRequestStore<Value> {
  get(req: IncomingMessage): Value | undefined;
  set(req: IncomingMessage, value: Value): void;
  delete(req: IncomingMessage): void;
}

/**
 * Creates a store of one value per request, as a property of the request under its own symbol. If the value refers to the request, a
 * WeakMap would keep the request and its body in memory until the next full garbage collection.
 */
export function createPerRequestStore<Value>(name: string): PerRequestStore<Value> {
  const key = Symbol(name);
  type Holder = IncomingMessage & { [key]?: Value | undefined };
  return {
    get: (req: Holder) => req[key],
    set(req: Holder, value) {
      req[key] = value;
    },
    delete(req: Holder) {
      req[key] = undefined;
    },
  };
}
