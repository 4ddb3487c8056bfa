/** What browsers add to the global scope. */
interface BrowserGlobals {
  addEventListener?(type: string, listener: () => void): void;
  removeEventListener?(type: string, listener: () => void): void;
  document?: { readonly visibilityState: string } & Required<
    Pick<BrowserGlobals, 'addEventListener' | 'removeEventListener'>
  >;
}

/**
 * Calls `wake` when the device may have been asleep or offline: it is online again, or its user has returned to the page. Elsewhere than in
 * browsers, this does nothing.
 *
 * @returns a function that ends this
 */
export function watchWakeUps(wake: () => void): () => void {
  const globals = globalThis as BrowserGlobals;
  const { document } = globals;
  const wakeIfVisible = () => {
    if (document?.visibilityState === 'visible') wake();
  };
  globals.addEventListener?.('online', wake);
  document?.addEventListener('visibilitychange', wakeIfVisible);
  return () => {
    globals.removeEventListener?.('online', wake);
    document?.removeEventListener('visibilitychange', wakeIfVisible);
  };
}
