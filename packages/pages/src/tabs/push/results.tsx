import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Icon } from '../../console/kit.ts';
import { Outcome, PLATFORMS, PUSH, titleOf, UserLink } from './outcome.tsx';
import type { DeviceResult, ResultOnDevice } from './responses.ts';
import { texts } from './texts.ts';
import { Timeline } from './timeline.tsx';

/** Up to this number of results, all timelines are shown from the start. */
const MAX_OPEN = 3;

const isFailure = ({ ok, timeline }: DeviceResult) =>
  ok === false || timeline.some(({ event, ok: isDelivered }) => event === 'receipt' && !isDelivered);

/** The result of a push on one device, with its timeline on demand. */
function Result({
  result,
  name,
  about,
  label,
  isOpenFirst,
}: {
  result: DeviceResult;
  name: ComponentChildren;
  about?: ComponentChildren;
  /** What the timeline is about, for screen readers. */
  label: string;
  isOpenFirst: boolean;
}) {
  const [chosen, setChosen] = useState<boolean>();
  const isOpen = chosen ?? isOpenFirst;
  return (
    <li>
      <div class="push-result">
        {name} {about && <span class="push-kind soft">{about}</span>}
        <Outcome device={result} />
        <button
          type="button"
          class="plain"
          aria-expanded={isOpen ? 'true' : 'false'}
          aria-label={texts.results.timelineOf(label)}
          onClick={() => setChosen(!isOpen)}
        >
          <Icon name={isOpen ? 'down' : 'chevron'} />
          {texts.results.timeline}
        </button>
      </div>
      {isOpen && <Timeline device={result} />}
    </li>
  );
}

/** The name of a device, which leads to it while it is registered; without a name, its masked token. */
function DeviceName({ device: { device, name, token, isRegistered } }: { device: DeviceResult }) {
  const text = name ?? <code>{token}</code>;
  return isRegistered ? (
    <a class="push-device" href={`${PUSH}/devices/${device}`}>
      {text}
    </a>
  ) : (
    <b class="push-device">{text}</b>
  );
}

/** The results of a push, device by device. The timelines of failures are open. */
export function DeviceResults({ devices }: { devices: DeviceResult[] }) {
  return (
    <ol class="push-list" aria-label={texts.results.byDevice}>
      {devices.map((device) => (
        <Result
          key={device.device ?? device.token}
          result={device}
          name={<DeviceName device={device} />}
          about={
            <>
              {PLATFORMS[device.platform]} · {device.transport ?? texts.noTransport} · <UserLink id={device.user} />
            </>
          }
          label={device.name ?? device.token}
          isOpenFirst={devices.length <= MAX_OPEN || isFailure(device)}
        />
      ))}
    </ol>
  );
}

/** The newest pushes to a device. The timeline of the first one is open. */
export function PushResults({ pushes }: { pushes: ResultOnDevice[] }) {
  return (
    <ol class="push-list" aria-label={texts.results.newest}>
      {pushes.map((push, index) => (
        <Result
          key={push.push}
          result={push}
          name={
            <a class="push-device" href={`${PUSH}/sends/${push.push}`}>
              <span class="push-title">{titleOf(push)}</span>
            </a>
          }
          label={titleOf(push)}
          isOpenFirst={index === 0}
        />
      ))}
    </ol>
  );
}
