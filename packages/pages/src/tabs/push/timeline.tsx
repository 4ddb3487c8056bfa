import { clockText, type StatusKind } from '../../console/kit.ts';
import { dayText } from '../../kit/format.tsx';
import type { DeviceResult, TimelineEntry } from './responses.ts';
import { texts } from './texts.ts';

function textOf({ event, ok }: TimelineEntry, transport: string | null): string {
  if (event === 'sent') return texts.timeline.sent(transport ?? texts.noTransport);
  if (event === 'receipt') return ok ? texts.timeline.success : texts.timeline.failure;
  return texts.timeline[event];
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
  return date.toDateString() === new Date().toDateString() ? time : `${dayText(date)} ${time}`;
}

/** What Belfry did about a failure that is final. */
function consequenceOf({ ok, device, isRegistered, timeline }: DeviceResult): string | undefined {
  const last = timeline.at(-1);
  const isFinalFailure =
    (ok === false && last?.event === 'refused') || (last?.event === 'receipt' && last.ok === false);
  if (!isFinalFailure) return undefined;
  if (device === null) return texts.timeline.finalToken;
  return isRegistered ? texts.timeline.finalRegistered : texts.timeline.finalRemoved;
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
