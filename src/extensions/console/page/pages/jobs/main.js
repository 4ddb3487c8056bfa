import { element, updateList } from '../element.js';
import { subscribe } from '../live.js';
import { read, readQuietly, request } from '../requests.js';
import { showSelectedRun, timeElement } from './run.js';
import { hrefOf, selection } from './selection.js';

const byId = (id) => document.getElementById(id);
const STATUSES = ['waiting', 'running', 'succeeded', 'failed', 'cancelled'];
let kinds = [];
/** The number of the newest read of the list: the response to an older one is not shown. */
let newestRead = 0;

function kindView({ name, description, isDeclared, counts, cappedStatuses }) {
  const chips = STATUSES.filter((status) => counts[status] > 0).map((status) =>
    element(
      `a.status.${status}`,
      { href: hrefOf({ job: name, status }) },
      `${counts[status].toLocaleString()}${cappedStatuses.includes(status) ? '+' : ''} ${status}`,
    ),
  );
  return element(
    'li',
    {},
    element('a.name', { href: hrefOf({ job: name }) }, name),
    isDeclared ? undefined : element('p.undeclared', {}, 'Not declared: its jobs wait'),
    description === null ? undefined : element('p', {}, description),
    chips.length > 0 ? element('p.counts', {}, ...chips) : element('p', {}, 'No jobs stored'),
  );
}

const scheduleView = ({ name, job, cron, timeZone, nextAt, lastAt }) =>
  element(
    'li',
    {},
    element('b.name', {}, name),
    element('p', {}, element('code', {}, cron), ` ${timeZone}`),
    job === name ? undefined : element('p', {}, `Enqueues ${job}`),
    element('p', {}, 'Next: ', nextAt === null ? 'none' : timeElement(nextAt)),
    element('p', {}, 'Last: ', lastAt === null ? 'none yet' : timeElement(lastAt)),
  );

/** The line below the name of a job in the list. */
function detailOf({ status, error, progress, runAt, attempts, schedule }) {
  if (status === 'waiting' && attempts > 0) return ['Next attempt ', timeElement(runAt), `: ${error}`];
  if (status === 'waiting') return ['Due ', timeElement(runAt)];
  if (status === 'running' && progress !== null)
    return [`Progress: ${progress.done}${progress.total === undefined ? '' : ` of ${progress.total}`}`];
  return [error ?? (schedule === null ? '' : `By the schedule ${schedule}`)];
}

function runView(job) {
  const detail = detailOf(job);
  return element(
    'li',
    {},
    element(
      'a',
      { href: job.href, 'data-run': job.id },
      element('span.line', {}, element('b', {}, job.job), element(`span.status.${job.status}`, {}, job.status)),
      element('span.line', {}, element('span.detail', {}, ...detail), timeElement(job.createdAt)),
    ),
  );
}

/** Fills a select, if its options have changed. */
function showOptions(select, options, value) {
  const text = JSON.stringify(options);
  if (select.dataset.options !== text) {
    select.replaceChildren(...options.map(([one, label]) => element('option', { value: one }, label)));
    select.dataset.options = text;
  }
  if (select.value !== value && options.some(([one]) => one === value)) select.value = value;
}

function showFilter() {
  const { job = '', status = '' } = selection();
  const names = kinds.map(({ name }) => name);
  const known = job === '' || names.includes(job) ? names : [...names, job];
  showOptions(byId('job-filter'), [['', 'All jobs'], ...known.map((name) => [name, name])], job);
  showOptions(byId('status-filter'), [['', 'All'], ...STATUSES.map((one) => [one, one])], status);
}

function markCurrent() {
  const { run } = selection();
  for (const link of byId('runs').querySelectorAll('a')) {
    if (link.dataset.run === run) link.setAttribute('aria-current', 'true');
    else link.removeAttribute('aria-current');
  }
}

function showLink(link, isShown, members) {
  link.hidden = !isShown;
  link.href = hrefOf(members);
}

async function showRuns(isUpdate) {
  const { run, ...filter } = selection();
  const number = ++newestRead;
  const { job, status, after } = filter;
  const page = await (isUpdate ? readQuietly : read)(`/console/jobs/runs?${hrefOf(filter).slice(1)}`);
  if (number !== newestRead || page === undefined) return;
  const jobs = page.jobs.map((one) => ({ ...one, href: hrefOf({ ...filter, run: one.id }) }));
  updateList(byId('runs'), jobs, runView);
  byId('no-runs').hidden = jobs.length > 0;
  showLink(byId('newest'), after !== undefined, { job, status, run });
  showLink(byId('older'), page.next !== null, { job, status, after: page.next ?? undefined, run });
  markCurrent();
}

function showInputField() {
  const { job, input } = byId('enqueue').elements;
  const hasInput = kinds.find(({ name }) => name === job.value)?.hasInput ?? false;
  input.disabled = !hasInput;
}

function showOverview({ kinds: found, cappedStatuses, schedules }) {
  kinds = found;
  byId('none').hidden = kinds.length > 0;
  byId('declared').hidden = kinds.length === 0;
  byId('list').hidden = kinds.length === 0;
  updateList(
    byId('kinds'),
    kinds.map((kind) => ({ ...kind, id: kind.name, cappedStatuses })),
    kindView,
  );
  updateList(
    byId('schedules'),
    schedules.map((schedule) => ({ ...schedule, id: schedule.name })),
    scheduleView,
  );
  byId('no-schedules').hidden = schedules.length > 0;
  const declared = kinds.filter(({ isDeclared }) => isDeclared).map(({ name }) => [name, name]);
  byId('enqueue-details').hidden = declared.length === 0;
  const { job } = byId('enqueue').elements;
  showOptions(job, declared, job.value);
  showInputField();
  showFilter();
  showRuns(true);
  if (!byId('run').hidden) showSelectedRun(true);
}

/** The body of the form, or undefined if its input is not JSON. */
function enqueueBody({ job, input, runAt, uniqueKey }) {
  const hasInput = !input.disabled && input.value.trim() !== '';
  try {
    return {
      job: job.value,
      input: hasInput ? JSON.parse(input.value) : undefined,
      // The field has no time zone: its value is in that of the browser.
      runAt: runAt.value === '' ? undefined : new Date(runAt.value).toISOString(),
      uniqueKey: uniqueKey.value || undefined,
    };
  } catch (error) {
    input.setCustomValidity(`The input must be JSON: ${error.message}`);
    input.reportValidity();
    return undefined;
  }
}

for (const [id, name] of [
  ['job-filter', 'job'],
  ['status-filter', 'status'],
]) {
  byId(id).addEventListener('change', ({ target }) => {
    const { job, status, run } = selection();
    location.hash = hrefOf({ job, status, run, [name]: target.value });
  });
}
const { elements } = byId('enqueue');
elements.job.addEventListener('change', showInputField);
elements.input.addEventListener('input', () => elements.input.setCustomValidity(''));
byId('enqueue').addEventListener('submit', async (event) => {
  event.preventDefault();
  const body = enqueueBody(elements);
  const response = body && (await request('POST', '/console/jobs/runs', body));
  if (response) location.hash = hrefOf({ run: (await response.json()).data.id });
});
addEventListener('hashchange', () => {
  showFilter();
  markCurrent();
  showRuns(false);
  showSelectedRun(false);
});
showRuns(false);
showSelectedRun(false);
subscribe('/console/jobs/events', showOverview);
