import { useEffect, useRef, useState } from 'preact/hooks';
import { type RequestError, toRequestError } from '../../../kit/request.ts';
import { call } from '../../api.ts';
import { sendWithCode } from '../../components/second-factor.tsx';
import { hrefOf, place } from '../../router.ts';
import { useChanges } from '../../shell/live.ts';
import type { Labels, ReferringField, ResourceInfo, StoredRecord, Titles } from '../app-info.ts';
import { recordsPath, viewer } from '../schema.ts';

export interface RecordMeta {
  /** Of the record, for `If-Match`. */
  version?: string;
  deleted: boolean;
  labels: Labels;
  /** Of the record, unless the viewer does not get it. */
  titles: Titles;
  /** The records that refer to the record. `count`: up to 1000; null if counting takes too long. */
  relations: readonly (ReferringField & { count: number | null })[];
  /** The rules that hide fields from the viewer. */
  hidden: readonly { field: string; rule: string }[];
  canList: boolean;
  /** Why the viewer gets the record or not; null for a page that shows everything. */
  why: string | null;
}

/** A record as it was read. For a viewer who does not get it, `Values` is null. */
export interface RecordVersion<Values = StoredRecord> {
  record: Values;
  meta: RecordMeta;
}

/** Changed values by field, as editors have them. */
export type Changes = Readonly<Record<string, unknown>>;

/** What has happened to a record while it is being edited. */
export type NewerVersion = RecordVersion | 'deleted';

/** Reads a record, as the viewer of the page sees it. @throws RequestError */
async function readRecord<Values>(resource: ResourceInfo, id: string): Promise<RecordVersion<Values>> {
  const as = viewer();
  const query = new URLSearchParams(as === undefined ? {} : { as });
  const { data, meta } = await call<Values, RecordMeta>(hrefOf(recordsPath(resource, id), query));
  return { record: data, meta };
}

/** What is known about a record: nothing while it is read, a version of it, or why it cannot be read. */
type ReadState<Values> = { version?: RecordVersion<Values>; error?: RequestError };

/**
 * A record, which stays up to date.
 *
 * @param hasDraft whether there are changes that a new version of the record must not replace
 */
export function useRecord<Values = StoredRecord>(resource: ResourceInfo, id: string, hasDraft: () => boolean) {
  const [state, setState] = useState<ReadState<Values>>({});
  const [newer, setNewer] = useState<RecordVersion<Values> | 'deleted' | undefined>(undefined);
  const [isChanged, setChanged] = useState(false);
  const newest = useRef(0);
  const shown = useRef<RecordMeta>(undefined);
  const as = place.value.params.get('as');
  const accept = (version: RecordVersion<Values>) => {
    newest.current++;
    shown.current = version.meta;
    setNewer(undefined);
    setState({ version });
  };
  const load = async () => {
    const number = ++newest.current;
    try {
      const version = await readRecord<Values>(resource, id);
      if (number === newest.current) accept(version);
    } catch (error) {
      if (number === newest.current) setState({ error: toRequestError(error) });
    }
  };
  const update = async (): Promise<void> => {
    const number = newest.current;
    try {
      const version = await readRecord<Values>(resource, id);
      // Since then another version has been read or saved, which may be newer.
      if (number !== newest.current) return update();
      const { current } = shown;
      if (version.meta.version === current?.version && version.meta.deleted === current?.deleted) return;
      if (hasDraft()) setNewer(version.meta.deleted ? 'deleted' : version);
      else {
        accept(version);
        setChanged(true);
        setTimeout(setChanged, 2500, false);
      }
    } catch (failure) {
      const error = toRequestError(failure);
      if (error.status === 404) hasDraft() ? setNewer('deleted') : setState({ error });
    }
  };
  useEffect(() => {
    load();
  }, [resource.name, id, as]);
  useChanges(resource.name, (ids: ReadonlySet<string>) => {
    if (ids.size === 0 || ids.has(id)) update();
  });
  return { ...state, newer, isChanged, reload: load, accept };
}

/** Reads the current version of a record, as the system sees it. @throws RequestError */
export async function readCurrent(resource: ResourceInfo, id: string): Promise<RecordVersion> {
  const { data, meta } = await call<StoredRecord, RecordMeta>(recordsPath(resource, id));
  return { record: data, meta };
}

const ifMatch = ({ version }: RecordMeta): Record<string, string> =>
  version === undefined ? {} : { 'If-Match': `"${version}"` };

/** Saves changed fields of the version that was read. @throws RequestError 412 if the record has changed since */
export async function saveRecord(
  resource: ResourceInfo,
  { record, meta }: RecordVersion,
  values: Record<string, unknown>,
): Promise<RecordVersion> {
  await call(recordsPath(resource, record.id), { method: 'PATCH', body: values, headers: ifMatch(meta) });
  return readCurrent(resource, record.id);
}

export const createRecord = async (resource: ResourceInfo, values: Record<string, unknown>): Promise<StoredRecord> =>
  (await call<StoredRecord>(recordsPath(resource), { method: 'POST', body: values })).data;

/**
 * Deletes the version that was read.
 *
 * @returns false if the administrator cancels
 * @throws RequestError 412 if the record has changed since
 */
export const deleteRecord = (resource: ResourceInfo, { record, meta }: RecordVersion): Promise<boolean> =>
  sendWithCode((body) => call(recordsPath(resource, record.id), { method: 'DELETE', headers: ifMatch(meta), body }));

/** Restores a record. @returns false if the administrator cancels */
export const restoreRecord = (resource: ResourceInfo, id: string): Promise<boolean> =>
  sendWithCode((body) => call(recordsPath(resource, id, 'restore'), { method: 'POST', body }));
