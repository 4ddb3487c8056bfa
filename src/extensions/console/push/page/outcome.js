import { html, RecordLink, Status, sentenceCase, userResource } from 'belfry/console';

export const PUSH = '/console/push';
export const PLATFORMS = { ios: 'iOS', android: 'Android', web: 'Browser' };
export const PUSH_STATUSES = ['sent', 'captured', 'partial', 'failed', 'no-devices', 'queued'];

const KINDS = { sent: 'good', captured: 'good', partial: 'warn', queued: 'warn', failed: 'bad' };

/** The status of a push in words. */
export const statusText = (status) => sentenceCase(status.replaceAll('-', ' '));

/** The status of a push. @param {{ status: string }} props */
export function PushStatus({ status }) {
  return html`<${Status} kind=${KINDS[status] ?? 'neutral'}>${statusText(status)}<//>`;
}

/** What became of a notification on a device. @returns {[kind: 'good' | 'bad' | 'warn' | 'neutral', text: string]} */
function outcomeOf({ ok, error, timeline }) {
  const last = timeline.at(-1);
  if (last?.event === 'opened') return ['good', 'opened'];
  if (last?.event === 'receipt' && last.ok === false) return ['bad', last.error ?? 'failed later'];
  if (ok === true) return ['good', last?.event === 'receipt' ? 'accepted, reported' : 'accepted'];
  if (last?.event === 'retry') return ['warn', `${error}, will retry`];
  return ok === false ? ['bad', error ?? 'failed'] : ['neutral', 'queued'];
}

/** The outcome of a push for one device. @param {{ device: any }} props with its `timeline` */
export function Outcome({ device }) {
  const [kind, text] = outcomeOf(device);
  return html`<span class=${`push-outcome status ${kind}`}>${sentenceCase(text)}</span>`;
}

/** What names a message: its title, or its body. @param {{ title?: string | null, body?: string | null, isSilent?: boolean }} message */
export const titleOf = ({ title, body, isSilent }) => title ?? body ?? (isSilent ? 'Silent' : 'Without text');

/** A link to a user. @param {{ id: string | null }} props */
export function UserLink({ id }) {
  const users = userResource();
  if (id === null) return html`<span class="soft">no user</span>`;
  if (users === undefined) return html`<code>${id}</code>`;
  return html`<span class="push-user"><${RecordLink} resource=${users.name} id=${id} /></span>`;
}
