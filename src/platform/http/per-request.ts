import type { IncomingMessage } from 'node:http';

/** One value for each request that has one. */
export interface PerRequest<Value> {
  get(req: IncomingMessage): Value | undefined;
  set(req: IncomingMessage, value: Value): void;
  delete(req: IncomingMessage): void;
}

/**
 * Creates a place for a value on each request, which nothing else can read. Not a WeakMap: V8 keeps what a value of one refers to until
 * the next full garbage collection, so that a value that refers to its request would keep every request and body that long.
 */
export function perRequest<Value>(name: string): PerRequest<Value> {
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
