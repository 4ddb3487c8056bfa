import { html, Icon } from 'belfry/console';
import { useState } from 'preact/hooks';
import { Outcome, PLATFORMS, PUSH, titleOf, UserLink } from './outcome.js';
import { Timeline } from './timeline.js';

/** Up to this number of results, all timelines are shown from the start. */
const MAX_OPEN = 3;

const isFailure = ({ ok, timeline }) =>
  ok === false || timeline.some(({ event, ok: isDelivered }) => event === 'receipt' && !isDelivered);

/** The result of a push on one device, with its timeline on demand. `label`: what the timeline is about, for screen readers. */
function Result({ result, name, about, label, isOpenFirst }) {
  const [chosen, setChosen] = useState(undefined);
  const isOpen = chosen ?? isOpenFirst;
  return html`<li>
    <div class="push-result">
      ${name} ${about && html`<span class="push-kind soft">${about}</span>`}
      <${Outcome} device=${result} />
      <button
        type="button"
        class="plain"
        aria-expanded=${isOpen ? 'true' : 'false'}
        aria-label=${`Timeline of ${label}`}
        onClick=${() => setChosen(!isOpen)}
      >
        <${Icon} name=${isOpen ? 'down' : 'chevron'} />Timeline
      </button>
    </div>
    ${isOpen && html`<${Timeline} device=${result} />`}
  </li>`;
}

/** The name of a device, which leads to it while it is registered; without a name, its masked token. */
function DeviceName({ device: { device, name, token, isRegistered } }) {
  const text = name ?? html`<code>${token}</code>`;
  return isRegistered
    ? html`<a class="push-device" href=${`${PUSH}/devices/${device}`}>${text}</a>`
    : html`<b class="push-device">${text}</b>`;
}

/** The results of a push, device by device. The timelines of failures are open. @param {{ devices: any[] }} props */
export function DeviceResults({ devices }) {
  return html`<ol class="push-list" aria-label="Results by device">
    ${devices.map(
      (device) => html`<${Result}
        key=${device.device ?? device.token}
        result=${device}
        name=${html`<${DeviceName} device=${device} />`}
        about=${html`${PLATFORMS[device.platform]} · ${device.transport ?? 'no transport'} · <${UserLink} id=${device.user} />`}
        label=${device.name ?? device.token}
        isOpenFirst=${devices.length <= MAX_OPEN || isFailure(device)}
      />`,
    )}
  </ol>`;
}

/** The newest pushes to a device. The timeline of the first one is open. @param {{ pushes: any[] }} props */
export function PushResults({ pushes }) {
  return html`<ol class="push-list" aria-label="Newest pushes">
    ${pushes.map(
      (push, index) => html`<${Result}
        key=${push.push}
        result=${push}
        name=${html`<a class="push-device" href=${`${PUSH}/sends/${push.push}`}><span class="push-title">${titleOf(push)}</span></a>`}
        label=${titleOf(push)}
        isOpenFirst=${index === 0}
      />`,
    )}
  </ol>`;
}
