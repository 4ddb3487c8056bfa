import { element, timeText } from './element.js';

const DEVICE = { ios: 'iOS', android: 'Android', web: 'Browser' };

function outcome({ ok, error, timeline }) {
  const last = timeline.at(-1)?.event;
  if (last === 'opened') return ['good', 'opened'];
  if (ok === true) return ['good', last === 'receipt' ? 'accepted, reported' : 'accepted'];
  if (last === 'retry') return ['waits', `${error}, tried again`];
  return ok === false ? ['bad', error ?? 'failed'] : ['waits', 'queued'];
}

function step({ at, event, error, id }) {
  const time = new Date(at).toLocaleTimeString([], { hourCycle: 'h23' });
  return element('li', {}, element('time', {}, time), ` ${event}`, error || id ? ` · ${error ?? id}` : '');
}

function result(device) {
  const [kind, text] = outcome(device);
  return element(
    'details.result',
    { 'data-key': device.device ?? device.token },
    element(
      'summary',
      {},
      element('span.name', { title: device.label }, device.label),
      element('span.kind', {}, `${DEVICE[device.platform]} · ${device.transport ?? 'no transport'}`),
      element(`span.outcome.${kind}`, {}, text),
    ),
    element('ol.timeline', {}, ...device.timeline.map(step)),
  );
}

/**
 * Renders a push with the result of each device.
 *
 * @param {object} push as the server sends it
 */
export function sendView({ status, message, createdAt, counts, devices }) {
  const rest = counts.devices - devices.length;
  const what = message.title ?? message.body ?? (message.silent ? 'Silent' : '');
  return element(
    'li.send',
    {},
    element(
      'header',
      {},
      element(`span.status.${status}`, {}, status),
      element('b', { title: what }, what),
      element('span.when', {}, `${timeText(createdAt)} · ${counts.accepted} of ${counts.devices}`),
    ),
    message.title !== undefined && message.body !== undefined ? element('p.body', {}, message.body) : undefined,
    ...devices.map(result),
    rest > 0 ? element('p.rest', {}, `and ${rest} more`) : undefined,
  );
}
