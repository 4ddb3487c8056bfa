import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type RequestError, toRequestError } from '../../kit/request.ts';
import { call, type PageMeta } from '../api.ts';
import { hrefOf, place } from '../router.ts';
import { texts } from '../texts.ts';

/** What `useLoaded` has read. */
export interface Load<T, Meta extends object = PageMeta> {
  /** undefined until it arrives. It stays while the same path is read again. */
  data: T | undefined;
  meta: Partial<Meta>;
  /** Of the last request. */
  error: RequestError | undefined;
  isLoading: boolean;
  reload: () => Promise<void>;
}

/** What `usePages` has read. */
export interface Pages<Row, Meta extends PageMeta = PageMeta> extends Load<Row[], Meta> {
  /** Of all pages; undefined until the first one arrives. */
  rows: Row[] | undefined;
  /** The cursor of the next page; null if there is none. */
  next: string | null;
  loadMore: () => Promise<void>;
}

/**
 * Reads a route of the console, and again at an interval while the page is visible.
 *
 * @param path below `/console/api`; undefined reads nothing
 * @param options the interval in ms; left out: read once
 */
export function useLoaded<T, Meta extends object = PageMeta>(
  path: string | undefined,
  { everyMs }: { everyMs?: number } = {},
): Load<T, Meta> {
  const nothing = { data: undefined, meta: {}, error: undefined };
  const [shown, setShown] = useState<{ path?: string | undefined } & Pick<Load<T, Meta>, 'data' | 'meta' | 'error'>>(
    nothing,
  );
  const newest = useRef(0);
  const load = async () => {
    if (path === undefined) return;
    const number = ++newest.current;
    try {
      const { data, meta } = await call<T, Meta>(path);
      if (number === newest.current) setShown({ path, data, meta, error: undefined });
    } catch (thrown) {
      if (number !== newest.current) return;
      const error = toRequestError(thrown);
      // An update in the background keeps what is shown, with the error beside it.
      setShown((before) => (before.path === path ? { ...before, error } : { ...nothing, path, error }));
    }
  };
  useEffect(() => {
    load();
    return () => {
      newest.current++;
    };
  }, [path]);
  useEffect(() => {
    if (everyMs === undefined || path === undefined) return undefined;
    let timer: ReturnType<typeof setTimeout>;
    let isStopped = false;
    const schedule = () => {
      timer = setTimeout(async () => {
        if (!document.hidden) await load();
        if (!isStopped) schedule();
      }, everyMs);
    };
    schedule();
    return () => {
      isStopped = true;
      clearTimeout(timer);
    };
  }, [path, everyMs]);
  const isCurrent = shown.path === path;
  return {
    ...(isCurrent ? shown : nothing),
    isLoading: path !== undefined && !isCurrent,
    reload: load,
  };
}

/**
 * Reads a route whose response is a page with `meta.next`, and further pages on request.
 *
 * @param path below `/console/api`, with the filters but without `after`
 */
export function usePages<Row, Meta extends PageMeta = PageMeta>(path: string): Pages<Row, Meta> {
  const first = useLoaded<Row[], Meta>(path);
  const [more, setMore] = useState<{ path?: string; rows: Row[]; next: string | null }>({ rows: [], next: null });
  const [isLoading, setLoading] = useState(false);
  const [moreError, setMoreError] = useState<RequestError>();
  const added = more.path === path ? more : { rows: [], next: first.meta.next ?? null };
  const loadMore = async () => {
    if (added.next === null) return;
    setLoading(true);
    setMoreError(undefined);
    try {
      const url = new URL(path, location.origin);
      url.searchParams.set('after', added.next);
      const { data, meta } = await call<Row[]>(hrefOf(url.pathname, url.searchParams));
      setMore({ path, rows: [...added.rows, ...data], next: meta.next ?? null });
    } catch (error) {
      setMoreError(toRequestError(error));
    }
    setLoading(false);
  };
  const reload = async () => {
    setMore({ rows: [], next: null });
    await first.reload();
  };
  const rows = first.data === undefined ? undefined : [...first.data, ...added.rows];
  return { ...first, rows, next: added.next, error: moreError ?? first.error, isLoading, loadMore, reload };
}

/** Shows what has been read: bars while nothing has arrived yet, an error with a button to try again, or the content. */
export function Loaded<T>({
  from,
  children,
}: {
  from: Pick<Load<T>, 'data' | 'error' | 'reload'>;
  children: (data: T) => ComponentChildren;
}) {
  const { data, error, reload } = from;
  const retry = (
    <button type="button" onClick={reload}>
      {texts.components.tryAgain}
    </button>
  );
  if (data === undefined && error === undefined)
    return (
      <div class="bones" role="progressbar" aria-busy="true" aria-label={texts.components.loading}>
        <span class="bone"></span>
        <span class="bone"></span>
        <span class="bone"></span>
      </div>
    );
  return (
    <>
      {error && (
        <p class="banner bad" role="alert">
          <span>{error.message}</span>
          {retry}
        </p>
      )}
      {data !== undefined && children(data)}
    </>
  );
}

/** The button below a list that has further pages. */
export function LoadMore<Row>({ from }: { from: Pages<Row> }) {
  if (from.next === null || from.rows === undefined) return null;
  return (
    <p class="more">
      <button type="button" disabled={from.isLoading} onClick={from.loadMore}>
        {from.isLoading ? `${texts.components.loading}…` : texts.components.showMore}
      </button>
    </p>
  );
}

/**
 * Links to the newest and the next older page of a list whose page is in the address, as `after`. Unlike `LoadMore`, it suits lists that are
 * read at an interval.
 *
 * @param props `next`: `meta.next` of the page that is shown
 */
export function Pager({ next }: { next: string | null | undefined }) {
  const { path, params } = place.value;
  const hrefWith = (after: string | undefined) => {
    const changed = new URLSearchParams(params);
    if (after === undefined) changed.delete('after');
    else changed.set('after', after);
    return hrefOf(path, changed);
  };
  if (!params.has('after') && !next) return null;
  return (
    <nav class="more pager" aria-label={texts.components.pages}>
      {params.has('after') && (
        <a class="button" href={hrefWith(undefined)}>
          {texts.components.newest}
        </a>
      )}
      {next && (
        <a class="button" href={hrefWith(next)}>
          {texts.components.older}
        </a>
      )}
    </nav>
  );
}
