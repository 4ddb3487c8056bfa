import { appIcon, element, timeText } from './element.js';
import { request } from './requests.js';

const APP = 'Your app';

const appBadge = () => element('span.app-icon', {}, appIcon());

/** An image of the message. An image that fails to load keeps its space. */
function imageView(name, src) {
  if (src === undefined) return undefined;
  const image = element(`img.${name}`, { src, alt: '' });
  image.addEventListener('error', () =>
    image.replaceWith(element(`span.${name}.broken`, { title: `${src} cannot be loaded` })),
  );
  return image;
}

const textLine = (name, text) => (text === undefined ? undefined : element(`span.${name}`, {}, text));

// How each platform shows a message: iOS has a thumbnail and the subtitle, Android an image below, browsers the icon of the page.
const LAYOUTS = {
  ios: ({ message, at }) => [
    appBadge(),
    element(
      'span.text',
      {},
      element('b', {}, message.title ?? APP),
      textLine('subtitle', message.subtitle),
      textLine('body', message.body),
    ),
    element('span.side', {}, element('time', {}, timeText(at)), imageView('thumbnail', message.image)),
  ],
  android: ({ message, at }) => [
    element(
      'span.text',
      {},
      element(
        'span.head',
        {},
        appBadge(),
        element('span', {}, [APP, message.channel, timeText(at)].filter(Boolean).join(' • ')),
      ),
      message.title === undefined ? undefined : element('b', {}, message.title),
      textLine('body', message.body),
      imageView('picture', message.image),
    ),
  ],
  web: ({ message, at }) => [
    imageView('icon', message.icon) ?? appBadge(),
    element(
      'span.text',
      {},
      element('b', {}, message.title ?? APP),
      textLine('body', message.body),
      element('span.origin', {}, `${location.host} · ${timeText(at)}`),
      imageView('picture', message.image),
    ),
  ],
};

function openedText({ message }) {
  return message.url === undefined ? 'opened the app' : `opened ${message.url}`;
}

/**
 * Renders a notification like the platform of its device. It can be tapped once.
 *
 * @param {{ id: string, message: Record<string, any>, at: string, tappedAt: string | null }} notification
 * @param {'ios' | 'android' | 'web'} platform
 */
export function notificationCard(notification, platform) {
  const { id, tappedAt, message } = notification;
  const card = element(
    'button.card',
    {
      type: 'button',
      disabled: tappedAt !== null,
      title: tappedAt === null ? 'Tap it' : undefined,
      onclick: () => request('POST', '/console/push/opened', { notification: id }),
    },
    ...LAYOUTS[platform](notification),
  );
  if (tappedAt === null) return element('div.notification', { 'data-collapse': message.collapseId }, card);
  return element('div.notification.tapped', {}, card, element('p.opened', {}, `✓ ${openedText(notification)}`));
}
