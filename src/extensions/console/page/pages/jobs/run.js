import { element, timeText } from '../element.js';
import { read, readQuietly, request } from '../requests.js';
import { selection } from './selection.js';

const byId = (id) => document.getElementById(id);
/** The actions that a job of a status allows. */
const ACTIONS = { waiting: 'cancel', running: 'cancel', failed: 'retry', cancelled: 'retry' };
/** The number of the newest read: the response to an older one is not shown. */
let newestRead = 0;

/** A time with seconds as an element, with the milliseconds in a tooltip. */
export const timeElement = (at) => element('time', { datetime: at, title: at }, timeText(at, 'medium'));

function durationText(from, to) {
  const ms = new Date(to) - new Date(from);
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`;
}

function factsOf(job) {
  const { id, attempts, status, runAt, scheduledAt, startedAt, finishedAt } = job;
  const isRunDone = startedAt !== null && finishedAt !== null && finishedAt >= startedAt;
  return [
    ['ID', id],
    ['Attempts', String(attempts)],
    ['Enqueued', timeElement(job.createdAt)],
    [status === 'waiting' ? 'Next attempt' : 'Due', timeElement(runAt)],
    ['Scheduled for', scheduledAt === runAt ? undefined : timeElement(scheduledAt)],
    ['Last attempt', startedAt === null ? undefined : timeElement(startedAt)],
    ['Finished', finishedAt === null ? undefined : timeElement(finishedAt)],
    ['Duration', isRunDone ? durationText(startedAt, finishedAt) : undefined],
    ['Schedule', job.schedule],
    ['Unique key', job.uniqueKey],
    ['User ID', job.user],
    ['Request ID', job.requestId],
  ].filter(([, value]) => value !== undefined && value !== null);
}

function showText(id, text) {
  const part = byId(id);
  part.hidden = text === null;
  const pre = part.querySelector('pre');
  // The selection of a text that has not changed stays.
  if (pre.textContent !== text) pre.textContent = text ?? '';
}

const jsonText = (value) => (value === null ? null : JSON.stringify(value, null, 2));

function showProgress(progress) {
  byId('run-progress').hidden = progress === null;
  if (progress === null) return;
  const { done, total, note } = progress;
  const bar = byId('bar');
  if (total === undefined) bar.removeAttribute('value');
  else Object.assign(bar, { max: total || 1, value: Math.min(done, total) });
  const count = total === undefined ? `${done} done` : `${done} of ${total}`;
  byId('progress-text').textContent = note === undefined ? count : `${count} · ${note}`;
}

function showActions(status) {
  const isFocused = ['retry', 'cancel'].includes(document.activeElement?.id);
  for (const verb of ['retry', 'cancel']) byId(verb).hidden = ACTIONS[status] !== verb;
  // A hidden button would lose the focus to the start of the page.
  if (isFocused && document.activeElement?.id !== ACTIONS[status]) byId('run-title').focus();
}

function showJob(job) {
  byId('run-title').textContent = job.job;
  const status = byId('run-status');
  // A status that has not changed is not announced again.
  if (status.textContent !== job.status) status.textContent = job.status;
  status.className = `status ${job.status}`;
  showActions(job.status);
  showProgress(job.progress);
  const facts = factsOf(job).map(([name, value]) =>
    element('div', {}, element('dt', {}, name), element('dd', {}, value)),
  );
  byId('facts').replaceChildren(...facts);
  showText('run-error', job.error);
  showText('run-input', jsonText(job.input));
  showText('run-result', jsonText(job.result));
}

/**
 * Shows the selected job.
 *
 * @param {boolean} isUpdate whether the job is already shown: then no error is shown if the server cannot be reached
 */
export async function showSelectedRun(isUpdate) {
  const { run } = selection();
  const number = ++newestRead;
  const path = `/console/jobs/runs/${encodeURIComponent(run)}`;
  const job = run === undefined ? undefined : await (isUpdate ? readQuietly : read)(path);
  if (number !== newestRead) return;
  if (job !== undefined) showJob(job);
  if (job !== undefined || !isUpdate) byId('run').hidden = job === undefined;
  if (job !== undefined && !isUpdate) byId('run').scrollIntoView({ block: 'nearest' });
}

for (const verb of ['retry', 'cancel']) {
  byId(verb).addEventListener('click', async () => {
    const path = `/console/jobs/runs/${encodeURIComponent(selection().run)}/${verb}`;
    if (await request('POST', path)) await showSelectedRun(true);
  });
}
