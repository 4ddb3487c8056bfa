import {
  DataTable,
  Figure,
  hrefOf,
  html,
  Loaded,
  Nothing,
  Page,
  Section,
  Status,
  sentenceCase,
  Time,
} from 'belfry/console';
import { useContext } from 'preact/hooks';
import { JOBS, jobsHref, kindOf, OverviewContext, STATUSES } from './status.js';

const countText = (count, isCapped) => `${count.toLocaleString()}${isCapped ? '+' : ''}`;

/** The number of all jobs by status, as links to their lists. */
function Totals({ kinds, cappedStatuses }) {
  return html`<ul class="figures" aria-label="Jobs by status">
    ${STATUSES.map((status) => {
      const total = kinds.reduce((sum, { counts }) => sum + counts[status], 0);
      return html`<li key=${status}>
        <${Figure}
          label=${sentenceCase(status)}
          value=${countText(total, cappedStatuses.includes(status))}
          href=${jobsHref({ status })}
          kind=${total > 0 ? kindOf(status) : ''}
        />
      </li>`;
    })}
  </ul>`;
}

/** The counts of a kind that are not zero. */
function Counts({ kind: { name, counts, scheduled }, cappedStatuses }) {
  const shown = STATUSES.filter((status) => counts[status] > 0);
  if (shown.length === 0) return html`<span class="soft">No jobs stored</span>`;
  return html`<span class="jobs-counts">
    ${shown.map(
      (status) => html`<a key=${status} class=${`status ${kindOf(status)}`} href=${jobsHref({ job: name, status })}>
        ${countText(counts[status], cappedStatuses.includes(status))} ${status}
        ${status === 'waiting' && scheduled > 0 && ` (${countText(scheduled)} scheduled)`}
      </a>`,
    )}
  </span>`;
}

function Kind({ kind: { name, description, isDeclared } }) {
  return html`<a href=${jobsHref({ job: name })}>${name}</a>
    ${!isDeclared && html` <${Status} kind="bad">not declared: its jobs wait<//>`}
    ${description !== null && html`<span class="jobs-description soft">${description}</span>`}`;
}

function Kinds({ kinds, cappedStatuses }) {
  const columns = [
    { name: 'job', label: 'Job', render: (kind) => html`<${Kind} kind=${kind} />` },
    {
      name: 'counts',
      label: 'Stored jobs',
      render: (kind) => html`<${Counts} kind=${kind} cappedStatuses=${cappedStatuses} />`,
    },
    {
      name: 'enqueue',
      label: '',
      render: ({ name, isDeclared }) =>
        isDeclared &&
        html`<a class="jobs-enqueue" href=${hrefOf(`${JOBS}/enqueue`, new URLSearchParams({ job: name }))} aria-label=${`Enqueue ${name}`}>
          Enqueue…
        </a>`,
    },
  ];
  return html`<${DataTable} label="Declared jobs" rows=${kinds} keyOf=${({ name }) => name} columns=${columns} />`;
}

const SCHEDULE_COLUMNS = [
  { name: 'name', label: 'Schedule', render: ({ name }) => name },
  { name: 'job', label: 'Enqueues', render: ({ job }) => html`<a href=${jobsHref({ job })}>${job}</a>` },
  {
    name: 'cron',
    label: 'When',
    render: ({ cron, timeZone }) => html`<code>${cron}</code> <span class="soft">${timeZone}</span>`,
  },
  {
    name: 'next',
    label: 'Next',
    render: ({ nextAt }) => (nextAt === null ? 'none' : html`<${Time} value=${nextAt} />`),
  },
  {
    name: 'last',
    label: 'Last',
    render: ({ lastAt }) => (lastAt === null ? 'none yet' : html`<${Time} value=${lastAt} />`),
  },
];

function Schedules({ schedules }) {
  if (schedules.length === 0)
    return html`<${Nothing} title="The app declares no schedules">
      <p>
        A schedule enqueues a job at fixed times: add <code>${"schedules: [{ cron: '0 2 * * *', job }]"}</code> to${' '}
        <code>createApp</code>.
      </p>
    <//>`;
  return html`<${DataTable} label="Schedules" rows=${schedules} keyOf=${({ name }) => name} columns=${SCHEDULE_COLUMNS} />`;
}

/** All declared jobs with the number of stored ones, and the schedules. */
export function OverviewPage() {
  const overview = useContext(OverviewContext);
  return html`<${Page}
    title="Jobs"
    intro="Work outside of requests. A job that fails is retried; finished jobs are kept for a while."
  >
    <${Loaded} from=${overview}>
      ${(data) => html`<${Totals} ...${data} />
        <${Section} title="Declared jobs"><${Kinds} ...${data} /><//>
        <${Section} title="Schedules"><${Schedules} ...${data} /><//>`}
    <//>
  <//>`;
}
