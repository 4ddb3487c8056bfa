import { appIcon, element, timeText } from './element.js';
import { request } from './requests.js';

const APP = 'Your app';

const bell = () => element('span.app-icon', {}, appIcon());

/** An image of the message. An image that fails to load keeps its space. */
function picture(name, src) {
  if (src === undefined) return undefined;
  const image = element(`img.${name}`, { src, alt: '' });
  image.addEventListener('error', () =>
    image.replaceWith(element(`span.${name}.broken`, { title: `${src} cannot be loaded` })),
  );
  return image;
}

const line = (name, text) => (text === undefined ? undefined : element(`span.${name}`, {}, text));

// How each platform shows a message: iOS has a thumbnail and the subtitle, Android an image below, browsers the icon of the page.
const LOOKS = {
  ios: ({ message, at }) => [
    bell(),
    element(
      'span.text',
      {},
      element('b', {}, message.title ?? APP),
      line('subtitle', message.subtitle),
      line('body', message.body),
    ),
    element('span.side', {}, element('time', {}, timeText(at)), picture('thumbnail', message.image)),
  ],
  android: ({ message, at }) => [
    element(
      'span.text',
      {},
      element(
        'span.head',
        {},
        bell(),
        element('span', {}, [APP, message.channel, timeText(at)].filter(Boolean).join(' • ')),
      ),
      message.title === undefined ? undefined : element('b', {}, message.title),
      line('body', message.body),
      picture('picture', message.image),
    ),
  ],
  web: ({ message, at }) => [
    picture('icon', message.icon) ?? bell(),
    element(
      'span.text',
      {},
      element('b', {}, message.title ?? APP),
      line('body', message.body),
      element('span.origin', {}, `${location.host} · ${timeText(at)}`),
      picture('picture', message.image),
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
      onclick: () => request('POST', 'opened', { notification: id }),
    },
    ...LOOKS[platform](notification),
  );
  if (tappedAt === null) return element('div.notification', { 'data-collapse': message.collapseId }, card);
  return element('div.notification.tapped', {}, card, element('p.opened', {}, `✓ ${openedText(notification)}`));
}
