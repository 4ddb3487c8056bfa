import { RecordLink, Status, type StatusKind, sentenceCase, userResource } from '../../console/kit.ts';
import type { DeviceResult, Platform, PushStatus } from './responses.ts';
import { texts } from './texts.ts';

export const PUSH = '/console/push';
export const PLATFORMS: Readonly<Record<Platform, string>> = texts.platforms;
export const PUSH_STATUSES: PushStatus[] = ['sent', 'captured', 'partial', 'failed', 'no-devices', 'queued'];

const KINDS: Readonly<Record<PushStatus, StatusKind>> = {
  sent: 'good',
  captured: 'good',
  partial: 'warn',
  queued: 'warn',
  failed: 'bad',
  'no-devices': 'neutral',
};

/** The status of a push in words. */
export const statusText = (status: PushStatus) => texts.statuses[status];

/** The status of a push. */
export function PushState({ status }: { status: PushStatus }) {
  return <Status kind={KINDS[status]}>{statusText(status)}</Status>;
}

/** What became of a notification on a device. */
function outcomeOf({ ok, error, timeline }: DeviceResult): [kind: StatusKind, text: string] {
  const last = timeline.at(-1);
  if (last?.event === 'opened') return ['good', texts.outcomes.opened];
  if (last?.event === 'receipt' && last.ok === false) return ['bad', last.error ?? texts.outcomes.failedLater];
  if (ok === true) return ['good', last?.event === 'receipt' ? texts.outcomes.reported : texts.outcomes.accepted];
  if (last?.event === 'retry') return ['warn', texts.outcomes.retry(error ?? texts.outcomes.failed)];
  return ok === false ? ['bad', error ?? texts.outcomes.failed] : ['neutral', texts.outcomes.queued];
}

/** The outcome of a push for one device. */
export function Outcome({ device }: { device: DeviceResult }) {
  const [kind, text] = outcomeOf(device);
  return <span class={`push-outcome status ${kind}`}>{sentenceCase(text)}</span>;
}

interface MessageTexts {
  title?: string | null;
  body?: string | null;
  isSilent?: boolean;
}

/** What names a message: its title, or its body. */
export const titleOf = ({ title, body, isSilent }: MessageTexts): string =>
  title ?? body ?? (isSilent ? texts.titles.silent : texts.titles.none);

/** A link to a user. */
export function UserLink({ id }: { id: string | null }) {
  const users = userResource();
  if (id === null) return <span class="soft">{texts.noUser}</span>;
  if (users === undefined) return <code>{id}</code>;
  return (
    <span class="push-user">
      <RecordLink resource={users.name} id={id} />
    </span>
  );
}
