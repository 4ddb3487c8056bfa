import {
  Code,
  DataTable,
  Facts,
  Figure,
  hrefOf,
  html,
  Loaded,
  Page,
  place,
  Section,
  timeOf,
  useLoaded,
} from 'belfry/console';
import { PUSH, PushStatus, titleOf, UserLink } from './outcome.js';
import { DeviceResults } from './results.js';

/** The interval in ms at which the push is read, because results arrive later and from other processes. */
const READ_EVERY_MS = 3000;

const COUNTS = [
  ['devices', 'Devices', ''],
  ['queued', 'Not tried yet', 'warn'],
  ['accepted', 'Accepted', 'good'],
  ['failed', 'Failed', 'bad'],
  ['retrying', 'Retrying', 'warn'],
  ['receiptsFailed', 'Failed later', 'bad'],
  ['opened', 'Opened', 'good'],
];
const ALWAYS_SHOWN = new Set(['devices', 'accepted', 'failed', 'opened']);

function Counts({ counts }) {
  return html`<ul class="figures push-totals" aria-label="Devices by result">
    ${COUNTS.filter(([name]) => ALWAYS_SHOWN.has(name) || counts[name] > 0).map(
      ([name, label, kind]) => html`<li key=${name}>
        <${Figure} label=${label} value=${counts[name]} kind=${counts[name] > 0 ? kind : ''} />
      </li>`,
    )}
  </ul>`;
}

function Audience({ audience: { users, devices } }) {
  const rest = (total, shown) => (total > shown ? ` and ${(total - shown).toLocaleString()} more` : '');
  const parts = [
    users.total > 0 &&
      html`<span>${users.ids.map((id, index) => [index > 0 ? ', ' : '', html`<${UserLink} id=${id} />`])}${rest(users.total, users.ids.length)}</span>`,
    devices.total > 0 &&
      html`<span>${devices.total.toLocaleString()} ${devices.total === 1 ? 'device' : 'devices'}</span>`,
  ].filter(Boolean);
  return parts.length === 0 ? 'raw tokens' : html`<span class="push-audience">${parts}</span>`;
}

const CHUNK_COLUMNS = [
  { name: 'chunk', label: 'Chunk', render: ({ chunk }) => chunk },
  {
    name: 'transport',
    label: 'Transport',
    render: ({ transport }) => transport ?? html`<span class="soft">none accepts it</span>`,
  },
  { name: 'devices', label: 'Devices', isNumber: true, render: ({ devices }) => devices },
  { name: 'claims', label: 'Claims', isNumber: true, render: ({ claims }) => claims },
  { name: 'answered', label: 'Attempted', render: ({ answeredAt }) => timeOf(answeredAt) ?? '–' },
  {
    name: 'finished',
    label: 'Finished',
    render: ({ finishedAt, dueAt }) => (finishedAt ? timeOf(finishedAt) : html`next try ${timeOf(dueAt)}`),
  },
];

function DevicePages({ page, pages }) {
  if (!(pages > 1)) return null;
  const { path, params } = place.value;
  const hrefTo = (number) => {
    const changed = new URLSearchParams(params);
    changed.set('page', number);
    return hrefOf(path, changed);
  };
  return html`<nav class="more pager" aria-label="Pages of devices">
    ${page > 1 && html`<a class="button" href=${hrefTo(page - 1)}>Previous</a>`}
    <span class="push-page soft">${page} of ${pages}</span>
    ${page < pages && html`<a class="button" href=${hrefTo(page + 1)}>Next</a>`}
  </nav>`;
}

/** One push with the results of its devices. */
export function SendPage({ id }) {
  const page = place.value.params.get('page') ?? '1';
  const loaded = useLoaded(hrefOf(`/push/sends/${encodeURIComponent(id)}`, new URLSearchParams({ page })), {
    everyMs: READ_EVERY_MS,
  });
  const { data: push, meta } = loaded;
  return html`<${Page}
    title=${push ? titleOf({ ...push.message, isSilent: push.message.silent === true }) : 'Push'}
    back=${{ href: `${PUSH}/sends`, label: 'Sends' }}
    intro=${push && html`<span role="status"><${PushStatus} status=${push.status} /></span>`}
  >
    <${Loaded} from=${loaded}>
      ${() => html`<${Counts} counts=${push.counts} />
        <${Facts}
          of=${[
            ['To', html`<${Audience} audience=${push.audience} />`],
            ['Created', timeOf(push.createdAt)],
            ['Attempted', timeOf(push.finishedAt)],
            ['Expires', timeOf(push.expiresAt)],
            ['Id', html`<code>${push.id}</code>`],
          ]}
        />
        <${Section} title="Devices">
          ${
            push.devices.length === 0
              ? html`<p class="soft">${push.status === 'queued' ? 'The devices are being looked up.' : 'The recipients have no devices.'}</p>`
              : html`<${DeviceResults} devices=${push.devices} />`
          }
          <${DevicePages} ...${meta} />
        <//>
        ${
          push.chunks.length > 0 &&
          html`<${Section} title="How it was sent">
            <p class="part-text soft push-note">
              Workers claim a push in chunks of up to 500 devices of one transport. Another claim follows for each retry, or if a worker was lost.
            </p>
            <${DataTable} label="Chunks" rows=${push.chunks} keyOf=${({ chunk }) => chunk} columns=${CHUNK_COLUMNS} />
          <//>`
        }
        <${Section} title="Message"><${Code} text=${JSON.stringify(push.message, null, 2)} label="JSON of the message" /><//>`}
    <//>
  <//>`;
}
