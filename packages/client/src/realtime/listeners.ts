/** Calls a listener. Its error is reported like that of an event listener, because it must not stop the caller or the other listeners. */
export function callListener(call: () => void): void {
  try {
    call();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

/** Creates the listeners of one thing that changes. */
export function createListeners() {
  const listeners = new Set<() => void>();
  return {
    get size() {
      return listeners.size;
    },
    /** Adds a listener; the same function can be added twice. Returns an unsubscribe function. */
    subscribe(listener: () => void): () => void {
      const own = () => listener();
      listeners.add(own);
      return () => void listeners.delete(own);
    },
    /** Calls every listener that is still subscribed. */
    notify(): void {
      for (const listener of [...listeners]) if (listeners.has(listener)) callListener(listener);
    },
  };
}
