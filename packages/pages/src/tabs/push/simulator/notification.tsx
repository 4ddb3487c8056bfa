import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import icon from '../../../console/icon.svg';
import { call, clockText, showError } from '../../../console/kit.ts';
import { dayText } from '../../../kit/format.tsx';
import type { Platform, SimulatedNotification } from '../responses.ts';
import { texts } from '../texts.ts';

const APP = texts.notification.app;

/** A time of today or of another day: `14:05`. */
export function timeText(at: string | number = Date.now()): string {
  const date = new Date(at);
  const time = clockText(date);
  return date.toDateString() === new Date().toDateString() ? time : `${dayText(date)} ${time}`;
}

const AppIcon = () => (
  <span class="push-app-icon">
    <img class="push-bell" src={icon} alt="" />
  </span>
);

/** An image of the message. An image that fails to load keeps its space. */
function Picture({ name, src }: { name: string; src: string | undefined }) {
  const [isBroken, setBroken] = useState(false);
  if (src === undefined) return null;
  if (isBroken) return <span class={`${name} push-broken`} title={texts.notification.broken(src)}></span>;
  return <img class={name} src={src} alt="" onError={() => setBroken(true)} />;
}

const Line = ({ name, text }: { name: string; text: string | undefined }) =>
  text === undefined ? null : <span class={name}>{text}</span>;

// How each platform shows a message: iOS has a thumbnail and the subtitle, Android an image below, browsers the icon of the page.
const LAYOUTS: Readonly<Record<Platform, (notification: SimulatedNotification) => ComponentChildren>> = {
  ios: ({ message, at }) => (
    <>
      <AppIcon />
      <span class="push-text">
        <b>{message.title ?? APP}</b>
        <Line name="push-subtitle" text={message.subtitle} />
        <Line name="push-message" text={message.body} />
      </span>
      <span class="push-side">
        <time>{timeText(at)}</time>
        <Picture name="push-thumbnail" src={message.image} />
      </span>
    </>
  ),
  android: ({ message, at }) => (
    <span class="push-text">
      <span class="push-head">
        <AppIcon />
        <span>{[APP, message.channel, timeText(at)].filter(Boolean).join(' • ')}</span>
      </span>
      {message.title !== undefined && <b>{message.title}</b>}
      <Line name="push-message" text={message.body} />
      <Picture name="push-picture" src={message.image} />
    </span>
  ),
  web: ({ message, at }) => (
    <>
      {message.icon === undefined ? <AppIcon /> : <Picture name="push-thumbnail" src={message.icon} />}
      <span class="push-text">
        <b>{message.title ?? APP}</b>
        <Line name="push-message" text={message.body} />
        <span class="push-origin">{`${location.host} · ${timeText(at)}`}</span>
        <Picture name="push-picture" src={message.image} />
      </span>
    </>
  ),
};

/** A notification like that of the platform of its device. It can be tapped once. */
export function Notification({
  notification,
  platform,
  onChange,
}: {
  notification: SimulatedNotification;
  platform: Platform;
  onChange: () => Promise<void>;
}) {
  const { id, tappedAt, message } = notification;
  const tap = async () => {
    try {
      await call('/push/simulator/opened', { method: 'POST', body: { notification: id } });
      await onChange();
    } catch (error) {
      showError(error);
    }
  };
  const isTapped = tappedAt !== null;
  return (
    <div class={`push-notification ${isTapped ? 'is-tapped' : ''}`}>
      <button
        type="button"
        class="push-card"
        disabled={isTapped}
        title={isTapped ? undefined : texts.notification.tap}
        onClick={tap}
      >
        {LAYOUTS[platform](notification)}
      </button>
      {isTapped && (
        <p class="push-opened">
          ✓ {message.url === undefined ? texts.notification.openedApp : texts.notification.opened(message.url)}
        </p>
      )}
    </div>
  );
}
