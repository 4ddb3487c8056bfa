import {
  BarChart,
  Choice,
  clockText,
  durationText,
  html,
  place,
  RecordLink,
  Status,
  setParams,
  Time,
  userResource,
} from 'belfry/console';

export const HOME = '/console/webhooks';

/** The path of the page of an endpoint. */
export const endpointHref = (id) => `${HOME}/endpoints/${encodeURIComponent(id)}`;

/** The states of endpoints. */
export const ENDPOINT_STATES = ['active', 'retrying', 'failing', 'disabled'];

const ENDPOINT_KINDS = { active: 'good', retrying: 'warn', failing: 'warn', disabled: 'bad' };

const REASONS = {
  gone: 'its receiver responded with 410',
  failing: 'too many deliveries failed in a row',
  manual: 'a user disabled it',
  password_reset: 'its owner got a new password; only the owner can enable it',
  key_ended: 'its API key has ended; only the owner can enable it',
};

/** Why an endpoint is disabled, in words. */
export const reasonText = (reason) => REASONS[reason] ?? 'no reason is stored';

/** The state of an endpoint. */
export function EndpointState({ state }) {
  return html`<${Status} kind=${ENDPOINT_KINDS[state] ?? 'neutral'}>${state}<//>`;
}

/** The states of deliveries, with their names. */
export const DELIVERY_STATES = { succeeded: 'succeeded', failed: 'failed', pending: 'waiting', sending: 'in flight' };

const DELIVERY_KINDS = { succeeded: 'good', failed: 'bad', pending: 'warn', sending: 'neutral' };

/** The state of a delivery. A delivery that waits after a failed attempt is retried. */
export function DeliveryState({ delivery: { status, attempts } }) {
  const text = status === 'pending' && attempts > 0 ? 'retrying' : (DELIVERY_STATES[status] ?? status);
  return html`<${Status} kind=${DELIVERY_KINDS[status] ?? 'neutral'}>${text}<//>`;
}

/** The name of an event, which breaks only after its full stop. */
export function EventName({ name }) {
  const [group, ...rest] = name.split('.');
  return html`<span class="webhooks-word">${rest.length === 0 ? group : html`${group}.<wbr />${rest.join('.')}`}</span>`;
}

/** A time that stays on one line; `never` for null. */
export function When({ value }) {
  return value === null
    ? html`<span class="soft">never</span>`
    : html`<span class="webhooks-nowrap"><${Time} value=${value} /></span>`;
}

/** The outcome of an attempt in a few words: `204 · 35 ms`, or the error. */
export function outcomeText({ statusCode, durationMs, error }) {
  const parts = [
    error ?? (statusCode === null ? undefined : `status ${statusCode}`),
    durationMs === null ? undefined : durationText(durationMs),
  ];
  return parts.filter((part) => part !== undefined).join(' · ') || '–';
}

/** A URL with its host in front, as text: it is not a link, because its receiver expects only deliveries. */
export function UrlText({ url }) {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined) return html`<span class="webhooks-url">${url}</span>`;
  const rest = url.slice(url.indexOf(parsed.host) + parsed.host.length);
  return html`<span class="webhooks-url" title=${url}>${parsed.host}<span class="soft">${rest}</span></span>`;
}

/** The owner of an endpoint, as a link to their record. */
export function Owner({ id }) {
  const users = userResource();
  return users === undefined ? html`<code>${id}</code>` : html`<${RecordLink} resource=${users.name} id=${id} />`;
}

/** The names of events, as chips. @param {{ names: string[], most?: number }} props */
export function EventNames({ names, most = Number.POSITIVE_INFINITY }) {
  const shown = names.slice(0, most);
  return html`<span class="webhooks-events">
    ${shown.map((name) => html`<span key=${name} class="chip">${name === '*' ? 'All events' : name}</span>`)}
    ${names.length > shown.length && html`<span class="soft">+${names.length - shown.length}</span>`}
  </span>`;
}

const dayFormat = new Intl.DateTimeFormat(undefined, {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  timeZone: 'UTC',
});

const RANGES = { day: 'Last 24 hours', week: 'Last 7 days' };

/** The range of charts that the address names. */
export const chosenRange = () => (place.value.params.get('range') === 'week' ? 'week' : 'day');

/** Chooses the range of charts, in the address. */
export function RangeChoice() {
  const choose = (range) => setParams({ range: range === 'day' ? undefined : range }, { replace: true });
  return html`<${Choice} label="Time range" options=${Object.entries(RANGES)} value=${chosenRange()} onChange=${choose} />`;
}

/** A chart of deliveries, by the hour or day of their events. */
export function DeliveryChart({ chart: { range, bars, newest } }) {
  const labelOf = (at) => (range === 'day' ? clockText(at) : dayFormat.format(new Date(at)));
  const points = bars.map(({ at, succeeded, failed, pending }) => ({
    label: labelOf(at),
    parts: [
      { kind: 'good', name: 'Succeeded', value: succeeded },
      { kind: 'bad', name: 'Failed', value: failed },
      { kind: 'neutral', name: 'Waiting', value: pending },
    ],
  }));
  return html`<div class="card webhooks-chart">
    <${BarChart} label=${`Deliveries by result, ${RANGES[range].toLowerCase()}`} points=${points} />
    ${
      newest !== null &&
      html`<p class="soft webhooks-note">Counts the newest ${newest.toLocaleString('en')} deliveries; earlier ones are left out.</p>`
    }
  </div>`;
}

/** The number of deliveries in a chart, and the share of the finished ones that succeeded in percent; null if none is finished. */
export function summarize({ bars }) {
  const sum = (name) => bars.reduce((total, bar) => total + bar[name], 0);
  const [succeeded, failed, pending] = ['succeeded', 'failed', 'pending'].map(sum);
  const finished = succeeded + failed;
  // A single failure must not be rounded away.
  const rate = finished === 0 ? null : Math.floor((succeeded / finished) * 1000) / 10;
  return { total: finished + pending, rate };
}
