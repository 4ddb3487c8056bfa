import { clockText, html } from 'belfry/console';

const TEXTS = {
  queued: () => 'Stored',
  sent: ({ transport }) => `Passed to ${transport ?? 'no transport'}`,
  accepted: () => 'Accepted by the provider',
  refused: () => 'Refused',
  retry: () => 'Belfry tries again',
  receipt: ({ ok }) => (ok ? 'The provider reported success' : 'The provider reported a failure'),
  opened: () => 'Opened by the user',
};
const KINDS = { accepted: 'good', opened: 'good', refused: 'bad', retry: 'warn' };

const kindOf = ({ event, ok }) => (event === 'receipt' ? (ok ? 'good' : 'bad') : (KINDS[event] ?? 'neutral'));

/** A time of today or of another day, with seconds. */
function timeText(at) {
  const date = new Date(at);
  const time = clockText(date, { hasSeconds: true });
  return date.toDateString() === new Date().toDateString() ? time : `${date.toLocaleDateString()} ${time}`;
}

/** What Belfry did about a failure that is final. */
function consequenceOf({ ok, device, isRegistered, timeline }) {
  const last = timeline.at(-1);
  const isFinalFailure =
    (ok === false && last?.event === 'refused') || (last?.event === 'receipt' && last.ok === false);
  if (!isFinalFailure) return undefined;
  if (device === null) return 'This is final. The push went to a raw token.';
  return isRegistered
    ? 'This is final. The device is still registered.'
    : 'This is final. The device is no longer registered: Belfry removes devices that their provider reports as gone.';
}

/**
 * What happened to a push on one device, and what Belfry did about failures.
 *
 * @param {{ device: { timeline: any[], transport: string | null, ok: boolean | null, device: string | null, isRegistered: boolean | null } }} props
 */
export function Timeline({ device }) {
  const consequence = consequenceOf(device);
  return html`<ol class="push-timeline">
    ${device.timeline.map(
      (entry) => html`<li key=${`${entry.event} ${entry.at}`} class=${kindOf(entry)}>
        <time datetime=${entry.at} title=${entry.at}>${timeText(entry.at)}</time>
        <span>
          ${TEXTS[entry.event]({ ...entry, transport: device.transport })}
          ${entry.error && html`: <b>${entry.error}</b>`} ${entry.id && html`<code>${entry.id}</code>`}
        </span>
      </li>`,
    )}
    ${consequence && html`<li class="neutral"><span></span><span class="soft">${consequence}</span></li>`}
  </ol>`;
}
