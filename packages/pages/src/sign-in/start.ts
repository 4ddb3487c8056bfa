import { useLayoutEffect, useState } from 'preact/hooks';

/** Runs what a page does when it opens. An error that `start` does not handle takes the place of the page. */
export function useStart(start: () => Promise<void>): void {
  const [failure, setFailure] = useState<{ error: unknown }>();
  // Not `useEffect`, which waits until the page is painted.
  useLayoutEffect(() => {
    start().catch((error: unknown) => setFailure({ error }));
  }, []);
  if (failure !== undefined) throw failure.error;
}

/** Reads what a page shows when it opens; undefined until then. */
export function useLoaded<T extends object>(load: () => Promise<T>): T | undefined {
  const [loaded, setLoaded] = useState<T>();
  useStart(async () => setLoaded(await load()));
  return loaded;
}
