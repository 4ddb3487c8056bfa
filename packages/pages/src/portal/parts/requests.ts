import { useEffect, useState } from 'preact/hooks';
import { type RequestError, toRequestError } from '../../kit/request.ts';
import { type Answer, send } from '../session.ts';

/** Runs actions one at a time. `error` is that of the last one; it is cleared by the next, and by `clearError`. */
export function useAction() {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<RequestError>();
  const clearError = () => setError(undefined);
  const run = async (action: () => Promise<unknown>) => {
    setBusy(true);
    clearError();
    try {
      await action();
    } catch (thrown) {
      setError(toRequestError(thrown));
    }
    setBusy(false);
  };
  return { busy, error, run, clearError };
}

/** What `useData` has read. */
export interface Load<T> extends Partial<Answer<T>> {
  /** Of the last request. The data of an earlier one stays. */
  error?: RequestError;
  reload: () => void;
}

/** Reads a route when `path` changes, and again with `reload`. */
export function useData<T>(
  path: string,
  read = (signal: AbortSignal): Promise<Answer<T>> => send<T>(path, { signal }),
): Load<T> {
  const [result, setResult] = useState<{ path?: string } & Omit<Load<T>, 'reload'>>({});
  const [version, setVersion] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    read(abort.signal).then(
      (answer) => abort.signal.aborted || setResult({ path, ...answer }),
      (thrown) => {
        if (abort.signal.aborted) return;
        const error = toRequestError(thrown);
        setResult((before) => (before.path === path ? { ...before, error } : { path, error }));
      },
    );
    return () => abort.abort();
  }, [path, version]);
  return { ...(result.path === path ? result : {}), reload: () => setVersion((count) => count + 1) };
}
