import { RecordLink, Status, type StatusKind, sentenceCase, userResource } from '../../console/kit.ts';
import type { DeviceResult, Platform, PushStatus } from './responses.ts';

export const PUSH = '/console/push';
export const PLATFORMS: Readonly<Record<Platform, string>> = { ios: 'iOS', android: 'Android', web: 'Browser' };
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
export const statusText = (status: PushStatus) => sentenceCase(status.replaceAll('-', ' '));

/** The status of a push. */
export function PushState({ status }: { status: PushStatus }) {
  return <Status kind={KINDS[status]}>{statusText(status)}</Status>;
}

/** What became of a notification on a device. */
function outcomeOf({ ok, error, timeline }: DeviceResult): [kind: StatusKind, text: string] {
  const last = timeline.at(-1);
  if (last?.event === 'opened') return ['good', 'opened'];
  if (last?.event === 'receipt' && last.ok === false) return ['bad', last.error ?? 'failed later'];
  if (ok === true) return ['good', last?.event === 'receipt' ? 'accepted, reported' : 'accepted'];
  if (last?.event === 'retry') return ['warn', `${error}, will retry`];
  return ok === false ? ['bad', error ?? 'failed'] : ['neutral', 'queued'];
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
  title ?? body ?? (isSilent ? 'Silent' : 'Without text');

/** A link to a user. */
export function UserLink({ id }: { id: string | null }) {
  const users = userResource();
  if (id === null) return <span class="soft">no user</span>;
  if (users === undefined) return <code>{id}</code>;
  return (
    <span class="push-user">
      <RecordLink resource={users.name} id={id} />
    </span>
  );
}
