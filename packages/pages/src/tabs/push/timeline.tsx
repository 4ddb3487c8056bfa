import { clockText, type StatusKind } from '../../console/kit.ts';
import type { DeviceResult, TimelineEntry } from './responses.ts';

function textOf({ event, ok }: TimelineEntry, transport: string | null): string {
  switch (event) {
    case 'queued':
      return 'Stored';
    case 'sent':
      return `Passed to ${transport ?? 'no transport'}`;
    case 'accepted':
      return 'Accepted by the provider';
    case 'refused':
      return 'Refused';
    case 'retry':
      return 'Belfry tries again';
    case 'receipt':
      return ok ? 'The provider reported success' : 'The provider reported a failure';
    case 'opened':
      return 'Opened by the user';
  }
}

function kindOf({ event, ok }: TimelineEntry): StatusKind {
  if (event === 'receipt') return ok ? 'good' : 'bad';
  if (event === 'accepted' || event === 'opened') return 'good';
  if (event === 'refused') return 'bad';
  return event === 'retry' ? 'warn' : 'neutral';
}

/** A time of today or of another day, with seconds. */
function timeText(at: string): string {
  const date = new Date(at);
  const time = clockText(date, { hasSeconds: true });
  return date.toDateString() === new Date().toDateString() ? time : `${date.toLocaleDateString()} ${time}`;
}

/** What Belfry did about a failure that is final. */
function consequenceOf({ ok, device, isRegistered, timeline }: DeviceResult): string | undefined {
  const last = timeline.at(-1);
  const isFinalFailure =
    (ok === false && last?.event === 'refused') || (last?.event === 'receipt' && last.ok === false);
  if (!isFinalFailure) return undefined;
  if (device === null) return 'This is final. The push went to a raw token.';
  return isRegistered
    ? 'This is final. The device is still registered.'
    : 'This is final. The device is no longer registered: Belfry removes devices that their provider reports as gone.';
}

/** What happened to a push on one device, and what Belfry did about failures. */
export function Timeline({ device }: { device: DeviceResult }) {
  const consequence = consequenceOf(device);
  return (
    <ol class="push-timeline">
      {device.timeline.map((entry) => (
        <li key={`${entry.event} ${entry.at}`} class={kindOf(entry)}>
          <time datetime={entry.at} title={entry.at}>
            {timeText(entry.at)}
          </time>
          <span>
            {textOf(entry, device.transport)}
            {entry.error && (
              <>
                : <b>{entry.error}</b>
              </>
            )}{' '}
            {entry.id && <code>{entry.id}</code>}
          </span>
        </li>
      ))}
      {consequence && (
        <li class="neutral">
          <span></span>
          <span class="soft">{consequence}</span>
        </li>
      )}
    </ol>
  );
}
