import icon from '../../../console/icon.svg';
import { ActionButton, call, sentenceCase, showError } from '../../../console/kit.ts';
import { PLATFORMS, UserLink } from '../outcome.tsx';
import type { Platform, SimulatedDevice, SimulatedNotification } from '../responses.ts';
import { texts } from '../texts.ts';
import { Notification, timeText } from './notification.tsx';

interface NotificationThread {
  newest: SimulatedNotification;
  older: SimulatedNotification[];
}

/** Groups notifications: iOS stacks those of a thread under the newest one; other platforms show each separately. */
function groupThreads(shown: SimulatedNotification[], platform: Platform): NotificationThread[] {
  if (platform !== 'ios') return shown.map((newest) => ({ newest, older: [] }));
  const groups = Map.groupBy(shown, ({ id, message }) => message.group ?? `alone ${id}`);
  return [...groups.values()].flatMap(([newest, ...older]) => (newest === undefined ? [] : [{ newest, older }]));
}

function Thread({
  thread: { newest, older },
  platform,
  onChange,
}: {
  thread: NotificationThread;
  platform: Platform;
  onChange: () => Promise<void>;
}) {
  const card = <Notification notification={newest} platform={platform} onChange={onChange} />;
  if (older.length === 0) return card;
  return (
    <div class="push-thread">
      {card}
      <details>
        <summary>{texts.phone.thread(older.length, newest.message.group ?? '')}</summary>
        {older.map((one) => (
          <Notification key={one.id} notification={one} platform={platform} onChange={onChange} />
        ))}
      </details>
    </div>
  );
}

interface PhoneProps {
  device: SimulatedDevice;
  onChange: () => Promise<void>;
}

function Screen({ device: { platform, behavior, notifications }, onChange }: PhoneProps) {
  const shown = notifications.filter(({ state }) => state === 'shown');
  const held = notifications.filter(({ state }) => state === 'held').length;
  const hidden = notifications.filter(({ state }) => state === 'hidden').length;
  const badge = shown.find(({ message }) => message.badge !== undefined)?.message.badge ?? 0;
  const place = platform === 'web' ? location.host : timeText();
  return (
    <div class="push-screen">
      <div class="push-bar">
        <span class={platform === 'web' ? 'push-address' : ''}>{place}</span>
        <span>{behavior === 'offline' ? texts.phone.offline : '▂▄▆'}</span>
      </div>
      <div class="push-notifications" aria-live="polite">
        {groupThreads(shown, platform).map((thread) => (
          <Thread
            key={thread.newest.message.group ?? thread.newest.id}
            thread={thread}
            platform={platform}
            onChange={onChange}
          />
        ))}
        {shown.length === 0 && <p class="push-quiet">{texts.phone.none}</p>}
      </div>
      <div class="push-dock">
        {held > 0 && <span class="push-dock-note">{texts.phone.held(held)}</span>}
        {hidden > 0 && <span class="push-dock-note">{texts.phone.hidden(hidden)}</span>}
        <span class="push-app" title={texts.notification.app}>
          <img class="push-bell" src={icon} alt="" />
          {badge > 0 && (
            <span class="push-badge" title={texts.phone.badge}>
              {badge > 999 ? '999+' : badge}
            </span>
          )}
        </span>
      </div>
    </div>
  );
}

/** A simulated device: its screen and its actions. */
export function Phone({ device, onChange }: PhoneProps) {
  const { id, platform, name, user, behavior } = device;
  const path = `/push/simulator/devices/${id}`;
  const isOnline = behavior !== 'offline';
  const setBehavior = async (next: string) => {
    await call(path, { method: 'PATCH', body: { behavior: next } });
    await onChange();
  };
  const remove = async () => {
    await call(path, { method: 'DELETE' });
    await onChange();
  };
  return (
    <article class={`push-phone ${platform} ${isOnline ? '' : 'is-offline'}`} aria-label={name ?? PLATFORMS[platform]}>
      <header>
        <h3 title={name ?? undefined}>{name ?? PLATFORMS[platform]}</h3>
        <p>
          {name === null ? '' : `${PLATFORMS[platform]} ·`}
          <UserLink id={user} />
        </p>
      </header>
      <Screen device={device} onChange={onChange} />
      <footer>
        <ActionButton run={() => setBehavior(isOnline ? 'offline' : 'delivers')}>
          {isOnline ? texts.phone.goOffline : texts.phone.goOnline}
        </ActionButton>
        <select
          aria-label={texts.phone.behavior}
          value={behavior}
          onChange={(event) => setBehavior(event.currentTarget.value).catch(showError)}
        >
          {Object.entries(texts.phone.behaviors).map(([value, text]) => (
            <option key={value} value={value}>
              {sentenceCase(text)}
            </option>
          ))}
        </select>
        <ActionButton kind="plain" run={remove}>
          {texts.remove}
        </ActionButton>
      </footer>
    </article>
  );
}
