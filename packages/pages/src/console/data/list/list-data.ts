import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type RequestError, toRequestError } from '../../../kit/request.ts';
import { call, type PageMeta } from '../../api.ts';
import { hrefOf, place } from '../../router.ts';
import { useChanges } from '../../shell/live.ts';
import type { Labels, ResourceInfo, StoredRecord, Titles } from '../app-info.ts';
import { recordsPath, viewer } from '../schema.ts';
import { requestParams } from './query.ts';

const HIGHLIGHT_MS = 2500;

export interface ListMeta extends PageMeta {
  labels?: Labels;
  /** Of the records of the page. */
  titles?: Titles;
  total?: number;
  /** More records may match, because counting stopped. */
  totalCapped?: boolean;
  /** The page has fewer records than asked for, although there are more. */
  truncated?: boolean;
  /** Why a viewer gets no list. */
  why?: string;
}

/** A list as it is shown. */
export interface RecordList {
  /** Undefined until the first response. */
  rows: readonly StoredRecord[] | undefined;
  meta: ListMeta;
  error: RequestError | undefined;
  isLoading: boolean;
  /** The ids of records that have just changed. */
  changed: ReadonlySet<string>;
  reload: () => Promise<void>;
}

type ShownPage = Pick<RecordList, 'rows' | 'meta' | 'error'> & { path: string | undefined };

/** The path of the page of a list that the address selects. */
function listPath(resource: ResourceInfo, params: URLSearchParams): string {
  const query = requestParams(params);
  if (!query.has('after')) query.set('count', 'capped');
  const as = viewer();
  if (as !== undefined) query.set('as', as);
  return hrefOf(recordsPath(resource), query);
}

/** The ids of records that have just changed, for a short highlight. */
function useHighlight() {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const highlight = (changed: ReadonlySet<string>) => {
    clearTimeout(timer.current);
    setIds(changed);
    timer.current = setTimeout(() => setIds(new Set()), HIGHLIGHT_MS);
  };
  return [ids, highlight] as const;
}

/** The page of a list that the address selects. It stays up to date: changes are read when they happen. */
export function useList(resource: ResourceInfo): RecordList {
  const path = listPath(resource, place.value.params);
  const [shown, setShown] = useState<ShownPage>({ rows: undefined, meta: {}, error: undefined, path: undefined });
  const [changed, highlight] = useHighlight();
  const newest = useRef(0);
  const load = async (isUpdate: boolean) => {
    const number = ++newest.current;
    try {
      const { data, meta } = await call<StoredRecord[], ListMeta>(path);
      if (number === newest.current) setShown({ rows: data, meta, error: undefined, path });
    } catch (failure) {
      const error = toRequestError(failure);
      // An update in the background keeps what is shown.
      if (number === newest.current && !(isUpdate && error.status === 0)) setShown({ rows: [], meta: {}, error, path });
    }
  };
  useEffect(() => {
    load(false);
  }, [path]);
  useChanges(resource.name, async (ids: ReadonlySet<string>) => {
    await load(true);
    highlight(ids);
  });
  return { ...shown, isLoading: shown.path !== path, changed, reload: () => load(false) };
}

/** The width of an element in pixels; 0 before it is measured. */
export function useWidth(element: RefObject<Element | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    if (element.current !== null) observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return width;
}
