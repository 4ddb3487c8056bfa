import { html, Icon } from 'belfry/console';
import { useState } from 'preact/hooks';
import { Outcome, PLATFORMS, PUSH, UserLink } from './outcome.js';
import { Timeline } from './timeline.js';

/** Up to this number of devices, all timelines are shown from the start. */
const MAX_OPEN = 3;

/** The name of a device, which leads to it while it is registered; without a name, its masked token. */
function DeviceName({ device: { device, name, token, isRegistered } }) {
  const text = name ?? html`<code>${token}</code>`;
  return isRegistered
    ? html`<a class="push-device" href=${`${PUSH}/devices/${device}`}>${text}</a>`
    : html`<b class="push-device">${text}</b>`;
}

function DeviceResult({ device, isOpenFirst }) {
  const [isOpen, setOpen] = useState(isOpenFirst);
  const isFailure = device.ok === false || device.timeline.some(({ event, ok }) => event === 'receipt' && !ok);
  const isShown = isOpen ?? isFailure;
  return html`<li>
    <div class="push-result">
      <${DeviceName} device=${device} />
      <span class="push-kind soft">
        ${PLATFORMS[device.platform]} · ${device.transport ?? 'no transport'} · ${' '}<${UserLink} id=${device.user} />
      </span>
      <${Outcome} device=${device} />
      <button
        type="button"
        class="plain"
        aria-expanded=${isShown ? 'true' : 'false'}
        aria-label=${`Timeline of ${device.name ?? device.token}`}
        onClick=${() => setOpen(!isShown)}
      >
        <${Icon} name=${isShown ? 'down' : 'chevron'} />Timeline
      </button>
    </div>
    ${isShown && html`<${Timeline} device=${device} />`}
  </li>`;
}

/** The results of a push, device by device. The timelines of failures are open. @param {{ devices: any[] }} props */
export function DeviceResults({ devices }) {
  return html`<ol class="push-list" aria-label="Results by device">
    ${devices.map(
      (device) => html`<${DeviceResult}
        key=${device.device ?? device.token}
        device=${device}
        isOpenFirst=${devices.length <= MAX_OPEN ? true : undefined}
      />`,
    )}
  </ol>`;
}
