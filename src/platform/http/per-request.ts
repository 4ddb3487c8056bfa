import type { IncomingMessage } from 'node:http';

/** One value per request, for the requests that have one. */
export interface PerRequest<Value> {
  get(req: IncomingMessage): Value | undefined;
  set(req: IncomingMessage, value: Value): void;
  delete(req: IncomingMessage): void;
}

/**
 * Stores one value per request, under a symbol of its own. A WeakMap would keep the request and its body until the next full garbage
 * collection if the value refers to the request.
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
