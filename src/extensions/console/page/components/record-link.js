import { signal } from '@preact/signals';
import { html } from 'htm/preact';
import { useEffect } from 'preact/hooks';
import { call } from '../api.js';
import { Reference } from '../data/format.js';

const MAX_IDS = 100;
/** Known labels, by resource and id. */
const labels = signal({});
/** The ids whose labels are requested or read, by resource, so that each label is read once. */
const requested = new Map();
let waiting = [];

async function readLabels(resource, ids) {
  const { data } = await call(`/labels/${encodeURIComponent(resource)}?${new URLSearchParams({ ids: ids.join(',') })}`);
  labels.value = { ...labels.value, [resource]: { ...labels.value[resource], ...data } };
}

/** Reads all labels that the page needs with one request for each resource. */
function readWaiting() {
  const groups = Map.groupBy(waiting, ({ resource }) => resource);
  waiting = [];
  for (const [resource, list] of groups) {
    for (let start = 0; start < list.length; start += MAX_IDS) {
      const ids = list.slice(start, start + MAX_IDS).map(({ id }) => id);
      // Without its label, a record is shown by its id.
      readLabels(resource, ids).catch(() => {
        for (const id of ids) requested.get(resource)?.delete(id);
      });
    }
  }
}

function requestLabel(resource, id) {
  const known = requested.get(resource) ?? new Set();
  if (known.has(id)) return;
  requested.set(resource, known.add(id));
  if (waiting.length === 0) queueMicrotask(readWaiting);
  waiting.push({ resource, id });
}

/**
 * A link to a record, with its label.
 *
 * @param {{ resource: string, id: string, href?: string }} props `resource`: its name; `href`: default the page of the record in the Data tab
 */
export function RecordLink({ resource, id, href }) {
  useEffect(() => requestLabel(resource, id), [resource, id]);
  return html`<${Reference} target=${resource} id=${id} labels=${labels.value} href=${href} />`;
}
