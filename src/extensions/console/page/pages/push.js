import { element, timeText } from './element.js';

const PLATFORMS = { ios: 'iOS', android: 'Android', web: 'Browser' };

function outcomeOf({ ok, error, timeline }) {
  const last = timeline.at(-1)?.event;
  if (last === 'opened') return ['good', 'opened'];
  if (ok === true) return ['good', last === 'receipt' ? 'accepted, reported' : 'accepted'];
  if (last === 'retry') return ['waits', `${error}, will retry`];
  return ok === false ? ['bad', error ?? 'failed'] : ['waits', 'queued'];
}

function timelineItem({ at, event, error, id }) {
  const time = new Date(at).toLocaleTimeString([], { hourCycle: 'h23' });
  return element('li', {}, element('time', {}, time), ` ${event}`, error || id ? ` · ${error ?? id}` : '');
}

function deviceResult(device) {
  const [kind, text] = outcomeOf(device);
  return element(
    'details.result',
    { 'data-key': device.device ?? device.token },
    element(
      'summary',
      {},
      element('span.name', { title: device.label }, device.label),
      element('span.kind', {}, `${PLATFORMS[device.platform]} · ${device.transport ?? 'no transport'}`),
      element(`span.outcome.${kind}`, {}, text),
    ),
    element('ol.timeline', {}, ...device.timeline.map(timelineItem)),
  );
}

/**
 * Renders a push with the result of each device.
 *
 * @param {object} push as the server sends it
 */
export function pushView({ status, message, createdAt, counts, devices }) {
  const notListed = counts.devices - devices.length;
  const title = message.title ?? message.body ?? (message.silent ? 'Silent' : '');
  return element(
    'li.send',
    {},
    element(
      'header',
      {},
      element(`span.status.${status}`, {}, status),
      element('b', { title }, title),
      element('span.when', {}, `${timeText(createdAt)} · ${counts.accepted} of ${counts.devices}`),
    ),
    message.title !== undefined && message.body !== undefined ? element('p.body', {}, message.body) : undefined,
    ...devices.map(deviceResult),
    notListed > 0 ? element('p.rest', {}, `and ${notListed} more`) : undefined,
  );
}
