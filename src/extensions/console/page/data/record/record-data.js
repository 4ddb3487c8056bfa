import { useEffect, useRef, useState } from 'preact/hooks';
import { call } from '../../api.js';
import { sendWithCode } from '../../components/second-factor.js';
import { hrefOf, place } from '../../router.js';
import { useChanges } from '../../shell/live.js';
import { recordsPath, viewer } from '../schema.js';

/** Reads a record, as the viewer of the page sees it. @throws RequestError */
async function readRecord(resource, id) {
  const query = new URLSearchParams(viewer() === undefined ? {} : { as: viewer() });
  const { data, meta } = await call(hrefOf(recordsPath(resource, id), query));
  return { record: data, meta };
}

/**
 * A record, which stays up to date.
 *
 * @param {() => boolean} hasDraft whether there are changes that a new version of the record must not replace
 * @returns {{ record: any, meta: any, error: Error | undefined, newer: { record: any, meta: any } | 'deleted' | undefined,
 *   isChanged: boolean, reload: () => Promise<any>, accept: (version: { record: any, meta: any }) => void }} `newer`: what has happened to
 *   the record while it is being edited
 */
export function useRecord(resource, id, hasDraft) {
  const [state, setState] = useState({ record: undefined, meta: {}, error: undefined });
  const [newer, setNewer] = useState(undefined);
  const [isChanged, setChanged] = useState(false);
  const newest = useRef(0);
  const as = place.value.params.get('as');
  const accept = (version) => {
    newest.current++;
    setNewer(undefined);
    setState({ ...version, error: undefined });
  };
  const load = async () => {
    const number = ++newest.current;
    try {
      const version = await readRecord(resource, id);
      if (number === newest.current) accept(version);
      return version;
    } catch (error) {
      if (number === newest.current) setState({ record: undefined, meta: {}, error });
      return undefined;
    }
  };
  const update = async () => {
    try {
      const version = await readRecord(resource, id);
      if (version.meta.version === state.meta.version && version.meta.deleted === state.meta.deleted) return;
      if (hasDraft()) setNewer(version.meta.deleted ? 'deleted' : version);
      else {
        accept(version);
        setChanged(true);
        setTimeout(setChanged, 2500, false);
      }
    } catch (error) {
      if (error.status === 404) hasDraft() ? setNewer('deleted') : setState({ record: undefined, meta: {}, error });
    }
  };
  useEffect(() => {
    load();
  }, [resource.name, id, as]);
  useChanges(resource.name, (ids) => {
    if (ids.size === 0 || ids.has(id)) update();
  });
  return { ...state, newer, isChanged, reload: load, accept };
}

/** Reads the current version of a record, as the system sees it. @throws RequestError */
export async function readCurrent(resource, id) {
  const { data, meta } = await call(recordsPath(resource, id));
  return { record: data, meta };
}

const headersOf = ({ version }) => (version === undefined ? {} : { 'If-Match': `"${version}"` });

/** Saves changed fields of the version that was read. @throws RequestError 412 if the record has changed since */
export async function saveRecord(resource, { record, meta }, values) {
  await call(recordsPath(resource, record.id), { method: 'PATCH', body: values, headers: headersOf(meta) });
  return readCurrent(resource, record.id);
}

export const createRecord = async (resource, values) =>
  (await call(recordsPath(resource), { method: 'POST', body: values })).data;

/**
 * Deletes the version that was read.
 *
 * @returns {Promise<boolean>} false if the administrator cancels
 * @throws RequestError 412 if the record has changed since
 */
export const deleteRecord = (resource, { record, meta }) =>
  sendWithCode((body) => call(recordsPath(resource, record.id), { method: 'DELETE', headers: headersOf(meta), body }));

/** Restores a record. @returns {Promise<boolean>} false if the administrator cancels */
export const restoreRecord = (resource, id) =>
  sendWithCode((body) => call(recordsPath(resource, id, 'restore'), { method: 'POST', body }));
