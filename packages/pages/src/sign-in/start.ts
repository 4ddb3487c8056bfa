import { useLayoutEffect, useState } from 'preact/hooks';
import { toRequestError } from '../kit/request.ts';
import { forgetLinkToken, takeLinkToken } from './session.ts';

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

/** What a page shows before its link is read, and of a link that cannot be used. */
type LinkView = { kind: 'loading' } | { kind: 'unusable'; problem: string };

/** The view of a page that a link with a token opens, and the function that replaces it. @param noToken the problem of a page without a token */
export function useLink<PageView extends { kind: string }>(
  noToken: string,
  open: (token: string) => Promise<PageView>,
) {
  const [token] = useState(takeLinkToken);
  const [view, show] = useState<PageView | LinkView>(
    token === undefined ? { kind: 'unusable', problem: noToken } : { kind: 'loading' },
  );
  useStart(async () => {
    if (token === undefined) return;
    try {
      show(await open(token));
    } catch (error) {
      const { code, message } = toRequestError(error);
      if (code === 'INVALID_TOKEN') forgetLinkToken();
      show({ kind: 'unusable', problem: message });
    }
  });
  return [view, show] as const;
}
