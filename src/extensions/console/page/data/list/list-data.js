import { useEffect, useRef, useState } from 'preact/hooks';
import { call } from '../../api.js';
import { hrefOf, place } from '../../router.js';
import { useChanges } from '../../shell/live.js';
import { recordsPath, viewer } from '../schema.js';
import { requestParams } from './query.js';

const HIGHLIGHT_MS = 2500;

/** The path of the page of a list that the address selects. */
function listPath(resource, params) {
  const query = requestParams(params);
  if (!query.has('after')) query.set('count', 'capped');
  if (viewer() !== undefined) query.set('as', viewer());
  return hrefOf(recordsPath(resource), query);
}

/** The ids of records that have just changed, for a short highlight. */
function useHighlight() {
  const [ids, setIds] = useState(new Set());
  const timer = useRef(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return [
    ids,
    (changed) => {
      clearTimeout(timer.current);
      setIds(changed);
      timer.current = setTimeout(() => setIds(new Set()), HIGHLIGHT_MS);
    },
  ];
}

/**
 * The page of a list that the address selects. It stays up to date: changes are read when they happen.
 *
 * @returns {{ rows: any[] | undefined, meta: any, error: Error | undefined, isLoading: boolean, changed: Set<string>,
 *   reload: () => Promise<void> }} `rows`: undefined until the first response
 */
export function useList(resource) {
  const path = listPath(resource, place.value.params);
  const [shown, setShown] = useState({ rows: undefined, meta: {}, error: undefined, path: undefined });
  const [changed, highlight] = useHighlight();
  const newest = useRef(0);
  const load = async (isUpdate) => {
    const number = ++newest.current;
    try {
      const { data, meta } = await call(path);
      if (number === newest.current) setShown({ rows: data, meta, error: undefined, path });
    } catch (error) {
      // An update in the background keeps what is shown.
      if (number === newest.current && !(isUpdate && error.status === 0)) setShown({ rows: [], meta: {}, error, path });
    }
  };
  useEffect(() => {
    load(false);
  }, [path]);
  useChanges(resource.name, async (ids) => {
    await load(true);
    highlight(ids);
  });
  return { ...shown, isLoading: shown.path !== path, changed, reload: () => load(false) };
}

/** The width of an element in pixels; 0 before it is measured. */
export function useWidth(element) {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry.contentRect.width)));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return width;
}
