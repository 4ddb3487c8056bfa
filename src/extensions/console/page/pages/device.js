import { appIcon, element, timeText } from './element.js';
import { notificationCard } from './notification.js';
import { request } from './requests.js';

const BEHAVIORS = {
  delivers: 'online',
  offline: 'offline',
  'notifications-off': 'notifications off',
  'app-uninstalled': 'app uninstalled',
  'invalid-token': 'invalid token',
  'rate-limited': 'rate limited',
};
const PLATFORMS = { ios: 'iOS', android: 'Android', web: 'Browser' };

const setBehavior = (id, behavior) => request('PATCH', `/console/push/devices/${id}`, { behavior });

/** Groups notifications: iOS stacks those of a thread under the newest one; other platforms show each separately. */
function groupThreads(shown, platform) {
  if (platform !== 'ios') return shown.map((one) => [one]);
  const byGroup = Map.groupBy(shown, ({ id, message }) => message.group ?? `alone ${id}`);
  return [...byGroup.values()];
}

function threadView([newest, ...older], platform) {
  const card = notificationCard(newest, platform);
  if (older.length === 0) return card;
  const { group } = newest.message;
  const below = element(
    'details',
    { 'data-key': group },
    element('summary', {}, `${older.length} more in “${group}”`),
    ...older.map((one) => notificationCard(one, platform)),
  );
  return element('div.thread', {}, card, below);
}

function screenView({ platform, behavior, notifications }) {
  const shown = notifications.filter(({ state }) => state === 'shown');
  const held = notifications.filter(({ state }) => state === 'held').length;
  const hidden = notifications.filter(({ state }) => state === 'hidden').length;
  const badge = shown.find(({ message }) => message.badge !== undefined)?.message.badge ?? 0;
  const signal = behavior === 'offline' ? '✈ offline' : '▂▄▆';
  return element(
    'div.screen',
    {},
    platform === 'web'
      ? element('div.bar', {}, element('span.address', {}, location.host), element('span', {}, signal))
      : element('div.bar', {}, element('span', {}, timeText()), element('span', {}, signal)),
    element(
      'div.notifications',
      { 'aria-live': 'polite' },
      ...groupThreads(shown, platform).map((thread) => threadView(thread, platform)),
      shown.length === 0 ? element('p.quiet', {}, 'No notifications') : undefined,
    ),
    element(
      'div.dock',
      {},
      held > 0 ? element('span.held', {}, `${held} held until online`) : undefined,
      hidden > 0 ? element('span.hidden', {}, `${hidden} not shown`) : undefined,
      element(
        'span.app',
        { title: 'Your app' },
        appIcon(),
        badge > 0 ? element('span.badge', { title: 'badge' }, badge > 999 ? '999+' : String(badge)) : undefined,
      ),
    ),
  );
}

/**
 * Renders a simulated device: its screen and its actions.
 *
 * @param {object} device as the server sends it
 */
export function deviceView(device) {
  const { id, platform, name, owner, behavior } = device;
  const online = behavior !== 'offline';
  return element(
    `article.device.${platform}${online ? '' : '.is-offline'}`,
    { 'aria-label': name ?? PLATFORMS[platform] },
    element(
      'header',
      {},
      element('h3', { title: name ?? undefined }, name ?? PLATFORMS[platform]),
      element('p', {}, name === null ? owner : `${PLATFORMS[platform]} · ${owner}`),
    ),
    screenView(device),
    element(
      'footer',
      {},
      element(
        'button',
        { type: 'button', onclick: () => setBehavior(id, online ? 'offline' : 'delivers') },
        online ? 'Go offline' : 'Go online',
      ),
      element(
        'select',
        { 'aria-label': 'Behavior', onchange: (event) => setBehavior(id, event.target.value) },
        ...Object.entries(BEHAVIORS).map(([value, text]) =>
          element('option', { value, selected: value === behavior }, text),
        ),
      ),
      element(
        'button.quietly',
        { type: 'button', onclick: () => request('DELETE', `/console/push/devices/${id}`) },
        'Remove',
      ),
    ),
  );
}
