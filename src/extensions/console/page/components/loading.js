import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { call } from '../api.js';
import { hrefOf, place } from '../router.js';

/**
 * Reads a route of the console, and again at an interval while the page is visible.
 *
 * @param {string | undefined} path below `/console/api`; undefined reads nothing
 * @param {{ everyMs?: number }} [options] the interval in ms; left out: read once
 * @returns {{ data: any, meta: any, error: any, isLoading: boolean, reload: () => Promise<void> }} `data` stays while the same path is read again
 */
export function useLoaded(path, { everyMs } = {}) {
  const [shown, setShown] = useState({ path: undefined, data: undefined, meta: {}, error: undefined });
  const newest = useRef(0);
  const load = async () => {
    if (path === undefined) return;
    const number = ++newest.current;
    try {
      const { data, meta } = await call(path);
      if (number === newest.current) setShown({ path, data, meta, error: undefined });
    } catch (error) {
      if (number !== newest.current) return;
      // An update in the background keeps what is shown, with the error beside it.
      setShown((before) => (before.path === path ? { ...before, error } : { path, data: undefined, meta: {}, error }));
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
    let timer;
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
    ...(isCurrent ? shown : { data: undefined, meta: {} }),
    isLoading: path !== undefined && !isCurrent,
    reload: load,
  };
}

/**
 * Reads a route whose response is a page with `meta.next`, and further pages on request.
 *
 * @param {string} path below `/console/api`, with the filters but without `after`
 * @returns {{ rows: any[] | undefined, meta: any, error: any, next: string | null, isLoading: boolean, loadMore: () => Promise<void>,
 *   reload: () => Promise<void> }} `rows`: undefined until the first page arrives
 */
export function usePages(path) {
  const first = useLoaded(path);
  const [more, setMore] = useState({ path: undefined, rows: [], next: null });
  const [isLoading, setLoading] = useState(false);
  const [moreError, setMoreError] = useState();
  const added = more.path === path ? more : { rows: [], next: first.meta.next ?? null };
  const loadMore = async () => {
    setLoading(true);
    setMoreError(undefined);
    try {
      const url = new URL(path, location.origin);
      url.searchParams.set('after', added.next);
      const { data, meta } = await call(hrefOf(url.pathname, url.searchParams));
      setMore({ path, rows: [...added.rows, ...data], next: meta.next ?? null });
    } catch (error) {
      setMoreError(error);
    }
    setLoading(false);
  };
  const reload = async () => {
    setMore({ path: undefined, rows: [], next: null });
    await first.reload();
  };
  const rows = first.data === undefined ? undefined : [...first.data, ...added.rows];
  return { ...first, rows, next: added.next, error: moreError ?? first.error, isLoading, loadMore, reload };
}

/**
 * Shows what has been read: bars while nothing has arrived yet, an error with a button to try again, or the content.
 *
 * @param {{ from: ReturnType<typeof useLoaded>, children: (data: any) => any }} props
 */
export function Loaded({ from, children }) {
  const { data, error, reload } = from;
  const retry = html`<button type="button" onClick=${reload}>Try again</button>`;
  if (data === undefined && error === undefined)
    return html`<div class="bones" aria-busy="true" aria-label="Loading">
      <span class="bone"></span><span class="bone"></span><span class="bone"></span>
    </div>`;
  return html`${error && html`<p class="banner bad" role="alert"><span>${error.message}</span>${retry}</p>`}
  ${data !== undefined && children(data)}`;
}

/** The button below a list that has further pages. @param {{ from: ReturnType<typeof usePages> }} props */
export function LoadMore({ from }) {
  if (from.next === null || from.rows === undefined) return null;
  return html`<p class="more">
    <button type="button" disabled=${from.isLoading} onClick=${from.loadMore}>
      ${from.isLoading ? 'Loading…' : 'Show more'}
    </button>
  </p>`;
}

/**
 * Links to the newest and the next older page of a list whose page is in the address, as `after`. Unlike `LoadMore`, it suits lists that are
 * read at an interval.
 *
 * @param {{ next: string | null | undefined }} props `next`: `meta.next` of the page that is shown
 */
export function Pager({ next }) {
  const { path, params } = place.value;
  const hrefWith = (after) => {
    const changed = new URLSearchParams(params);
    if (after === undefined) changed.delete('after');
    else changed.set('after', after);
    return hrefOf(path, changed);
  };
  if (!params.has('after') && !next) return null;
  return html`<nav class="more pager" aria-label="Pages">
    ${params.has('after') && html`<a class="button" href=${hrefWith(undefined)}>Newest</a>`}
    ${next && html`<a class="button" href=${hrefWith(next)}>Older</a>`}
  </nav>`;
}
