/**
 * An `AbortController` that costs nothing until its signal is read: creating a signal and listening to it takes longer than a short unit of
 * work.
 */
export class LazyAbort {
  #controller: AbortController | undefined;
  #listeners: Set<() => void> | undefined;
  #isAborted = false;
  #reason: unknown;

  get isAborted(): boolean {
    return this.#isAborted;
  }

  /** The reason of the first abort; undefined before. */
  get reason(): unknown {
    return this.#reason;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isAborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Aborts once; later calls do nothing. */
  abort(reason: unknown): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
    for (const listener of this.#listeners ?? []) listener();
    this.#listeners = undefined;
  }

  /** Calls `listener` once: at the abort, or now if that was earlier. */
  onAbort(listener: () => void): void {
    if (this.#isAborted) listener();
    else {
      this.#listeners ??= new Set();
      this.#listeners.add(listener);
    }
  }

  /** Removes a listener that `onAbort` added. */
  offAbort(listener: () => void): void {
    this.#listeners?.delete(listener);
  }
}
