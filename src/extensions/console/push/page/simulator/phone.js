import { ActionButton, call, html, sentenceCase, showError } from 'belfry/console';
import { PLATFORMS, UserLink } from '../outcome.js';
import { Notification, timeText } from './notification.js';

const BEHAVIORS = {
  delivers: 'online',
  offline: 'offline',
  'notifications-off': 'notifications off',
  'app-uninstalled': 'app uninstalled',
  'invalid-token': 'invalid token',
  'rate-limited': 'rate limited',
};

/** Groups notifications: iOS stacks those of a thread under the newest one; other platforms show each separately. */
function groupThreads(shown, platform) {
  if (platform !== 'ios') return shown.map((one) => [one]);
  return [...Map.groupBy(shown, ({ id, message }) => message.group ?? `alone ${id}`).values()];
}

function Thread({ thread: [newest, ...older], platform, onChange }) {
  const card = html`<${Notification} notification=${newest} platform=${platform} onChange=${onChange} />`;
  if (older.length === 0) return card;
  return html`<div class="push-thread">
    ${card}
    <details>
      <summary>${older.length} more in “${newest.message.group}”</summary>
      ${older.map((one) => html`<${Notification} key=${one.id} notification=${one} platform=${platform} onChange=${onChange} />`)}
    </details>
  </div>`;
}

function Screen({ device: { platform, behavior, notifications }, onChange }) {
  const shown = notifications.filter(({ state }) => state === 'shown');
  const held = notifications.filter(({ state }) => state === 'held').length;
  const hidden = notifications.filter(({ state }) => state === 'hidden').length;
  const badge = shown.find(({ message }) => message.badge !== undefined)?.message.badge ?? 0;
  const place = platform === 'web' ? location.host : timeText();
  return html`<div class="push-screen">
    <div class="push-bar">
      <span class=${platform === 'web' ? 'push-address' : ''}>${place}</span>
      <span>${behavior === 'offline' ? '✈ offline' : '▂▄▆'}</span>
    </div>
    <div class="push-notifications" aria-live="polite">
      ${groupThreads(shown, platform).map(
        (thread) =>
          html`<${Thread} key=${thread[0].message.group ?? thread[0].id} thread=${thread} platform=${platform} onChange=${onChange} />`,
      )}
      ${shown.length === 0 && html`<p class="push-quiet">No notifications</p>`}
    </div>
    <div class="push-dock">
      ${held > 0 && html`<span class="push-dock-note">${held} held until online</span>`}
      ${hidden > 0 && html`<span class="push-dock-note">${hidden} not shown</span>`}
      <span class="push-app" title="Your app">
        <img class="push-bell" src="/console/assets/icon.svg" alt="" />
        ${badge > 0 && html`<span class="push-badge" title="badge">${badge > 999 ? '999+' : badge}</span>`}
      </span>
    </div>
  </div>`;
}

/** A simulated device: its screen and its actions. @param {{ device: any, onChange: () => Promise<void> }} props */
export function Phone({ device, onChange }) {
  const { id, platform, name, user, behavior } = device;
  const path = `/push/simulator/devices/${id}`;
  const isOnline = behavior !== 'offline';
  const setBehavior = async (next) => {
    await call(path, { method: 'PATCH', body: { behavior: next } });
    await onChange();
  };
  const remove = async () => {
    await call(path, { method: 'DELETE' });
    await onChange();
  };
  return html`<article class=${`push-phone ${platform} ${isOnline ? '' : 'is-offline'}`} aria-label=${name ?? PLATFORMS[platform]}>
    <header>
      <h3 title=${name ?? undefined}>${name ?? PLATFORMS[platform]}</h3>
      <p>${name === null ? '' : `${PLATFORMS[platform]} ·`}<${UserLink} id=${user} /></p>
    </header>
    <${Screen} device=${device} onChange=${onChange} />
    <footer>
      <${ActionButton} run=${() => setBehavior(isOnline ? 'offline' : 'delivers')}>${isOnline ? 'Go offline' : 'Go online'}<//>
      <select aria-label="Behavior" value=${behavior} onChange=${(event) => setBehavior(event.target.value).catch(showError)}>
        ${Object.entries(BEHAVIORS).map(([value, text]) => html`<option key=${value} value=${value}>${sentenceCase(text)}</option>`)}
      </select>
      <${ActionButton} kind="plain" run=${remove}>Remove<//>
    </footer>
  </article>`;
}
