import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { call } from '../api.ts';
import type { Labels } from '../data/app-info.ts';
import { Reference } from '../data/format.tsx';

const MAX_IDS = 100;
/** A masked id names no record. */
const ID = /^[0-9a-f]{24}$/;
/** Known labels, by resource and id. */
const labels = signal<Labels>({});
/** The ids whose labels are requested or read, by resource, so that each label is read once. */
const requested = new Map<string, Set<string>>();
let waiting: { resource: string; id: string }[] = [];

async function readLabels(resource: string, ids: readonly string[]) {
  const query = new URLSearchParams({ ids: ids.join(',') });
  const { data } = await call<Labels[string]>(`/labels/${encodeURIComponent(resource)}?${query}`);
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

function requestLabel(resource: string, id: string) {
  const known = requested.get(resource) ?? new Set<string>();
  if (known.has(id)) return;
  requested.set(resource, known.add(id));
  if (waiting.length === 0) queueMicrotask(readWaiting);
  waiting.push({ resource, id });
}

/** A link to a record, with its label. @param props `resource`: its name; `href`: default the page of the record in the Data tab */
export function RecordLink({ resource, id, href }: { resource: string; id: string; href?: string | undefined }) {
  const isId = ID.test(id);
  useEffect(() => {
    if (isId) requestLabel(resource, id);
  }, [resource, id]);
  if (!isId) return <>{id}</>;
  return <Reference target={resource} id={id} labels={labels.value} href={href} />;
}
